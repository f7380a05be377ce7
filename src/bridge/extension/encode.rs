//! Writes a profile as JSON, a block of functions at a time, without holding the text.

use super::{Approximations, Extension};
use crate::ascii::to_hex;
use crate::digits::{push_decimal, push_decimals};
use crate::iprof::write_string;
use crate::model::{
    Counters, FunctionView, MemProfSection, Profile, ProfileKind, RecordView, TemporalProfile, TemporalTrace,
    ValueCount, ValueKind, ValueSites,
};
use crate::threads::ordered_writer::write_in_order;
use std::io::{self, Write};

/// The functions that one thread formats at a time.
const BLOCK_FUNCTIONS: usize = 128;

impl Extension<'_> {
    /// Writes the value of the member, without spaces. The bytes do not depend on `threads`.
    ///
    /// # Errors
    ///
    /// The errors of `out`.
    pub(crate) fn write_to(&self, threads: usize, out: &mut (dyn Write + Send)) -> io::Result<()> {
        // Readers of version 1 do not know the checksum.
        let mut text = if self.checksum.is_some() { b"{\"version\":2" } else { b"{\"version\":1" }.to_vec();
        if let Some(checksum) = self.checksum {
            member(&mut text, "sections");
            hex(&mut text, &checksum.to_be_bytes());
        }
        if !self.approximate.is_empty() {
            member(&mut text, "approximate");
            approximate(&mut text, &self.approximate);
        }
        if let Some(profile) = &self.profile {
            member(&mut text, "kind");
            kind(&mut text, profile.kind);
            member(&mut text, "functions");
            text.push(b'[');
            out.write_all(&text)?;
            write_functions(profile, threads, out)?;
            text.clear();
            text.push(b']');
            rest(&mut text, profile);
        }
        text.push(b'}');
        out.write_all(&text)
    }

    /// Returns the value of the member.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.write_to(1, &mut bytes).expect("writing to memory cannot fail");
        bytes
    }
}

fn write_functions(profile: &Profile, threads: usize, out: &mut (dyn Write + Send)) -> io::Result<()> {
    let blocks = profile.functions.len().div_ceil(BLOCK_FUNCTIONS);
    let make = |block: usize, text: &mut Vec<u8>| {
        let first = block * BLOCK_FUNCTIONS;
        for (at, view) in profile.functions.iter().enumerate().skip(first).take(BLOCK_FUNCTIONS) {
            text.extend_from_slice(if at > 0 { b"," } else { b"" });
            function(text, view);
        }
        Ok(())
    };
    write_in_order(blocks, threads, &make, out)
}

/// Appends the members after the functions.
fn rest(out: &mut Vec<u8>, profile: &Profile) {
    if !profile.binary_ids.is_empty() {
        member(out, "binaryIds");
        list(out, profile.binary_ids.iter(), |out, id| hex(out, id));
    }
    if profile.temporal != TemporalProfile::default() {
        member(out, "temporal");
        temporal(out, &profile.temporal);
    }
    if !profile.vtable_names.is_empty() {
        member(out, "vtableNames");
        list(out, profile.vtable_names.iter(), |out, text| name(out, text));
    }
    if let Some(section) = &profile.memprof {
        member(out, "memprof");
        memprof(out, section);
    }
}

/// Appends the name of a member after others.
fn member(out: &mut Vec<u8>, name: &str) {
    out.push(b',');
    first_member(out, name);
}

fn first_member(out: &mut Vec<u8>, name: &str) {
    write_string(out, name.as_bytes());
    out.push(b':');
}

fn list<T>(out: &mut Vec<u8>, items: impl Iterator<Item = T>, write: impl Fn(&mut Vec<u8>, T)) {
    out.push(b'[');
    for (at, item) in items.enumerate() {
        out.extend_from_slice(if at > 0 { b"," } else { b"" });
        write(out, item);
    }
    out.push(b']');
}

fn hex(out: &mut Vec<u8>, bytes: &[u8]) {
    write_string(out, to_hex(bytes).as_bytes());
}

/// Java's largest `long`.
const MAX_LONG: u64 = i64::MAX as u64;

/// Appends a number, as a string if it exceeds Java's `long`.
fn number(out: &mut Vec<u8>, number: u64) {
    let quote: &[u8] = if number > MAX_LONG { b"\"" } else { b"" };
    out.extend_from_slice(quote);
    push_decimal(out, number);
    out.extend_from_slice(quote);
}

fn numbers(out: &mut Vec<u8>, numbers: Counters<'_>) {
    out.push(b'[');
    numbers.for_each_piece(|piece| {
        if piece.iter().all(|number| *number <= MAX_LONG) {
            return push_decimals(out, piece, [b',']);
        }
        for each in piece {
            number(out, *each);
            out.push(b',');
        }
    });
    if !numbers.is_empty() {
        out.pop();
    }
    out.push(b']');
}

fn name(out: &mut Vec<u8>, text: &[u8]) {
    if std::str::from_utf8(text).is_ok() {
        return write_string(out, text);
    }
    out.push(b'{');
    first_member(out, "hex");
    hex(out, text);
    out.push(b'}');
}

fn approximate(out: &mut Vec<u8>, remarks: &Approximations) {
    out.push(b'{');
    for (at, (section, remark)) in remarks.iter().enumerate() {
        out.extend_from_slice(if at > 0 { b"," } else { b"" });
        first_member(out, section);
        write_string(out, remark.as_bytes());
    }
    out.push(b'}');
}

fn kind(out: &mut Vec<u8>, kind: ProfileKind) {
    let words = kind.words();
    let known = words.iter().filter_map(|word| ProfileKind::from_word(word));
    let rest = known.fold(kind, ProfileKind::without);
    let rest = (!rest.is_none()).then(|| rest.bits());
    list(out, words.iter().map(Ok).chain(rest.map(Err)), |out, part| match part {
        Ok(word) => write_string(out, word.as_bytes()),
        Err(bits) => number(out, bits),
    });
}

fn function(out: &mut Vec<u8>, function: FunctionView<'_>) {
    out.push(b'{');
    first_member(out, "name");
    name(out, function.name());
    member(out, "records");
    list(out, function.records(), record);
    out.push(b'}');
}

fn record(out: &mut Vec<u8>, record: RecordView<'_>) {
    out.push(b'{');
    first_member(out, "hash");
    number(out, record.func_hash);
    member(out, "counters");
    numbers(out, record.counters);
    if !record.bitmap.is_empty() {
        member(out, "bitmap");
        hex(out, record.bitmap);
    }
    if !record.uniformity.bits.is_empty() {
        member(out, "uniformity");
        hex(out, &record.uniformity.bits);
    }
    if !record.uniformity.counts.is_empty() {
        member(out, "uniformCounts");
        numbers(out, (&record.uniformity.counts).into());
    }
    if record.has_value_sites() {
        member(out, "values");
        let kinds = ValueKind::EACH.into_iter().filter(|kind| !record.sites(*kind).is_empty());
        list(out, kinds, |out, kind| sites_of_kind(out, kind, record.sites(kind)));
    }
    out.push(b'}');
}

fn sites_of_kind(out: &mut Vec<u8>, kind: ValueKind, sites: &ValueSites) {
    out.push(b'{');
    first_member(out, "kind");
    number(out, kind.number().into());
    member(out, "sites");
    list(out, sites.iter(), |out, site| {
        list(out, site.iter(), |out, ValueCount { value, count }| {
            number(out, *value);
            out.push(b',');
            number(out, *count);
        });
    });
    out.push(b'}');
}

fn temporal(out: &mut Vec<u8>, temporal: &TemporalProfile) {
    out.push(b'{');
    first_member(out, "streamSize");
    number(out, temporal.stream_size);
    member(out, "traces");
    list(out, temporal.traces.iter(), trace);
    out.push(b'}');
}

fn trace(out: &mut Vec<u8>, trace: &TemporalTrace) {
    out.push(b'{');
    first_member(out, "weight");
    number(out, trace.weight);
    member(out, "functions");
    numbers(out, (&trace.functions).into());
    out.push(b'}');
}

fn memprof(out: &mut Vec<u8>, section: &MemProfSection) {
    out.push(b'{');
    first_member(out, "indexedVersion");
    number(out, section.indexed_version.into());
    member(out, "offset");
    number(out, section.offset);
    member(out, "bytes");
    hex(out, &section.bytes);
    out.push(b'}');
}
