//! `Range` (storage contract §3.3, RFC 9110 §14).

use crate::error::StorageError;

/// Which bytes of an object a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequestedRange {
    Whole,
    Part(ByteRange),
}

/// Bytes `start..=end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ByteRange {
    pub(crate) start: u64,
    pub(crate) end: u64,
}

impl RequestedRange {
    /// Parses the header. Unknown units and multiple ranges ask for the whole object, as HTTP
    /// allows.
    pub(crate) fn parse(header: Option<&str>, size: u64) -> Result<Self, StorageError> {
        let Some(header) = header else {
            return Ok(Self::Whole);
        };
        let Some((unit, range)) = header.split_once('=') else {
            return Err(StorageError::invalid_range());
        };
        if !unit.trim().eq_ignore_ascii_case("bytes") || range.contains(',') {
            return Ok(Self::Whole);
        }
        let range = ByteRange::parse(range.trim(), size);
        range
            .map(Self::Part)
            .ok_or_else(StorageError::invalid_range)
    }
}

impl ByteRange {
    /// `a-b`, `a-` or `-n` of an object of that size.
    fn parse(text: &str, size: u64) -> Option<Self> {
        let (start, end) = text.split_once('-')?;
        let number = |text: &str| -> Option<u64> {
            let is_digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            is_digits.then(|| text.parse().unwrap_or(u64::MAX))
        };
        let last = size.checked_sub(1)?;
        let range = match (start.trim(), end.trim()) {
            ("", count) => {
                let count = number(count).filter(|count| *count > 0)?;
                Self {
                    start: size.saturating_sub(count),
                    end: last,
                }
            }
            (start, "") => Self {
                start: number(start)?,
                end: last,
            },
            (start, end) => {
                let (start, end) = (number(start)?, number(end)?);
                if start > end {
                    return None;
                }
                Self {
                    start,
                    end: end.min(last),
                }
            }
        };
        (range.start <= last).then_some(range)
    }

    /// For `Content-Range`.
    pub(crate) fn header(self, size: u64) -> String {
        format!("bytes {}-{}/{size}", self.start, self.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_cut_to_the_object() {
        let check = |header: &str, start, end| {
            let part = RequestedRange::Part(ByteRange { start, end });
            assert_eq!(
                RequestedRange::parse(Some(header), 10).ok(),
                Some(part),
                "{header}"
            );
        };
        check("bytes=0-3", 0, 3);
        check("bytes=4-", 4, 9);
        check("bytes=-3", 7, 9);
        check("bytes=-30", 0, 9);
        check("bytes=9-100", 9, 9);
        check("bytes=0-99999999999999999999999", 0, 9);
    }

    #[test]
    fn unsatisfiable_ranges_are_rejected_and_unknown_units_ignored() {
        for header in [
            "bytes=10-",
            "bytes=5-4",
            "bytes=a-b",
            "bytes=",
            "bytes=-0",
            "bytes",
            "bytes=--1",
        ] {
            assert!(RequestedRange::parse(Some(header), 10).is_err(), "{header}");
        }
        assert!(RequestedRange::parse(Some("bytes=0-"), 0).is_err());
        for header in ["rows=1-2", "bytes=0-1,3-4"] {
            assert_eq!(
                RequestedRange::parse(Some(header), 10).ok(),
                Some(RequestedRange::Whole)
            );
        }
        assert_eq!(
            RequestedRange::parse(None, 0).ok(),
            Some(RequestedRange::Whole)
        );
    }
}
