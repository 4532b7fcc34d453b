//! Iterating over the lines of a segment in memory.

use crate::{
    Level, Timestamp,
    record::{LINE_PREFIX, Record, line_level},
};

/// The lines of a segment with their offsets, last line first.
pub(crate) struct Lines<'a> {
    rest: &'a [u8],
}

impl<'a> Lines<'a> {
    pub(crate) fn backwards(content: &'a [u8]) -> Self {
        Self { rest: content }
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = Line<'a>;

    fn next(&mut self) -> Option<Line<'a>> {
        loop {
            let content = self.rest.strip_suffix(b"\n").unwrap_or(self.rest);
            if content.is_empty() && self.rest.is_empty() {
                return None;
            }
            let offset = memchr::memrchr(b'\n', content).map_or(0, |at| at + 1);
            self.rest = &self.rest[..offset];
            let bytes = &content[offset..];
            // Torn and foreign lines have no time; they are skipped.
            if let Some(time_text) = line_time(bytes) {
                return Some(Line {
                    offset: offset as u64,
                    bytes,
                    time_text,
                });
            }
        }
    }
}

/// A line that begins as ours do.
pub(crate) struct Line<'a> {
    pub(crate) offset: u64,
    /// The time as written; compares as times do.
    pub(crate) time_text: &'a [u8],
    pub(crate) bytes: &'a [u8],
}

impl Line<'_> {
    /// Time and level, if the line is whole and begins with both.
    pub(crate) fn head(&self) -> Option<(Timestamp, Level)> {
        let time = std::str::from_utf8(self.time_text).ok()?.parse().ok()?;
        let level = line_level(self.bytes)?;
        self.bytes.ends_with(b"}").then_some((time, level))
    }

    /// The record; `None` if the line is torn further on.
    pub(crate) fn parse(&self) -> Option<Record> {
        Record::parse_line(self.bytes)
    }
}

/// The time with which a line begins, as written.
pub(crate) fn line_time(line: &[u8]) -> Option<&[u8]> {
    let text = line.strip_prefix(LINE_PREFIX)?.get(..Timestamp::TEXT_LEN)?;
    (text.is_ascii() && text.ends_with(b"Z")).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Source;

    fn line(message: &str) -> Vec<u8> {
        let mut line = Vec::new();
        Record::new(Source::Api, Level::Info, message)
            .project("p")
            .write_line(&mut line);
        line
    }

    fn messages(content: &[u8]) -> Vec<(u64, String)> {
        Lines::backwards(content)
            .filter_map(|line| Some((line.offset, line.parse()?.message)))
            .collect()
    }

    #[test]
    fn the_last_line_comes_first() {
        let (first, second) = (line("first"), line("second"));
        let content = [first.as_slice(), &second].concat();

        let expected = [
            (first.len() as u64, "second".to_owned()),
            (0, "first".to_owned()),
        ];
        assert_eq!(messages(&content), expected);
    }

    #[test]
    fn torn_and_foreign_lines_are_skipped() {
        let whole = line("whole");
        let torn = &line("torn")[..50];
        let short = &line("short")[..12];
        let content = [b"\n\nnoise\n", whole.as_slice(), short, b"\n", torn].concat();

        assert_eq!(messages(&content), [(8, "whole".to_owned())]);
    }

    #[test]
    fn a_last_line_that_only_lacks_its_end_is_read() {
        let mut content = line("only");
        content.pop();

        assert_eq!(messages(&content), [(0, "only".to_owned())]);
        assert_eq!(messages(b""), []);
    }
}
