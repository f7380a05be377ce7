//! Option values in the syntax of LLVM's command lines, and the small files that they name.

use profbridge::input::{Access, Input, InputBytes};
use profbridge::{Error, Limits};
use std::path::Path;

/// The options for the cutoff and the count of what is hot.
pub(super) const HOT: [&str; 2] = ["profile-summary-cutoff-hot", "profile-summary-hot-count"];
/// The options for the cutoff and the count of what is cold.
pub(super) const COLD: [&str; 2] = ["profile-summary-cutoff-cold", "profile-summary-cold-count"];

/// Reads a list, or another small file; `-` is standard input.
pub(super) fn read_small(path: &Path) -> Result<InputBytes, Error> {
    Input::argument(path).stored_bytes(Access::Read, &Limits::default())
}

/// Parses the Boolean after `=`; an empty value is true.
pub(crate) fn boolean(value: &[u8]) -> Option<bool> {
    match value {
        b"" | b"true" | b"TRUE" | b"True" | b"1" => Some(true),
        b"false" | b"FALSE" | b"False" | b"0" => Some(false),
        _ => None,
    }
}

/// Parses a decimal, `0x` hexadecimal, `0b` binary, or `0o` or leading-`0` octal number.
pub(super) fn unsigned(value: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(value).ok()?;
    let (digits, radix) = match text.as_bytes() {
        [b'0', b'x' | b'X', ..] => (&text[2..], 16),
        [b'0', b'b' | b'B', ..] => (&text[2..], 2),
        [b'0', b'o', ..] => (&text[2..], 8),
        [b'0', digit, ..] if digit.is_ascii_digit() => (&text[1..], 8),
        _ => (text, 10),
    };
    if digits.starts_with('+') { None } else { u64::from_str_radix(digits, radix).ok() }
}

/// Like [`unsigned`], with an optional sign.
pub(super) fn signed(value: &[u8]) -> Option<i64> {
    match value.strip_prefix(b"-") {
        Some(digits) => 0i64.checked_sub_unsigned(unsigned(digits)?),
        None => unsigned(value)?.try_into().ok(),
    }
}

/// Parses a number with an optional fraction and exponent.
pub(super) fn float(value: &[u8]) -> Option<f64> {
    std::str::from_utf8(value).ok()?.parse().ok()
}
