//! `Range` (storage contract §3.3, RFC 9110 §14).

use crate::error::StorageError;

/// What a request asks for of an object's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    Everything,
    Part(ByteRange),
}

/// Bytes `start..=end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ByteRange {
    pub(crate) start: u64,
    pub(crate) end: u64,
}

impl Asked {
    /// Reads the header. Units that we do not know and several ranges are answered with everything,
    /// as HTTP allows.
    pub(crate) fn read(header: Option<&str>, size: u64) -> Result<Self, StorageError> {
        let Some(header) = header else {
            return Ok(Self::Everything);
        };
        let Some((unit, range)) = header.split_once('=') else {
            return Err(StorageError::invalid_range());
        };
        if !unit.trim().eq_ignore_ascii_case("bytes") || range.contains(',') {
            return Ok(Self::Everything);
        }
        let range = ByteRange::read(range.trim(), size);
        range
            .map(Self::Part)
            .ok_or_else(StorageError::invalid_range)
    }
}

impl ByteRange {
    /// `a-b`, `a-` or `-n` within so many bytes.
    fn read(text: &str, size: u64) -> Option<Self> {
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
            let part = Asked::Part(ByteRange { start, end });
            assert_eq!(Asked::read(Some(header), 10).ok(), Some(part), "{header}");
        };
        check("bytes=0-3", 0, 3);
        check("bytes=4-", 4, 9);
        check("bytes=-3", 7, 9);
        check("bytes=-30", 0, 9);
        check("bytes=9-100", 9, 9);
        check("bytes=0-99999999999999999999999", 0, 9);
    }

    #[test]
    fn what_cannot_be_met_is_refused_and_what_is_not_known_is_ignored() {
        for header in [
            "bytes=10-",
            "bytes=5-4",
            "bytes=a-b",
            "bytes=",
            "bytes=-0",
            "bytes",
            "bytes=--1",
        ] {
            assert!(Asked::read(Some(header), 10).is_err(), "{header}");
        }
        assert!(Asked::read(Some("bytes=0-"), 0).is_err());
        for header in ["rows=1-2", "bytes=0-1,3-4"] {
            assert_eq!(Asked::read(Some(header), 10).ok(), Some(Asked::Everything));
        }
        assert_eq!(Asked::read(None, 0).ok(), Some(Asked::Everything));
    }
}
