//! How a file is read, and what becomes of it.

use serde::{Deserialize, Serialize};

use crate::{QueryError, RelationName};

/// How a file is read. What is absent is detected.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FileOptions {
    /// Its format.
    pub format: Option<FileFormat>,
    /// What separates values; one ASCII character.
    pub delimiter: Option<char>,
    /// What surrounds values; one ASCII character.
    pub quote: Option<char>,
    /// Its encoding.
    pub encoding: Option<Encoding>,
    /// Whether its first line has names.
    pub header: Option<bool>,
    /// What stands for NULL, without quotes; nothing at all by default.
    pub null: Option<String>,
}

/// The format of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileFormat {
    /// Values with a separator.
    Csv,
    /// The same, with tabs.
    Tsv,
    /// An array of objects.
    Json,
    /// An object per line.
    Ndjson,
}

/// The encoding of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Encoding {
    /// UTF-8.
    #[serde(rename = "utf-8")]
    Utf8,
    /// UTF-16, little-endian.
    #[serde(rename = "utf-16le")]
    Utf16Le,
    /// UTF-16, big-endian.
    #[serde(rename = "utf-16be")]
    Utf16Be,
    /// ISO 8859-1.
    #[serde(rename = "iso-8859-1")]
    Latin1,
    /// The same with Microsoft's additions.
    #[serde(rename = "windows-1252")]
    Windows1252,
}

/// What an import does.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ImportRequest {
    /// The table.
    pub relation: RelationName,
    /// How the file is read.
    #[serde(flatten)]
    pub file: FileOptions,
    /// Which columns of the file go where; by equal names if absent.
    #[serde(default)]
    pub columns: Option<Vec<ColumnMapping>>,
    /// Whether the table is created. Its row-level security is on.
    #[serde(default)]
    pub create: bool,
    /// The primary key of a created table.
    #[serde(default)]
    pub primary_key: Vec<String>,
    /// What becomes of rows that are there.
    #[serde(default)]
    pub mode: ImportMode,
    /// The columns that tell which row is meant, for `upsert`; the table's key if empty.
    #[serde(default)]
    pub key: Vec<String>,
    /// What a bad row does.
    #[serde(default)]
    pub on_error: OnError,
    /// More bad rows than these end an import that skips them.
    #[serde(default = "default_max_rejects")]
    pub max_rejects: u64,
    /// In which order days, months and years are written.
    #[serde(default)]
    pub date_order: DateOrder,
}

fn default_max_rejects() -> u64 {
    100_000
}

/// A column of the file and the one of the table it goes to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ColumnMapping {
    /// Its name in the file; `column_1` and so on without a header.
    pub source: String,
    /// Its name in the table.
    pub target: String,
    /// Its type in a created table; inferred if absent.
    #[serde(default, rename = "type")]
    pub type_text: Option<String>,
}

/// What becomes of rows that are there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ImportMode {
    /// They stay.
    #[default]
    Insert,
    /// Those with the key of an imported row get its values.
    Upsert,
    /// They are removed.
    Replace,
}

/// What a bad row does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnError {
    /// Nothing is imported.
    #[default]
    Abort,
    /// It is left out, and listed.
    Skip,
}

/// How a date such as `01/02/2003` is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[allow(missing_docs, reason = "they are named as PostgreSQL names them")]
pub enum DateOrder {
    #[default]
    #[serde(rename = "mdy")]
    MonthDayYear,
    #[serde(rename = "dmy")]
    DayMonthYear,
    #[serde(rename = "ymd")]
    YearMonthDay,
}

impl DateOrder {
    /// The value of `datestyle`.
    pub(super) fn datestyle(self) -> &'static str {
        match self {
            Self::MonthDayYear => "ISO, MDY",
            Self::DayMonthYear => "ISO, DMY",
            Self::YearMonthDay => "ISO, YMD",
        }
    }
}

/// Options that are complete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct KnownOptions {
    pub(super) format: FileFormat,
    pub(super) delimiter: u8,
    pub(super) quote: u8,
    pub(super) encoding: Encoding,
    pub(super) has_header: bool,
    pub(super) null: String,
}

impl FileOptions {
    /// An ASCII character that can stand between or around values.
    pub(super) fn mark(name: &str, mark: char) -> Result<u8, QueryError> {
        let is_good = mark.is_ascii() && !mark.is_ascii_alphanumeric() && !"\n\r\0.".contains(mark);
        match u8::try_from(mark) {
            Ok(byte) if is_good => Ok(byte),
            _ => Err(QueryError::Invalid(format!(
                "`{name}` is one ASCII character that is no letter, digit or point"
            ))),
        }
    }
}
