//! Numbers as C prints them.

/// `%.6g`: six significant digits, trailing zeros dropped.
pub fn six_significant_digits(value: f64) -> String {
    if value == 0.0 {
        return "0".into();
    }
    // Rounding to six digits first tells the exponent that C looks at.
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

/// `%e`: one digit, six decimals, an exponent of at least two digits.
pub fn exponential(value: f64) -> String {
    let scientific = format!("{value:.6e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.unsigned_abs())
}

fn without_trailing_zeros(digits: &str) -> &str {
    if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.') } else { digits }
}

#[cfg(test)]
mod tests {
    use super::*;

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
