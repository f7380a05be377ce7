//! Numbers in the format of C's `printf`.

use crate::digits::push_decimal;

/// Formats like `%.6g`: six significant digits, without trailing zeros.
pub(crate) fn six_significant_digits(value: f64) -> String {
    if value == 0.0 {
        return "0".into();
    }
    // Rounding to six digits determines the exponent that C uses.
    let scientific = format!("{value:.5e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..6).contains(&exponent) {
        let decimals = usize::try_from(5 - exponent).unwrap_or(0);
        return without_trailing_zeros(&format!("{value:.decimals$}")).to_string();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", without_trailing_zeros(digits), exponent.unsigned_abs())
}

/// Appends a number like `%.2f`, with two decimals.
pub(crate) fn push_two_decimals(out: &mut Vec<u8>, value: f64) {
    let hundredths = value * 100.0;
    let whole = hundredths as u64;
    let rest = hundredths - whole as f64;
    // The error of the product is below 1e-7, so only near a half the digits of the number itself decide.
    if !(0.0..1e9).contains(&hundredths) || (rest - 0.5).abs() < 1e-4 {
        out.extend_from_slice(format!("{value:.2}").as_bytes());
        return;
    }
    let rounded = whole + u64::from(rest > 0.5);
    push_decimal(out, rounded / 100);
    let (tens, ones) = ((rounded / 10 % 10) as u8, (rounded % 10) as u8);
    out.extend_from_slice(&[b'.', b'0' + tens, b'0' + ones]);
}

/// Formats like `%e`: one digit, six decimals, an exponent of at least two digits.
pub(crate) fn exponential(value: f64) -> String {
    let scientific = format!("{value:.6e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.unsigned_abs())
}

fn without_trailing_zeros(digits: &str) -> &str {
    if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.') } else { digits }
}

/// Returns the share of a part in a whole, and 0 if the whole is 0.
pub(crate) fn share(part: u128, whole: u128) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn two_decimals(value: f64) -> String {
        let mut text = Vec::new();
        push_two_decimals(&mut text, value);
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn halves_are_rounded_as_the_number_is() {
        // 0.125 is exactly a half and rounds to even; 0.005 is slightly above it.
        for (value, expected) in [(0.125, "0.12"), (0.375, "0.38"), (0.005, "0.01"), (100.0, "100.00"), (9.995, "9.99")]
        {
            assert_eq!(two_decimals(value), expected);
        }
        for value in [f64::NAN, f64::INFINITY, -1.0, 1e300, f64::MIN_POSITIVE] {
            assert_eq!(two_decimals(value), format!("{value:.2}"));
        }
    }

    proptest! {
        #[test]
        fn two_decimals_are_those_of_the_standard_library(count in any::<u64>(), total in any::<u64>(), shift in 0..64) {
            let (count, total): (u64, u64) = (count >> shift, total >> shift);
            let (count, total) = (count as f64, total.max(1) as f64);
            for value in [count * 100.0 / total, (count % 20_001.0) / 200.0, count / 1000.0] {
                prop_assert_eq!(two_decimals(value), format!("{value:.2}"));
            }
        }
    }

    #[test]
    fn general_notation_is_that_of_c() {
        let cases = [
            (0.0, "0"),
            (1.0, "1"),
            (99.9, "99.9"),
            (99.9999, "99.9999"),
            (99.99999, "100"),
            (0.0001, "0.0001"),
            (0.00012345678, "0.000123457"),
            (0.00001, "1e-05"),
            (123456.7, "123457"),
            (1234567.0, "1.23457e+06"),
            (12.345678, "12.3457"),
        ];
        for (value, expected) in cases {
            assert_eq!(six_significant_digits(value), expected);
        }
    }

    #[test]
    fn exponential_notation_is_that_of_c() {
        assert_eq!(exponential(1.0), "1.000000e+00");
        assert_eq!(exponential(0.0), "0.000000e+00");
        assert_eq!(exponential(12345678.0), "1.234568e+07");
    }
}
