//! Sizes as the official tool reads them: `50MiB`, `500KB`, `5000000`.
//!
//! Units are powers of 1024 whether or not they carry the `i`, as in Docker's `--memory`, because
//! that is how the same `config.toml` is read elsewhere.

const UNITS: [(char, u64); 5] = [
    ('k', 1 << 10),
    ('m', 1 << 20),
    ('g', 1 << 30),
    ('t', 1 << 40),
    ('p', 1 << 50),
];

/// Reads a size; `None` when the text is not one.
pub(crate) fn parse(text: &str) -> Option<u64> {
    let text = text.trim().to_ascii_lowercase();
    let number_length = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, suffix) = text.split_at(number_length);
    let scale = scale_of(suffix.strip_prefix(' ').unwrap_or(suffix))?;
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(scale);
    }
    let size = number.parse::<f64>().ok()? * scale as f64;
    // The comparison also rejects what is not a number.
    (size < u64::MAX as f64).then_some(size as u64)
}

/// Writes a size in the largest unit that keeps it whole.
pub(crate) fn render(bytes: u64) -> String {
    UNITS
        .iter()
        .rev()
        .find(|(_, scale)| bytes >= *scale && bytes.is_multiple_of(*scale))
        .map_or_else(
            || bytes.to_string(),
            |(unit, scale)| format!("{}{}iB", bytes / scale, unit.to_ascii_uppercase()),
        )
}

fn scale_of(suffix: &str) -> Option<u64> {
    if suffix.is_empty() || suffix == "b" {
        return Some(1);
    }
    let (unit, scale) = UNITS.iter().find(|(unit, _)| suffix.starts_with(*unit))?;
    matches!(suffix.strip_prefix(*unit)?, "" | "b" | "ib").then_some(*scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_understood_in_any_case() {
        let check = |text: &str, bytes: u64| assert_eq!(parse(text), Some(bytes), "{text}");
        check("0", 0);
        check("5000000", 5_000_000);
        check("50MiB", 50 << 20);
        check("50mb", 50 << 20);
        check("5 GB", 5 << 30);
        check("1.5k", 1536);
        check("12b", 12);
    }

    #[test]
    fn other_texts_are_rejected() {
        for text in [
            "",
            "MiB",
            "-1",
            "5XB",
            "5MiBs",
            "1.2.3k",
            "nan",
            "99999999999999999999P",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_written_size_reads_back() {
        for bytes in [0, 1, 1023, 1024, 50 << 20, (1 << 30) + 1, 1 << 50] {
            assert_eq!(parse(&render(bytes)), Some(bytes));
        }
    }
}
