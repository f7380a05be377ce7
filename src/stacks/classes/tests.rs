use crate::stacks::classes::*;
use crate::stacks::collapsed::{CollapsedOptions, TextOptions, read_stacks, write_collapsed};

fn table(text: &str) -> StackTable {
    let mut table = StackTable::new();
    read_stacks(text.as_bytes(), &TextOptions::default(), &Limits::default(), &mut table).unwrap();
    table
}

fn text(table: &StackTable) -> String {
    let options = CollapsedOptions { descriptors: true, ..CollapsedOptions::default() };
    write_collapsed(table, &options).0
}

fn reference() -> Reference {
    let mut reference = Reference::new();
    reference.add("a.B", "one", &["void", "int"]);
    reference.add("a.B", "two", &["void", "int"]);
    reference.add("a.B", "two", &["void", "long"]);
    reference.add("a.B", "two", &["void", "long"]);
    reference
}

#[test]
fn a_unique_name_gets_its_types() {
    let (out, report) = reference().resolve(&table("a/B.one;a/B.none;x 3\n"), Overload::First);
    assert_eq!(text(&out), "a/B.one(I)V;a/B.none;x 3\n");
    assert_eq!((report.found, report.unknown, report.overloaded, report.typed), (1, 1, 0, 0));
}

#[test]
fn overloads_are_settled_as_asked() {
    let stacks = table("a/B.one;a/B.two 3\na/B.two;a/B.one 4\na/B.two 5\n");
    for (overload, expected, dropped, repeated) in [
        (Overload::First, "a/B.one(I)V;a/B.two(I)V 3\na/B.two(I)V 5\na/B.two(I)V;a/B.one(I)V 4\n", 0, 0),
        (Overload::Skip, "a/B.one(I)V 7\n", 5, 0),
        (
            Overload::All,
            "a/B.one(I)V;a/B.two(I)V 3\na/B.one(I)V;a/B.two(J)V 3\na/B.two(I)V 5\na/B.two(I)V;a/B.one(I)V 4\na/B.two(J)V 5\n",
            0,
            8,
        ),
    ] {
        let (out, report) = reference().resolve(&stacks, overload);
        assert_eq!(text(&out), expected, "{overload:?}");
        assert_eq!((report.dropped_hits, report.repeated_hits), (dropped, repeated), "{overload:?}");
    }
}

/// A zip archive of stored and deflated entries, behind a prefix.
fn archive(prefix: &[u8], entries: &[(&str, &[u8], bool)]) -> Vec<u8> {
    use std::io::Write;
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    for (name, content, deflate) in entries {
        let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(content).unwrap();
        let stored = if *deflate { encoder.finish().unwrap() } else { content.to_vec() };
        let at = bytes.len() as u32;
        let mut common = vec![0u8; 4];
        common.extend((if *deflate { 8u16 } else { 0 }).to_le_bytes());
        common.extend([0; 8]);
        common.extend((stored.len() as u32).to_le_bytes());
        common.extend((content.len() as u32).to_le_bytes());
        common.extend((name.len() as u16).to_le_bytes());
        bytes.extend(b"PK\x03\x04");
        bytes.extend(&common);
        bytes.extend([0, 0]);
        bytes.extend(name.as_bytes());
        bytes.extend(&stored);
        directory.extend(b"PK\x01\x02\0\0");
        directory.extend(&common);
        directory.extend([0; 12]);
        directory.extend(at.to_le_bytes());
        directory.extend(name.as_bytes());
    }
    let at = bytes.len() as u32;
    bytes.extend(&directory);
    bytes.extend(b"PK\x05\x06\0\0\0\0");
    for _ in 0..2 {
        bytes.extend((entries.len() as u16).to_le_bytes());
    }
    bytes.extend((directory.len() as u32).to_le_bytes());
    bytes.extend(at.to_le_bytes());
    bytes.extend([0, 0]);
    [prefix, &bytes].concat()
}

#[test]
fn jars_and_jmods_are_read_and_damage_is_named() {
    let class = class_files::class_bytes();
    for (prefix, deflate) in [(b"".as_slice(), true), (b"JM\x01\0", false)] {
        let bytes = archive(prefix, &[("META-INF/x", b"no class", false), ("app/Main.class", &class, deflate)]);
        let mut reference = Reference::new();
        reference.add_classes(&bytes, &Limits::default()).unwrap();
        let (out, _) = reference.resolve(&table("app/Main.loop 1\n"), Overload::First);
        assert_eq!(text(&out), "app/Main.loop(I)V 1\n");
        for len in 0..bytes.len() {
            assert!(Reference::new().add_classes(&bytes[..len], &Limits::default()).is_err(), "{len}");
        }
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x55;
            let _ = Reference::new().add_classes(&damaged, &Limits::default());
        }
    }
    let bad = archive(b"", &[("app/Main.class", b"rubbish", false)]);
    let error = Reference::new().add_classes(&bad, &Limits::default()).unwrap_err();
    assert!(error.to_string().contains("found 0x72756262, expected 0xcafebabe"), "{error}");
    let error = Reference::new().add_classes(b"text", &Limits::default()).unwrap_err();
    assert!(error.hint().unwrap().to_string().contains("jars"));
}

#[test]
fn the_newest_version_of_a_class_counts_in_jars_for_several_releases() {
    // The class has a method loop(int); the older version has another name of the same length.
    let class = class_files::class_bytes();
    let at = class.windows(4).position(|bytes| bytes == b"loop").unwrap();
    let mut older = class.clone();
    older[at..at + 4].copy_from_slice(b"pool");
    let newest = "META-INF/versions/17/app/Main.class";
    for entries in [
        [("app/Main.class", &older), ("META-INF/versions/9/app/Main.class", &older), (newest, &class)],
        [(newest, &class), ("META-INF/versions/9/app/Main.class", &older), ("app/Main.class", &older)],
    ] {
        let jar = archive(b"", &entries.map(|(name, bytes)| (name, &bytes[..], true)));
        let mut names = Vec::new();
        read_methods(&jar, &Limits::default(), &mut |method| names.push(method.name.to_string())).unwrap();
        assert_eq!(names[0], "loop");
        assert_eq!(names.len(), 2, "one version of the class: {names:?}");
    }
}

/// Files of a real compiler and archiver (`testdata/java/make.sh classes`).
/// Methods are counted with their overloads together: the jar has 21, two of one name.
#[test]
fn real_classes_and_jars_name_the_same_methods() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/java");
    let stacks = table("Shapes.deep;Shapes.step 1\n");
    for (file, methods) in [("Shapes.class", 14), ("Shapes.jar", 20)] {
        let bytes = std::fs::read(folder.join(file)).unwrap();
        assert!(Reference::takes(&bytes), "{file}");
        let mut reference = Reference::new();
        reference.add_classes(&bytes, &Limits::default()).unwrap();
        assert_eq!(reference.methods_count(), methods, "{file}");
        let (out, _) = reference.resolve(&stacks, Overload::First);
        assert_eq!(text(&out), "Shapes.deep(ILShapes$Shape|)I;Shapes.step(LShapes$Shape|I)V 1\n", "{file}");
    }
}
