use crate::bridge::demangle::*;
use proptest::prelude::*;
use std::collections::HashMap;

fn spelled(name: &str) -> String {
    String::from_utf8(method_of_pgo_name(name.as_bytes()).identity.notation()).unwrap()
}

#[test]
fn a_name_that_does_not_demangle_keeps_its_spelling() {
    let main = method_of_pgo_name(b"main");
    assert_eq!((main.identity.declaring.as_slice(), main.identity.name.as_slice()), (GLOBAL, b"main".as_slice()));
    assert_eq!((main.identity.returns.as_slice(), main.llvm_name), (UNKNOWN_TYPE, None));
    let local = method_of_pgo_name(b"src/a.c;helper");
    assert_eq!(
        (local.identity.declaring.as_slice(), local.identity.name.as_slice()),
        (b"src/a.c".as_slice(), b"helper".as_slice())
    );
    assert_eq!(local.llvm_name, None);
    assert_eq!(method_of_pgo_name(b"").identity.name, b"%");
    assert_eq!(method_of_pgo_name(b"a%b\xff\n").identity.name, b"a%25b%FF%0A");
}

#[test]
fn plain_symbols_are_spelled_out_and_others_end_in_a_digest() {
    assert_eq!(spelled("_ZN5Shape4areaEv"), "Shape#area()?");
    assert_eq!(spelled("_Z3fooiPKc"), "%3A%3A#foo(int,char const*)?");
    let digest = |name: &str| format!("{:x}", md5::compute(name))[..8].to_string();
    for symbol in ["_ZN5ShapeD0Ev", "_ZN5ShapeD2Ev", "_ZN5ShapeD2Ev.cold", "a.cpp;_ZN5ShapeD2Ev"] {
        assert_eq!(spelled(symbol), format!("Shape#~Shape%25{}()?", digest(symbol)));
    }
    assert_eq!(method_of_pgo_name(b"_ZN5ShapeD0Ev").llvm_name.as_deref(), Some(b"_ZN5ShapeD0Ev".as_slice()));
}

#[test]
fn names_that_look_alike_stay_apart() {
    let names = [
        "foo",
        "_Z3foov",
        "_ZL3foov",
        "_Z3fooi",
        "_Z3foov.cold",
        "_Z3foov.part.0",
        "a.c;foo",
        "a.c:foo",
        "b.c;foo",
        "a;foo",
        "_ZN1a3fooEv",
        "_ZNK1a3fooEv",
        "a.cpp;_ZL3foov",
        "b.cpp;_ZL3foov",
        "<global>;foo",
        "::;foo",
        "_ZN1a3foo17h0123456789abcdefE",
        "_ZN1a3foo17h1123456789abcdefE",
        "_RNvC1a3foo",
        "?foo@@YAXXZ",
        "?foo@@YAHXZ",
        "?0000000000000001",
        "_ZN1aC1Ev",
        "_ZN1aC2Ev",
        "_ZN1a1aEv",
    ];
    let mut seen = HashMap::new();
    for name in names {
        let identity = method_of_pgo_name(name.as_bytes()).identity;
        assert_ne!(identity, method_of_hash(1));
        if let Some(other) = seen.insert(identity, name) {
            panic!("{name} and {other} are one method");
        }
    }
}

#[test]
fn vtables_are_types() {
    assert_eq!(type_of_vtable(b"_ZTV5Shape").identity, b"Shape");
    let one = type_of_vtable(b"a.cpp;_ZTVN12_GLOBAL__N_15ShapeE").identity;
    let two = type_of_vtable(b"b.cpp;_ZTVN12_GLOBAL__N_15ShapeE").identity;
    assert!(one.starts_with(b"(anonymous namespace)::Shape%"));
    assert_ne!(one, two);
    assert_ne!(type_of_vtable(b"Shape").identity, b"Shape");
    assert_eq!(type_of_hash(0x1234), b"?0000000000001234");
}

/// Symbols inside and just outside the accepted grammar.
fn symbols() -> impl Strategy<Value = String> {
    let pieces = vec![
        "_Z", "N", "E", "1a", "1b", "3foo", "v", "i", "c", "P", "K", "R", "S_", "S0_", "C1", "D2", ".cold", ";", ":",
        "a.c", "St", "L", "I", "h", "T_",
    ];
    prop::collection::vec(prop::sample::select(pieces), 1..9).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn different_names_are_different_methods(names in prop::collection::vec(
        prop_oneof![symbols(), symbols().prop_map(|s| format!("_Z{s}")), "[a:;%_]{0,4}"], 2..40)) {
        let mut seen: HashMap<MethodIdentity, &str> = HashMap::new();
        for name in &names {
            let identity = method_of_pgo_name(name.as_bytes()).identity;
            prop_assert!(std::str::from_utf8(&identity.notation()).is_ok());
            if let Some(other) = seen.insert(identity, name) {
                prop_assert_eq!(other, name.as_str());
            }
        }
    }

    #[test]
    fn any_bytes_give_a_method(name: Vec<u8>) {
        let identity = method_of_pgo_name(&name).identity;
        prop_assert_eq!(MethodIdentity::parse(&identity.notation()), Some(identity));
    }
}

fn split(name: &str) -> Option<(&str, &str)> {
    let local = LocalName::split(name.as_bytes())?;
    Some((std::str::from_utf8(local.file).unwrap(), std::str::from_utf8(local.symbol).unwrap()))
}

#[test]
fn both_separators_are_known() {
    assert_eq!(split("a.c;f"), Some(("a.c", "f")));
    assert_eq!(split("a.c:f"), Some(("a.c", "f")));
    assert_eq!(split("C:\\src\\a.c:f"), Some(("C:\\src\\a.c", "f")));
    assert_eq!(split("a;b;c"), Some(("a", "b;c")));
    assert_eq!(split("a.m:-[Foo bar:baz:]"), Some(("a.m", "-[Foo bar:baz:]")));
    for global in ["main", "-[Foo bar:]", "core::fmt", ";f", "a.c;", ""] {
        assert_eq!(split(global), None, "{global}");
    }
}
