//! Turning the bytes of a file into rows of COPY.

use std::collections::{HashMap, VecDeque};

use bytes::{BufMut as _, BytesMut};
use plinth_db::PgError;
use tokio::sync::watch;

use crate::{QueryError, Rejection};

use super::{
    copy_text::{push_optional, push_value},
    csv::CsvReader,
    decode::Decoder,
    json::{Members, ObjectReader, ObjectText, value_text},
    load::{CHUNK_BYTES, ImportPhase, ImportProgress},
    options::{FileFormat, ImportRequest, KnownOptions, OnError},
    plan::Plan,
    preview::record_fault,
    record::Record,
    rejects::Rejects,
};

/// Lines of the last records are known: errors arrive somewhat later than the record was sent.
const MAX_KNOWN_LINES: usize = 500_000;

/// Turns bytes of the file into rows of COPY.
pub(super) struct Feeder<'a> {
    pub(super) plan: &'a Plan,
    decoder: Decoder,
    reader: Reader,
    rows: Rows<'a>,
    pub(super) rejects: Rejects,
    /// Rows that are to be sent.
    pub(super) out: BytesMut,
    /// How many rows there were.
    pub(super) sent: u64,
    lines: VecDeque<u64>,
}

enum Reader {
    Csv(CsvReader),
    Json(ObjectReader),
}

/// What a row needs of the plan.
struct Rows<'a> {
    plan: &'a Plan,
    /// Places of columns by their names in objects.
    places: HashMap<&'a str, usize>,
    null: Vec<u8>,
    on_error: OnError,
    max_rejects: u64,
    has_header: bool,
}

impl<'a> Feeder<'a> {
    pub(super) fn new(plan: &'a Plan, known: &KnownOptions, request: &ImportRequest) -> Self {
        let is_json = matches!(known.format, FileFormat::Json | FileFormat::Ndjson);
        let columns = plan.columns.iter();
        let sources: Vec<String> = columns
            .clone()
            .map(|column| column.source.clone())
            .collect();
        Self {
            plan,
            decoder: Decoder::new(known.encoding),
            reader: if is_json {
                Reader::Json(ObjectReader::default())
            } else {
                Reader::Csv(CsvReader::new(known.delimiter, known.quote))
            },
            rows: Rows {
                plan,
                places: columns
                    .enumerate()
                    .map(|(index, column)| (&*column.source, index))
                    .collect(),
                null: known.null.clone().into_bytes(),
                on_error: request.on_error,
                max_rejects: request.max_rejects,
                has_header: known.has_header && !is_json,
            },
            rejects: Rejects::new(&sources),
            out: BytesMut::with_capacity(2 * CHUNK_BYTES),
            sent: 0,
            lines: VecDeque::new(),
        }
    }

    pub(super) fn push(&mut self, piece: &[u8], is_last: bool) -> Result<(), QueryError> {
        let Self {
            decoder,
            reader,
            rows,
            rejects,
            out,
            sent,
            lines,
            ..
        } = self;
        let decoded = decoder.push(piece, is_last);
        let mut output = Output {
            rejects,
            out,
            sent,
            lines,
        };
        let mut start = 0;
        for at in decoded.faults {
            reader.push(&decoded.text[start..at], rows, &mut output)?;
            reader.fail_record("there are bytes that the encoding does not know");
            start = at;
        }
        reader.push(&decoded.text[start..], rows, &mut output)
    }

    pub(super) fn finish(&mut self) -> Result<(), QueryError> {
        self.push(&[], true)?;
        let Self {
            reader,
            rows,
            rejects,
            out,
            sent,
            lines,
            ..
        } = self;
        let mut output = Output {
            rejects,
            out,
            sent,
            lines,
        };
        match reader {
            Reader::Csv(reader) => {
                reader.finish(&mut |record: &Record| rows.record(record, &mut output))
            }
            Reader::Json(reader) => reader.finish(),
        }
    }

    pub(super) fn report(&self, bytes: u64, progress: &watch::Sender<ImportProgress>) {
        progress.send_replace(ImportProgress {
            phase: ImportPhase::Reading,
            bytes,
            rows: self.sent + self.rejects.count(),
            rejected: self.rejects.count(),
        });
    }

    /// An error of COPY names the line of its own input.
    pub(super) fn with_line(&self, error: QueryError) -> QueryError {
        let QueryError::Rejected(mut rejection) = error else {
            return error;
        };
        if let Some((number, column)) = rejection.context.as_deref().and_then(copy_place) {
            rejection.columns.extend(column);
            let back = self.sent.saturating_sub(number);
            let place = usize::try_from(back)
                .ok()
                .and_then(|back| self.lines.len().checked_sub(back + 1));
            let place = place.and_then(|place| self.lines.get(place));
            rejection.context = Some(match place {
                Some(line) => format!("line {line} of the file"),
                None => format!("record {number} of the file"),
            });
        }
        QueryError::Rejected(rejection)
    }
}

/// `COPY films, line 12, column year: "x"`.
fn copy_place(context: &str) -> Option<(u64, Option<String>)> {
    let (_, rest) = context.split_once(", line ")?;
    let end = rest
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(rest.len());
    let number = rest[..end].parse().ok()?;
    let column = rest[end..].strip_prefix(", column ").and_then(|column| {
        let end = column.find(": ")?;
        Some(column[..end].to_owned())
    });
    Some((number, column))
}

/// Where rows go.
struct Output<'a> {
    rejects: &'a mut Rejects,
    out: &'a mut BytesMut,
    sent: &'a mut u64,
    lines: &'a mut VecDeque<u64>,
}

impl Output<'_> {
    fn begin_row(&mut self, line: u64, is_staged: bool) {
        if is_staged {
            push_value(self.out, line.to_string().as_bytes());
            self.out.put_u8(b'\t');
        }
        *self.sent += 1;
        if self.lines.len() == MAX_KNOWN_LINES {
            self.lines.pop_front();
        }
        self.lines.push_back(line);
    }
}

impl Reader {
    fn push(
        &mut self,
        text: &[u8],
        rows: &mut Rows<'_>,
        output: &mut Output<'_>,
    ) -> Result<(), QueryError> {
        match self {
            Self::Csv(reader) => {
                reader.push(text, &mut |record: &Record| rows.record(record, output))
            }
            Self::Json(reader) => reader.push(text, &mut |object: ObjectText<'_>| {
                rows.object(object, output)
            }),
        }
    }

    fn fail_record(&mut self, reason: &str) {
        match self {
            Self::Csv(reader) => reader.fail_record(reason),
            Self::Json(reader) => reader.fault = Some(reason.to_owned()),
        }
    }
}

impl Rows<'_> {
    fn record(&mut self, record: &Record, output: &mut Output<'_>) -> Result<(), QueryError> {
        if record.is_blank() && self.plan.width != 1 {
            return Ok(());
        }
        if std::mem::take(&mut self.has_header) {
            return Ok(());
        }
        if let Some(fault) = record_fault(record, self.plan.width) {
            let value = |place| {
                let (value, _) = record.value(place)?;
                std::str::from_utf8(value).ok()
            };
            let values = self.plan.columns.iter().map(|column| value(column.place));
            return self.reject(record.line, &fault, values, output);
        }
        output.begin_row(record.line, self.plan.is_staged);
        for (index, column) in self.plan.columns.iter().enumerate() {
            if index > 0 {
                output.out.put_u8(b'\t');
            }
            let value = record.value(column.place);
            let value = value.filter(|(value, is_quoted)| *is_quoted || *value != &*self.null);
            push_optional(output.out, value.map(|(value, _)| value));
        }
        output.out.put_u8(b'\n');
        Ok(())
    }

    fn object(
        &mut self,
        object: ObjectText<'_>,
        output: &mut Output<'_>,
    ) -> Result<(), QueryError> {
        let none = std::iter::empty();
        if let Some(fault) = object.fault {
            return self.reject(object.line, &fault, none, output);
        }
        let members = match serde_json::from_slice::<Members<'_>>(object.text) {
            Ok(Members(members)) => members,
            Err(error) => {
                let reason = format!("this is no JSON object: {error}");
                return self.reject(object.line, &reason, none, output);
            }
        };
        let columns = &self.plan.columns;
        let mut values: Vec<Option<String>> = vec![None; columns.len()];
        for (name, value) in members {
            if let Some(&place) = self.places.get(&*name) {
                values[place] = value_text(value, columns[place].is_array);
            }
        }
        if values.iter().flatten().any(|value| value.contains('\0')) {
            let reason = "there is a NUL character, which PostgreSQL cannot store";
            let values = values.iter().map(Option::as_deref);
            return self.reject(object.line, reason, values, output);
        }
        output.begin_row(object.line, self.plan.is_staged);
        for (index, value) in values.iter().enumerate() {
            if index > 0 {
                output.out.put_u8(b'\t');
            }
            push_optional(output.out, value.as_deref().map(str::as_bytes));
        }
        output.out.put_u8(b'\n');
        Ok(())
    }

    fn reject<'v>(
        &self,
        line: u64,
        reason: &str,
        values: impl Iterator<Item = Option<&'v str>>,
        output: &mut Output<'_>,
    ) -> Result<(), QueryError> {
        if self.on_error == OnError::Abort {
            return Err(QueryError::BadFile {
                line,
                reason: reason.to_owned(),
            });
        }
        output.rejects.add(line, reason, values);
        check_rejects(output.rejects, self.max_rejects)
    }
}

/// Ends an import with too many bad rows.
pub(super) fn check_rejects(rejects: &Rejects, max: u64) -> Result<(), QueryError> {
    if rejects.count() <= max {
        return Ok(());
    }
    Err(QueryError::Rejected(Box::new(Rejection::new(
        &PgError {
            hint: Some(format!(
                "The first of them:\n{}",
                first_lines(rejects.csv())
            )),
            ..PgError::new(
                "22000",
                format!("Nothing was imported: more than {max} rows are bad"),
            )
        },
        &[],
    ))))
}

fn first_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().take(6).collect();
    lines.join("\n").chars().take(2000).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_of_an_error_is_read() {
        let context = "COPY films, line 12, column year: \"x, line 3\"";
        assert_eq!(copy_place(context), Some((12, Some("year".to_owned()))));
        assert_eq!(copy_place("COPY a, line 3: \"x\""), Some((3, None)));
        assert_eq!(copy_place("SQL statement"), None);
    }
}
