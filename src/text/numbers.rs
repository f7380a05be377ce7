//! Numbers in text: exactly what LLVM's `StringRef::getAsInteger` accepts.

/// A decimal number: digits only, no sign, no blanks.
pub(super) fn parse_decimal(text: &[u8]) -> Option<u64> {
    parse_digits(text, 10)
}

/// A number whose prefix says its radix: `0x`, `0b`, `0o`, a leading `0` for
/// octal, else decimal.
pub(super) fn parse_any_radix(text: &[u8]) -> Option<u64> {
    match text {
        [b'0', b'x' | b'X', digits @ ..] => parse_digits(digits, 16),
        [b'0', b'b' | b'B', digits @ ..] => parse_digits(digits, 2),
        [b'0', b'o', digits @ ..] => parse_digits(digits, 8),
        [b'0', digits @ ..] if digits.first().is_some_and(u8::is_ascii_digit) => parse_digits(digits, 8),
        _ => parse_digits(text, 10),
    }
}

fn parse_digits(text: &[u8], radix: u32) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0u64, |number, &byte| {
        let digit = char::from(byte).to_digit(radix)?;
        number.checked_mul(u64::from(radix))?.checked_add(u64::from(digit))
    })
}

/// Appends a number in lower-case hexadecimal with `0x`.
pub(super) fn push_hex(out: &mut Vec<u8>, number: u64) {
    out.extend_from_slice(b"0x");
    let digits = (64 - number.leading_zeros()).div_ceil(4).max(1);
    for digit in (0..digits).rev() {
        out.push(b"0123456789abcdef"[(number >> (digit * 4)) as usize & 15]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn radix_follows_the_prefix() {
        let cases: [(&str, Option<u64>); 14] = [
            ("0x1F", Some(31)),
            ("0XfF", Some(255)),
            ("0b101", Some(5)),
            ("0o17", Some(15)),
            ("017", Some(15)),
            ("18", Some(18)),
            ("0", Some(0)),
            ("", None),
            ("0x", None),
            ("08", None),
            ("+1", None),
            (" 1", None),
            ("18446744073709551615", Some(u64::MAX)),
            ("18446744073709551616", None),
        ];
        for (text, number) in cases {
            assert_eq!(parse_any_radix(text.as_bytes()), number, "{text:?}");
        }
        assert_eq!(parse_decimal(b"017"), Some(17));
    }

    proptest! {
        #[test]
        fn numbers_survive_the_round_trip(number in prop_oneof![any::<u64>(), 0u64..2000]) {
            prop_assert_eq!(parse_decimal(number.to_string().as_bytes()), Some(number));
            let mut text = Vec::new();
            push_hex(&mut text, number);
            prop_assert_eq!(&text, &format!("{number:#x}").into_bytes());
        }
    }
}
