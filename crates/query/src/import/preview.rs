//! What a file looks like, from its beginning.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::QueryError;

use super::{
    decode::Decoder,
    detect::{detect, records},
    infer::infer,
    json::{Members, ObjectReader, ObjectText, value_text},
    options::{FileFormat, FileOptions, KnownOptions},
    record::Record,
};

/// How much of a file is looked at.
pub const SAMPLE_BYTES: usize = 256 * 1024;
/// How many rows are shown.
const MAX_ROWS: usize = 100;
/// Longer values are cut.
const MAX_VALUE_CHARS: usize = 200;
/// A table has no more columns.
const MAX_COLUMNS: usize = 1600;

/// What a file looks like.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Preview {
    /// How it is read: all that was detected or given.
    pub file: FileOptions,
    /// Its columns.
    pub columns: Vec<PreviewColumn>,
    /// Its first rows.
    pub rows: Vec<Vec<Option<String>>>,
    /// What is wrong with some of these rows: line and reason.
    pub faults: Vec<(u64, String)>,
}

/// A column of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PreviewColumn {
    /// Its name in the file, or `column_1` and so on.
    pub name: String,
    /// The type that its first values have.
    #[serde(rename = "type")]
    pub type_text: String,
    /// Whether some of them are NULL.
    pub nullable: bool,
}

/// Looks at the beginning of a file.
pub fn preview(sample: &[u8], options: &FileOptions) -> Result<Preview, QueryError> {
    let known = detect(sample, options)?;
    let sample = &sample[..sample.len().min(SAMPLE_BYTES)];
    let mut preview = Sample::read(sample, &known)?.into_preview(&known);
    for value in preview.rows.iter_mut().flatten().flatten() {
        if let Some((end, _)) = value.char_indices().nth(MAX_VALUE_CHARS) {
            value.truncate(end);
            value.push('…');
        }
    }
    Ok(preview)
}

/// Names and first rows.
pub(super) struct Sample {
    pub(super) names: Vec<String>,
    rows: Vec<Vec<Option<String>>>,
    faults: Vec<(u64, String)>,
}

impl Sample {
    pub(super) fn read(sample: &[u8], known: &KnownOptions) -> Result<Self, QueryError> {
        let mut decoder = Decoder::new(known.encoding);
        let text = decoder.push(sample, false).text;
        match known.format {
            FileFormat::Csv | FileFormat::Tsv => {
                let records = records(text, known.delimiter, known.quote);
                check_width(records.first().map_or(0, Record::len))?;
                Ok(Self::of_records(&records, known))
            }
            FileFormat::Json | FileFormat::Ndjson => Self::of_objects(text),
        }
    }

    fn of_records(records: &[Record], known: &KnownOptions) -> Self {
        let width = records.first().map_or(0, Record::len);
        let (names, data) = match records.split_first() {
            Some((first, others)) if known.has_header => {
                let names = (0..width).map(|index| text_of(first, index));
                (unique_names(names.collect()), others)
            }
            _ => {
                let names = (1..=width).map(|number| format!("column_{number}"));
                (names.collect(), records)
            }
        };
        let mut faults = Vec::new();
        let mut rows = Vec::new();
        for record in data.iter().take(MAX_ROWS) {
            if let Some(fault) = record_fault(record, width) {
                faults.push((record.line, fault));
            }
            let value = |index| match record.value(index) {
                Some((value, false)) if value == known.null.as_bytes() => None,
                Some((value, _)) => Some(String::from_utf8_lossy(value).into_owned()),
                None => None,
            };
            rows.push((0..width).map(value).collect());
        }
        Self {
            names,
            rows,
            faults,
        }
    }

    fn of_objects(text: &[u8]) -> Result<Self, QueryError> {
        let mut names: Vec<String> = Vec::new();
        let mut places: HashMap<String, usize> = HashMap::new();
        let mut rows: Vec<Vec<Option<String>>> = Vec::new();
        let mut faults = Vec::new();
        let mut count = 0;
        let mut found = |object: ObjectText<'_>| {
            if count == MAX_ROWS {
                return Ok(());
            }
            count += 1;
            match serde_json::from_slice::<Members<'_>>(object.text) {
                Ok(Members(members)) => {
                    let mut row = vec![None; names.len()];
                    for (name, value) in members {
                        let place = *places.entry(name.clone()).or_insert_with(|| {
                            names.push(name);
                            names.len() - 1
                        });
                        row.resize(names.len().max(row.len()), None);
                        row[place] = value_text(value, false);
                    }
                    rows.push(row);
                }
                Err(error) => faults.push((object.line, error.to_string())),
            }
            Ok(())
        };
        ObjectReader::default().push(text, &mut found)?;
        check_width(names.len())?;
        for row in &mut rows {
            row.resize(names.len(), None);
        }
        Ok(Self {
            names,
            rows,
            faults,
        })
    }

    /// The inferred type of a column.
    pub(super) fn type_of(&self, column: usize) -> &'static str {
        infer(
            self.rows
                .iter()
                .filter_map(|row| row.get(column)?.as_deref()),
        )
    }

    fn into_preview(self, known: &KnownOptions) -> Preview {
        let columns = self.names.iter().enumerate().map(|(index, name)| {
            let mut values = self.rows.iter().map(|row| row.get(index));
            PreviewColumn {
                name: name.clone(),
                type_text: self.type_of(index).to_owned(),
                nullable: values.any(|value| value.is_none_or(Option::is_none)),
            }
        });
        Preview {
            file: FileOptions {
                format: Some(known.format),
                delimiter: Some(char::from(known.delimiter)),
                quote: Some(char::from(known.quote)),
                encoding: Some(known.encoding),
                header: Some(known.has_header),
                null: Some(known.null.clone()),
            },
            columns: columns.collect(),
            rows: self.rows,
            faults: self.faults,
        }
    }
}

fn check_width(width: usize) -> Result<(), QueryError> {
    if width <= MAX_COLUMNS {
        return Ok(());
    }
    Err(QueryError::BadFile {
        line: 1,
        reason: format!("there are more than {MAX_COLUMNS} columns"),
    })
}

/// Why a record cannot be used.
pub(super) fn record_fault(record: &Record, width: usize) -> Option<String> {
    if let Some(fault) = &record.fault {
        return Some(fault.clone());
    }
    if record.len() != width {
        return Some(format!(
            "there are {} values instead of {width}",
            record.len()
        ));
    }
    record
        .has_nul()
        .then(|| "there is a NUL character, which PostgreSQL cannot store".to_owned())
}

fn text_of(record: &Record, index: usize) -> String {
    let value = record.value(index).map(|value| value.0).unwrap_or_default();
    String::from_utf8_lossy(value).trim().to_owned()
}

/// Nameless columns get a number, and repeated names one behind them.
pub(super) fn unique_names(names: Vec<String>) -> Vec<String> {
    let mut unique: Vec<String> = Vec::with_capacity(names.len());
    for (index, name) in names.into_iter().enumerate() {
        let base = if name.is_empty() {
            format!("column_{}", index + 1)
        } else {
            name
        };
        let mut candidate = base.clone();
        let mut number = 2;
        while unique.contains(&candidate) {
            candidate = format!("{base}_{number}");
            number += 1;
        }
        unique.push(candidate);
    }
    unique
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Preview {
        preview(text.as_bytes(), &FileOptions::default()).expect("a preview")
    }

    fn types(preview: &Preview) -> Vec<(&str, &str, bool)> {
        let columns = preview.columns.iter();
        columns
            .map(|column| (&*column.name, &*column.type_text, column.nullable))
            .collect()
    }

    #[test]
    fn csv_is_shown_with_types() {
        let shown = of("id,name,name,\n1,Ada,x,2.5\n2,,y,\n");
        assert_eq!(
            types(&shown),
            [
                ("id", "bigint", false),
                ("name", "text", true),
                ("name_2", "text", false),
                ("column_4", "numeric", true),
            ]
        );
        assert_eq!(shown.rows[1][1], None);
        assert_eq!(shown.file.header, Some(true));
    }

    #[test]
    fn objects_need_not_have_the_same_members() {
        let shown = of("{\"a\": 1}\n{\"b\": \"x\", \"a\": null}\n");
        assert_eq!(types(&shown), [("a", "bigint", true), ("b", "text", true)]);
        assert_eq!(shown.rows[0], [Some("1".to_owned()), None]);
    }

    #[test]
    fn faults_name_their_lines() {
        let shown = of("a,b\n1,2\n1\n\"x\"y,2\n");
        let lines: Vec<u64> = shown.faults.iter().map(|fault| fault.0).collect();
        assert_eq!(lines, [3, 4]);
    }

    #[test]
    fn a_file_without_anything_has_no_columns() {
        assert!(of("").columns.is_empty());
    }
}
