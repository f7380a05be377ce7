//! Copying a file that needs no change.

use super::findings::Findings;
use super::reader::{NullSink, ReadOptions, read_stream};
use std::io::{self, Read, Write};

/// Copies a file, byte for byte, if [`write()`](super::write()) would write what it holds in just
/// this way: it is sound, has entries, and stands on one line without spaces. Nothing is kept of it
/// but the tables.
///
/// `None` for any other file. Part of it may have been copied then, which is of no use.
///
/// # Errors
///
/// Those of `out`.
pub fn copy_from(stream: impl Read, options: &ReadOptions, out: &mut dyn Write) -> io::Result<Option<Findings>> {
    let options = ReadOptions { only_as_written: true, drop_unknown: false, ..options.clone() };
    let mut copied = Copied { stream, out, failure: None };
    let reading = read_stream(&mut copied, &options, &mut NullSink);
    if let Some(failure) = copied.failure {
        return Err(failure);
    }
    let is_sound = !reading.unreadable && !reading.findings.has_errors();
    Ok((is_sound && reading.is_as_written() && reading.valid_entries() > 0).then_some(reading.findings))
}

/// A stream that is copied as it is read.
struct Copied<'o, R> {
    stream: R,
    out: &'o mut dyn Write,
    failure: Option<io::Error>,
}

impl<R: Read> Read for Copied<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.stream.read(buffer)?;
        if let Err(failure) = self.out.write_all(&buffer[..read]) {
            let kind = failure.kind();
            self.failure = Some(failure);
            return Err(kind.into());
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compression::Compression;
    use crate::iprof::{WriteOptions, read, write};

    const TYPES: &str = r#""types":[{"id":0,"name":"A"},{"id":5,"name":"B"}]"#;
    const METHODS: &str = r#""methods":[{"id":3,"name":"m","signature":[0,5]}]"#;

    fn copied(text: &[u8]) -> Option<Vec<u8>> {
        let mut copy = Vec::new();
        copy_from(text, &ReadOptions::default(), &mut copy).unwrap().map(|_| copy)
    }

    fn file(version: &str, members: &str) -> String {
        format!(r#"{{"version":"{version}",{TYPES},{METHODS},{members}}}"#)
    }

    fn calls(entries: &str) -> String {
        file("1.0.0", &format!(r#""callCountProfiles":[{entries}]"#))
    }

    #[test]
    fn canonical_entries_are_copied() {
        for text in [
            calls(r#"{"ctx":"3:0","records":[4]},{"ctx":"3:0<3:-6","records":[5]}"#),
            file("0.4.0", r#""x":{"a":[1.50]},"callCountProfiles":[{"ctx":"3:0","records":[4]}],"y":[{},2]"#),
            file("1.7.0", r#""samplingProfiles":[],"instanceOfProfiles":[{"ctx":"3:9","records":[5,1]}]"#),
            file("1.0.0", r#""monitorProfiles":[{"ctx":"0:0","records":[5,1]}]"#),
        ] {
            let (document, _) = read(text.as_bytes(), &ReadOptions::default()).unwrap();
            assert_eq!(write(&document, &WriteOptions::default()), text.as_bytes(), "{text}");
            assert_eq!(copied(text.as_bytes()).as_deref(), Some(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn anything_else_is_left_to_others() {
        let entry = r#"{"ctx":"3:0","records":[4]}"#;
        let whole = calls(entry);
        let section = format!(r#""callCountProfiles":[{entry}]"#);
        for text in [
            format!("\u{feff}{whole}"),
            format!("{whole}\n"),
            whole.replace("[{\"ctx\"", "[ {\"ctx\""),
            whole.replace("\"types\":", "\"types\" :"),
            whole.replace("\"m\"", "\"\\u006d\""),
            whole.replace("{\"id\":0,\"name\":\"A\"}", "{\"name\":\"A\",\"id\":0}"),
            whole[..whole.len() - 1].to_string(),
            calls(""),
            calls(r#"{"ctx":"03:0","records":[4]}"#),
            calls(r#"{"ctx":"3:-0","records":[4]}"#),
            calls(r#"{"ctx":"3:0","records":[-0]}"#),
            calls(r#"{"ctx":"9:0","records":[4]}"#),
            calls(r#"{"records":[4],"ctx":"3:0"}"#),
            file("01.0.0", &section),
            file("2.0.0", &section),
            file("1.0.0", &format!(r#"{section},"x":[1, 2]"#)),
            file("1.0.0", &section.replace("callCountProfiles", "hotnessPoints")),
            file("1.1.0", r#""instanceofProfiles":[{"ctx":"3:9","records":[5,1]}],"instanceOfProfiles":[]"#),
            format!(r#"{{"version":"1.0.0",{TYPES},{section},{METHODS}}}"#),
        ] {
            assert_eq!(copied(text.as_bytes()), None, "{text}");
        }
        assert_eq!(copied(&Compression::Gzip.compress(whole.as_bytes()).unwrap()), None);
    }

    #[test]
    fn an_output_that_fails_ends_the_copy() {
        let mut full = &mut [0u8; 7][..];
        let failed = copy_from(calls(r#"{"ctx":"3:0","records":[4]}"#).as_bytes(), &ReadOptions::default(), &mut full);
        assert_eq!(failed.unwrap_err().kind(), io::ErrorKind::WriteZero);
    }
}
