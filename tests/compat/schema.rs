//! JSON that the program prints against the schemas of `docs/json-schema`.

use serde_json::Value;
use std::path::Path;

/// Checks members, types, constants and references; enough for our schemas.
fn assert_fits(value: &Value, schema: &Value, root: &Value, place: &str) {
    if let Some(name) = schema["$ref"].as_str() {
        let name = name.rsplit('/').next().expect("a reference has a name");
        return assert_fits(value, &root["$defs"][name], root, place);
    }
    if !schema["const"].is_null() {
        assert_eq!(*value, schema["const"], "{place}");
    }
    if let Some(allowed) = schema["enum"].as_array() {
        assert!(allowed.contains(value), "{place}: {value}");
    }
    let kinds = match &schema["type"] {
        Value::String(kind) => vec![kind.as_str()],
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let is = |kind: &str| match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        other => panic!("{place}: unknown type {other}"),
    };
    assert!(kinds.is_empty() || kinds.into_iter().any(is), "{place}: {value} is of another type");
    for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        assert!(value.get(name).is_some(), "{place}: {name} is missing");
    }
    for (name, member) in value.as_object().into_iter().flatten() {
        let known = &schema["properties"][name];
        if known.is_null() {
            assert!(!schema["additionalProperties"].is_null(), "{place}: {name} is in no schema");
        } else {
            assert_fits(member, known, root, &format!("{place}.{name}"));
        }
    }
    for item in value.as_array().into_iter().flatten().filter(|_| !schema["items"].is_null()) {
        assert_fits(item, &schema["items"], root, &format!("{place}[]"));
    }
}

/// Checks what a command printed against a file of `docs/json-schema`.
#[track_caller]
pub fn assert_has_schema(value: &Value, file: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/json-schema").join(file);
    let schema: Value = serde_json::from_slice(&std::fs::read(path).expect("the schema is there")).expect("it is JSON");
    assert_fits(value, &schema, &schema, file);
}
