//! File sizes with a unit: `20MB`, in powers of ten (storage contract §2).

use crate::error::StorageError;

/// The number of bytes that a text such as `1.5gb` means.
pub(crate) fn parse_file_size(text: &str) -> Result<i64, StorageError> {
    parse(text).ok_or_else(|| {
        let message = "Invalid file size format, hint: use 20GB / 20MB / 30KB / 3B";
        StorageError::invalid_request(message)
    })
}

fn parse(text: &str) -> Option<i64> {
    let unit_at = text.find(|c: char| c.is_ascii_alphabetic())?;
    let (number, unit) = text.split_at(unit_at);
    let scale = match unit.to_ascii_lowercase().as_str() {
        "gb" => 1e9,
        "mb" => 1e6,
        "kb" => 1e3,
        "b" => 1.0,
        _ => return None,
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    if !is_digits(whole) || !is_digits(fraction) {
        return None;
    }
    // Upstream rounds to three significant digits before it multiplies.
    let rounded: f64 = format!("{:.2e}", number.parse::<f64>().ok()?)
        .parse()
        .ok()?;
    let bytes = (rounded * scale).round();
    // Below 2^53, so that JSON can carry it.
    (bytes < 9_007_199_254_740_992.0).then_some(bytes as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_decimal_and_their_case_does_not_matter() {
        let check = |text, bytes| assert_eq!(parse_file_size(text).ok(), Some(bytes), "{text}");
        check("20mb", 20_000_000);
        check("20MB", 20_000_000);
        check("1.5Gb", 1_500_000_000);
        check("3b", 3);
        check("30KB", 30_000);
        check("1234kb", 1_230_000);
    }

    #[test]
    fn anything_else_is_rejected() {
        for text in [
            "",
            "mb",
            "20",
            "20 mb",
            "-1mb",
            "1.mb",
            ".5mb",
            "1e3mb",
            "20tb",
            "99999999gb",
        ] {
            assert!(parse_file_size(text).is_err(), "{text}");
        }
    }
}
