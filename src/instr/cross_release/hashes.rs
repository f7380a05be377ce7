//! What tells the algorithms of front-end hashes apart.

use crate::model::bridge_hash::is_of_bridge;

/// The bits that a hash of the fourth algorithm may have.
pub(crate) const FOURTH_MASK: u64 = (1 << 60) - 1;
/// The first version for which the third algorithm is computed.
pub(crate) const FIRST_THIRD_VERSION: u32 = 6;
/// The first version for which the fourth algorithm is computed.
pub(crate) const FOURTH_VERSION: u32 = 13;
/// The largest of the numbers that make up a small hash.
const LARGEST_GROUP: u64 = 32;

/// Whether a hash is made of six-bit groups, as every algorithm since the
/// second computes it for a function of at most ten counted nodes.
pub(crate) fn is_small(hash: u64) -> bool {
    let mut rest = hash;
    while rest != 0 {
        if !(1..=LARGEST_GROUP).contains(&(rest & 63)) {
            return false;
        }
        rest >>= 6;
    }
    hash <= FOURTH_MASK
}

/// Whether clang's front end computed that hash for a function of that name, as
/// far as both tell.
pub(crate) fn is_of_clang(name: &[u8], hash: u64) -> bool {
    is_name_of_clang(name) && !is_of_bridge(name, hash)
}

fn is_name_of_clang(name: &[u8]) -> bool {
    let at = name.iter().rposition(|byte| matches!(byte, b':' | b';')).map_or(0, |at| at + 1);
    let symbol = &name[at..];
    let begins = |prefix: &[u8]| symbol.strip_prefix(prefix).and_then(|rest| rest.first()).copied();
    let rust = begins(b"_R").is_some_and(|next| next.is_ascii_uppercase() || next.is_ascii_digit());
    let d = begins(b"_D").is_some_and(|next| next.is_ascii_digit());
    let swift = [&b"$s"[..], b"$S", b"$e", b"_$s", b"_$S", b"_T0"].iter().any(|prefix| symbol.starts_with(prefix));
    !(rust || d || swift || ends_in_rust_hash(symbol))
}

/// Rust's older mangling: `…17h`, 16 hexadecimal digits, `E`, and perhaps
/// suffixes that begin with a dot.
fn ends_in_rust_hash(symbol: &[u8]) -> bool {
    let is_hash =
        |end: &[u8]| end.starts_with(b"17h") && end[3..19].iter().all(u8::is_ascii_hexdigit) && end[19] == b'E';
    let mut stem = symbol;
    loop {
        if stem.last_chunk::<20>().is_some_and(|end| is_hash(end)) {
            return true;
        }
        match stem.iter().rposition(|byte| *byte == b'.') {
            Some(at) => stem = &stem[..at],
            None => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ValueKind;
    use crate::model::bridge_hash::func_hash;

    #[test]
    fn small_hashes_are_made_of_groups() {
        for small in [0, 0x18, 0x183ce, 0x0820_8208_2082_0820] {
            assert!(is_small(small), "{small:#x}");
        }
        for large in [0x0c09_d3f6_8c42_3a76, 0x4c09_d3f6_8c42_3a76, u64::MAX, 1 << 6, 33, 0x0820_8208_2082_0821] {
            assert!(!is_small(large), "{large:#x}");
        }
    }

    #[test]
    fn records_of_the_bridge_do_not_vote() {
        let hash = |name: &[u8], is_marked| func_hash(name, ValueKind::VTableTarget, is_marked);
        for (name, is_marked) in [(&b"app.Main#run()void"[..], false), (b"Fib", true), (b"{monitors}", true)] {
            assert!(!is_of_clang(name, hash(name, is_marked)));
            assert!(is_of_clang(name, hash(name, is_marked) ^ 1));
        }
    }

    #[test]
    fn only_clangs_languages_vote() {
        for name in ["main", "a.c:f", "_ZN3foo3barEv", "a.m:-[Foo bar:]", "_Reset", "_Dump", "?f@@YAXXZ"] {
            assert!(is_of_clang(name.as_bytes(), 0x4c09_d3f6_8c42_3a76), "{name}");
        }
        let others = [
            "_RNvCs1234_7mycrate3foo",
            "_ZN4core3fmt5write17h0123456789abcdefE",
            "_ZN4core3fmt5write17h0123456789abcdefE.llvm.123.456",
            "a.rs:_RNv1",
            "$s4main3fooyyF",
            "_D4main3fooFZv",
        ];
        for name in others {
            assert!(!is_of_clang(name.as_bytes(), 0x4c09_d3f6_8c42_3a76), "{name}");
        }
    }
}
