//! Validates the program's JSON with the schemas in `docs/json-schema`.

// Each test program uses only some of these functions.
#![allow(dead_code)]

use serde_json::Value;
use std::path::{Path, PathBuf};

/// Returns the faults of a value: members, types, constants, bounds and references, which is all that our schemas use.
/// Members that the schema does not list are faults, so that the schemas stay complete.
fn faults(value: &Value, schema: &Value, root: &Value, place: &str, found: &mut Vec<String>) {
    if let Some(name) = schema["$ref"].as_str() {
        let name = name.rsplit('/').next().expect("a reference has a name");
        assert!(!root["$defs"][name].is_null(), "{place}: no definition {name}");
        return faults(value, &root["$defs"][name], root, place, found);
    }
    if let Some(schemas) = schema["anyOf"].as_array() {
        let tried = schemas.iter().map(|schema| {
            let mut found = Vec::new();
            faults(value, schema, root, place, &mut found);
            found
        });
        let best = tried.min_by_key(Vec::len).expect("anyOf has schemas");
        return found.extend(best);
    }
    if !schema["const"].is_null() && *value != schema["const"] {
        found.push(format!("{place}: {value} is not {}", schema["const"]));
    }
    if let Some(allowed) = schema["enum"].as_array()
        && !allowed.contains(value)
    {
        found.push(format!("{place}: {value} is not among the values allowed"));
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
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "null" => value.is_null(),
        other => panic!("{place}: unknown type {other}"),
    };
    if !kinds.is_empty() && !kinds.into_iter().any(is) {
        found.push(format!("{place}: {value} is of another type"));
    }
    if let Some(number) = value.as_f64() {
        let (least, most) = (schema["minimum"].as_f64(), schema["maximum"].as_f64());
        if least.is_some_and(|least| number < least) || most.is_some_and(|most| number > most) {
            found.push(format!("{place}: {value} is out of bounds"));
        }
    }
    for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if value.as_object().is_some_and(|value| !value.contains_key(name)) {
            found.push(format!("{place}: {name} is missing"));
        }
    }
    if schema["properties"].is_object() || !schema["additionalProperties"].is_null() {
        for (name, member) in value.as_object().into_iter().flatten() {
            match &schema["properties"][name] {
                Value::Null if schema["additionalProperties"].is_null() => {
                    found.push(format!("{place}: {name} is in no schema"));
                }
                Value::Null => {}
                known => faults(member, known, root, &format!("{place}.{name}"), found),
            }
        }
    }
    for item in value.as_array().into_iter().flatten().filter(|_| !schema["items"].is_null()) {
        faults(item, &schema["items"], root, &format!("{place}[]"), found);
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/json-schema")
}

/// Validates a command's output with a schema in `docs/json-schema`.
#[track_caller]
pub fn assert_has_schema(value: &Value, file: &str) {
    let text = std::fs::read(folder().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
    let schema: Value = serde_json::from_slice(&text).expect("it is JSON");
    let mut found = Vec::new();
    faults(value, &schema, &schema, file, &mut found);
    assert!(found.is_empty(), "{}\n{value}", found.join("\n"));
}

/// Validates a document with the schema that it names. Returns the name of the schema file.
#[track_caller]
pub fn assert_is_document(value: &Value) -> String {
    let name = value["schema"].as_str().and_then(|name| name.strip_prefix("profbridge."));
    let name = name.unwrap_or_else(|| panic!("a document without a schema: {value}"));
    let file = format!("{}.json", name.replace('/', "-"));
    assert_has_schema(value, &file);
    file
}

/// Returns the files in `docs/json-schema`, sorted.
pub fn schema_files() -> Vec<String> {
    let entries = std::fs::read_dir(folder()).expect("the schemas are there");
    let mut files: Vec<String> =
        entries.map(|entry| entry.expect("it can be listed").file_name().to_string_lossy().into_owned()).collect();
    files.sort();
    files
}
