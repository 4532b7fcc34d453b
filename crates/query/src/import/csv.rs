//! Reading CSV in pieces of any size (RFC 4180; a lone CR ends a line too).

use crate::QueryError;

use super::record::{Lines, MAX_RECORD_BYTES, Record, Records, too_long};

/// Reads CSV.
pub(super) struct CsvReader {
    delimiter: u8,
    quote: u8,
    state: State,
    record: Record,
    lines: Lines,
    /// The last byte was a CR that ended a record.
    is_after_cr: bool,
    is_started: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    ValueStart,
    Plain,
    Quoted,
    /// After a quote within a quoted value: it ends the value, or is the first of two.
    Quote,
    /// After a mistake: up to the end of the line.
    Skip,
}

impl CsvReader {
    pub(super) fn new(delimiter: u8, quote: u8) -> Self {
        Self {
            delimiter,
            quote,
            state: State::ValueStart,
            record: Record::beginning_at(1),
            lines: Lines::default(),
            is_after_cr: false,
            is_started: false,
        }
    }

    /// Marks the present record as bad.
    pub(super) fn fail_record(&mut self, reason: &str) {
        self.record.fault.get_or_insert_with(|| reason.to_owned());
    }

    pub(super) fn push(
        &mut self,
        mut bytes: &[u8],
        records: &mut impl Records,
    ) -> Result<(), QueryError> {
        while let Some((&first, rest)) = bytes.split_first() {
            if std::mem::take(&mut self.is_after_cr) && first == b'\n' {
                bytes = rest;
                continue;
            }
            bytes = match self.state {
                State::ValueStart if first == self.quote => {
                    self.start();
                    self.state = State::Quoted;
                    rest
                }
                State::ValueStart => {
                    self.state = State::Plain;
                    bytes
                }
                State::Plain => self.plain(bytes, records)?,
                State::Quoted => self.quoted(bytes)?,
                State::Quote => self.after_quote(bytes, records)?,
                State::Skip => self.skip(bytes, records)?,
            };
        }
        Ok(())
    }

    /// The last record may have no line end.
    pub(super) fn finish(&mut self, records: &mut impl Records) -> Result<(), QueryError> {
        match self.state {
            State::Quoted => {
                self.fail_record("a quoted value has no end");
                self.end_record(records)
            }
            State::ValueStart if !self.is_started => Ok(()),
            State::ValueStart | State::Plain => {
                self.record.end_value(false);
                self.end_record(records)
            }
            State::Quote => {
                self.record.end_value(true);
                self.end_record(records)
            }
            State::Skip => self.end_record(records),
        }
    }

    fn start(&mut self) {
        if !self.is_started {
            self.is_started = true;
            self.record.line = self.lines.current;
        }
    }

    fn plain<'b>(
        &mut self,
        bytes: &'b [u8],
        records: &mut impl Records,
    ) -> Result<&'b [u8], QueryError> {
        self.start();
        let Some(end) = memchr::memchr3(self.delimiter, b'\n', b'\r', bytes) else {
            self.extend(bytes)?;
            return Ok(&[]);
        };
        self.extend(&bytes[..end])?;
        self.record.end_value(false);
        self.after_value(bytes[end], records)?;
        Ok(&bytes[end + 1..])
    }

    fn quoted<'b>(&mut self, bytes: &'b [u8]) -> Result<&'b [u8], QueryError> {
        let end = memchr::memchr(self.quote, bytes);
        let text = &bytes[..end.unwrap_or(bytes.len())];
        self.lines.count(text);
        self.extend(text)?;
        Ok(match end {
            None => &[],
            Some(end) => {
                self.state = State::Quote;
                &bytes[end + 1..]
            }
        })
    }

    fn after_quote<'b>(
        &mut self,
        bytes: &'b [u8],
        records: &mut impl Records,
    ) -> Result<&'b [u8], QueryError> {
        let first = bytes[0];
        if first == self.quote {
            self.extend(&[first])?;
            self.state = State::Quoted;
        } else if first == self.delimiter || matches!(first, b'\n' | b'\r') {
            self.record.end_value(true);
            self.after_value(first, records)?;
        } else {
            self.fail_record("there is text after a closing quote");
            self.state = State::Skip;
        }
        Ok(&bytes[1..])
    }

    fn skip<'b>(
        &mut self,
        bytes: &'b [u8],
        records: &mut impl Records,
    ) -> Result<&'b [u8], QueryError> {
        let Some(end) = memchr::memchr2(b'\n', b'\r', bytes) else {
            return Ok(&[]);
        };
        self.after_value(bytes[end], records)?;
        Ok(&bytes[end + 1..])
    }

    /// After a delimiter or a line end.
    fn after_value(&mut self, mark: u8, records: &mut impl Records) -> Result<(), QueryError> {
        self.state = State::ValueStart;
        if mark == self.delimiter {
            return Ok(());
        }
        self.is_after_cr = mark == b'\r';
        self.end_record(records)?;
        self.lines.current += 1;
        Ok(())
    }

    fn end_record(&mut self, records: &mut impl Records) -> Result<(), QueryError> {
        self.state = State::ValueStart;
        self.is_started = false;
        let done = records.record(&self.record);
        self.record.clear(self.lines.current);
        done
    }

    fn extend(&mut self, bytes: &[u8]) -> Result<(), QueryError> {
        if self.record.size() + bytes.len() > MAX_RECORD_BYTES {
            return Err(too_long(self.record.line));
        }
        self.record.extend(bytes);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Read = Vec<(u64, Vec<String>, Option<String>)>;

    fn read(text: &str, size: usize) -> Read {
        let mut found = Vec::new();
        let mut records = |record: &Record| {
            let values = (0..record.len()).map(|index| {
                let (value, is_quoted) = record.value(index).expect("a value");
                let value = String::from_utf8_lossy(value);
                if is_quoted {
                    format!("<{value}>")
                } else {
                    value.into_owned()
                }
            });
            found.push((record.line, values.collect(), record.fault.clone()));
            Ok(())
        };
        let mut reader = CsvReader::new(b',', b'"');
        for piece in text.as_bytes().chunks(size) {
            reader.push(piece, &mut records).expect("read");
        }
        reader.finish(&mut records).expect("read");
        found
    }

    #[track_caller]
    fn check(text: &str, expected: &[(u64, &[&str])]) {
        let expected: Vec<(u64, Vec<String>)> = expected
            .iter()
            .map(|(line, values)| (*line, values.iter().map(|value| (*value).into()).collect()))
            .collect();
        for size in [1, 2, 3, 1000] {
            let found: Vec<_> = read(text, size)
                .into_iter()
                .map(|(line, values, fault)| {
                    assert_eq!(fault, None, "{text}");
                    (line, values)
                })
                .collect();
            assert_eq!(found, expected, "{text:?} in pieces of {size}");
        }
    }

    #[test]
    fn values_are_read_as_rfc_4180_says() {
        check("a,b\nc,\n", &[(1, &["a", "b"]), (2, &["c", ""])]);
        check(
            "a\r\n\"b\"\"c\"\r\nd",
            &[(1, &["a"]), (2, &["<b\"c>"]), (3, &["d"])],
        );
        check(
            "\"x\ny\",\"\"\nlast,1\n",
            &[(1, &["<x\ny>", "<>"]), (3, &["last", "1"])],
        );
        check("a\rb\r", &[(1, &["a"]), (2, &["b"])]);
        check("a,b,", &[(1, &["a", "b", ""])]);
        check("\n\n", &[(1, &[""]), (2, &[""])]);
        check("", &[]);
        check("it\"s", &[(1, &["it\"s"])]);
    }

    #[test]
    fn mistakes_name_their_line() {
        for size in [1, 1000] {
            let found = read("a,b\n\"x\"y,\"z\nc,d\n\"open\n", size);
            let faults: Vec<_> = found
                .iter()
                .map(|(line, _, fault)| (*line, fault.is_some()))
                .collect();
            assert_eq!(faults, [(1, false), (2, true), (3, false), (4, true)]);
        }
    }

    #[test]
    fn a_record_without_end_is_refused() {
        let mut reader = CsvReader::new(b',', b'"');
        let mut none = |_: &Record| Ok(());
        reader.push(b"a,b\n\"", &mut none).expect("read");
        let piece = vec![b'x'; 1024 * 1024];
        let mut sent = 0;
        let error = loop {
            sent += 1;
            assert!(sent < 100, "it is refused");
            if let Err(error) = reader.push(&piece, &mut none) {
                break error;
            }
        };
        assert!(
            matches!(error, QueryError::BadFile { line: 2, .. }),
            "{error}"
        );
    }

    proptest::proptest! {
        #[test]
        fn pieces_do_not_matter(text in "[ab,\"\n\r]{0,40}", size in 1..7_usize) {
            assert_eq!(read(&text, size), read(&text, 1000));
        }
    }
}
