//! Records as JSON.

use super::text::BLOCK;
use crate::digits::push_decimal;
use crate::sampleprof::names::{FunctionName, NameId, Names};
use crate::sampleprof::order;
use crate::sampleprof::profile::SampleProfile;
use crate::sampleprof::record::{BodyEntry, CallSite, FunctionRecord, LineLocation};
use crate::sampleprof::rules::Rules;
use std::borrow::Cow;
use std::io::{self, Write};

/// Writes functions by falling total as an array, `most` at most. Bytes of names
/// that are not UTF-8 are replaced.
///
/// # Errors
///
/// Those of `out`.
pub fn write_json(profile: &SampleProfile, rules: Rules, most: usize, out: &mut dyn Write) -> io::Result<()> {
    let mut printer = Printer { names: &profile.names, text: Vec::new(), indent: 0, is_first: true };
    printer.open(b'[');
    for record in order::written(profile, rules).map_err(|_| io::ErrorKind::OutOfMemory)?.into_iter().take(most) {
        printer.item();
        printer.record(record, true);
        if printer.text.len() >= BLOCK {
            out.write_all(&printer.text)?;
            printer.text.clear();
        }
    }
    printer.close(b']');
    printer.text.push(b'\n');
    out.write_all(&printer.text)
}

struct Printer<'a> {
    names: &'a Names,
    text: Vec<u8>,
    indent: usize,
    /// Nothing was written yet of what was opened last.
    is_first: bool,
}

impl Printer<'_> {
    fn open(&mut self, bracket: u8) {
        self.text.push(bracket);
        self.indent += 2;
        self.is_first = true;
    }

    fn close(&mut self, bracket: u8) {
        self.indent -= 2;
        if !self.is_first {
            self.new_line();
        }
        self.text.push(bracket);
        self.is_first = false;
    }

    fn new_line(&mut self) {
        self.text.push(b'\n');
        self.text.resize(self.text.len() + self.indent, b' ');
    }

    /// Begins a member of an array or an object.
    fn item(&mut self) {
        if !self.is_first {
            self.text.push(b',');
        }
        self.new_line();
        self.is_first = false;
    }

    fn key(&mut self, key: &str) {
        self.item();
        for part in ["\"", key, "\": "] {
            self.text.extend_from_slice(part.as_bytes());
        }
    }

    fn number(&mut self, key: &str, value: u64) {
        self.key(key);
        // LLVM prints numbers above 2^63 - 1 as they are.
        push_decimal(&mut self.text, value);
    }

    fn name(&mut self, key: &str, name: NameId) {
        self.key(key);
        let name = match self.names.get(name) {
            FunctionName::Text(name) => Cow::Borrowed(name),
            hash => Cow::Owned(hash.to_bytes()),
        };
        self.text.push(b'"');
        if name.iter().all(|byte| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\')) {
            self.text.extend_from_slice(&name);
            self.text.push(b'"');
            return;
        }
        for character in String::from_utf8_lossy(&name).chars() {
            let mut bytes = [0; 4];
            match character {
                '"' | '\\' => self.text.extend_from_slice(&[b'\\', character as u8]),
                '\t' => self.text.extend_from_slice(b"\\t"),
                '\n' => self.text.extend_from_slice(b"\\n"),
                '\r' => self.text.extend_from_slice(b"\\r"),
                '\0'..='\x1f' => self.text.extend_from_slice(format!("\\u{:04x}", character as u32).as_bytes()),
                _ => self.text.extend_from_slice(character.encode_utf8(&mut bytes).as_bytes()),
            }
        }
        self.text.push(b'"');
    }

    fn location(&mut self, location: LineLocation) {
        self.number("line", u64::from(location.line));
        if location.discriminator != 0 {
            self.number("discriminator", u64::from(location.discriminator));
        }
    }

    fn record(&mut self, record: &FunctionRecord, is_top: bool) {
        self.open(b'{');
        self.name("name", record.name);
        self.number("total", record.total);
        if is_top {
            self.number("head", record.head);
        }
        if !record.body.is_empty() {
            self.key("body");
            self.open(b'[');
            record.body.iter().for_each(|entry| self.entry(entry));
            self.close(b']');
        }
        if !record.call_sites.is_empty() {
            self.key("callsites");
            self.open(b'[');
            for site in order::call_sites(self.names, record) {
                self.call_site(site);
            }
            self.close(b']');
        }
        self.close(b'}');
    }

    fn entry(&mut self, entry: &BodyEntry) {
        self.item();
        self.open(b'{');
        self.location(entry.location);
        self.number("samples", entry.samples);
        if !entry.targets.is_empty() {
            self.key("calls");
            self.open(b'[');
            for target in &*order::targets(self.names, &entry.targets) {
                self.item();
                self.open(b'{');
                self.name("function", target.callee);
                self.number("samples", target.samples);
                self.close(b'}');
            }
            self.close(b']');
        }
        self.close(b'}');
    }

    fn call_site(&mut self, site: &CallSite) {
        self.item();
        self.open(b'{');
        self.location(site.location);
        self.key("samples");
        self.open(b'[');
        self.item();
        self.record(&site.callee, false);
        self.close(b']');
        self.close(b'}');
    }
}
