//! What one entry of `postgres_changes` asks for (realtime contract §9.2, §9.3).

use std::fmt;

use plinth_db::PgError;
use serde_json::{Map, Value};

use super::{
    Filter,
    filter::{self, BadFilter},
    inspect::{inspect, inspect_texts},
};

/// Which changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Event {
    All,
    Insert,
    Update,
    Delete,
}

impl Event {
    fn named(name: Option<&Value>) -> Self {
        let name = name.and_then(Value::as_str).unwrap_or_default();
        let events = [Self::Insert, Self::Update, Self::Delete];
        let event = events
            .into_iter()
            .find(|event| name.eq_ignore_ascii_case(event.name()));
        event.unwrap_or(Self::All)
    }

    /// As messages spell it.
    pub fn name(self) -> &'static str {
        match self {
            Self::All => "*",
            Self::Insert => "INSERT",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
        }
    }
}

/// A schema's or a table's name, or all of them.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Name {
    Any,
    Exactly(String),
}

impl Name {
    fn of(text: &str) -> Self {
        match text {
            "*" => Self::Any,
            name => Self::Exactly(name.to_owned()),
        }
    }

    /// Whether this is meant. Names are compared as they are, without patterns.
    pub fn matches(&self, name: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Exactly(exactly) => exactly == name,
        }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Any => "*",
            Self::Exactly(name) => name,
        })
    }
}

/// One entry.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ChangeRequest {
    pub event: Event,
    pub schema: Name,
    pub table: Name,
    /// All must hold.
    pub filters: Vec<Filter>,
    /// The columns to be told about, besides the primary key; `None` for all.
    pub select: Option<Vec<String>>,
}

/// An entry that cannot be served. The channel stays.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadRequest {
    #[error(transparent)]
    Filter(#[from] BadFilter),
    #[error(
        "Error parsing `select` params: expected a list of column name strings, \
         e.g. select: [\"col1\", \"col2\"]"
    )]
    Select,
    #[error(
        "Column selection is not supported for wildcard subscriptions. \
         Provide an explicit schema and table name."
    )]
    SelectOfMany,
    #[error(
        "No subscription params provided. \
         Please provide at least a `schema` or `table` to subscribe to: {0}"
    )]
    Nothing(String),
    /// No published table matches.
    #[error(
        "Unable to subscribe to changes with given parameters. \
         Please check Realtime is enabled for the given connect parameters: [{0}]"
    )]
    NotPublished(String),
    /// The database would not compare these values.
    #[error(
        "Unable to subscribe to changes with given parameters. \
         An exception happened so please check your connect parameters: [{asked}]. \
         Exception: {why}"
    )]
    Refused { asked: String, why: String },
}

impl ChangeRequest {
    /// Reads an entry as it was sent.
    pub fn parse(entry: &Value) -> Result<Self, BadRequest> {
        let nothing = || BadRequest::Nothing(inspect(entry));
        let fields = entry.as_object().ok_or_else(nothing)?;
        let name = |key: &str| fields.get(key).and_then(Value::as_str);
        let (schema, table) = match (name("schema"), name("table")) {
            (Some(schema), Some(table)) => (Name::of(schema), Name::of(table)),
            (Some(schema), None) => (Name::of(schema), Name::Any),
            (None, Some(table)) => (Name::of("public"), Name::of(table)),
            (None, None) => return Err(nothing()),
        };
        let filters = match name("table") {
            Some(_) => parse_filter(fields)?,
            // There is no table whose columns it could be about.
            None => Vec::new(),
        };
        let select = parse_select(fields)?;
        if select.is_some() && (schema == Name::Any || table == Name::Any) {
            return Err(BadRequest::SelectOfMany);
        }
        Ok(Self {
            event: Event::named(fields.get("event")),
            schema,
            table,
            filters,
            select,
        })
    }

    /// No published table is meant by it.
    pub fn not_published(&self) -> BadRequest {
        BadRequest::NotPublished(self.to_string())
    }

    /// The database, or a rule of its triggers, refuses it.
    pub fn refused(&self, error: &PgError) -> BadRequest {
        let (code, message) = (error.sqlstate(), &error.message);
        let why = match condition_name(code) {
            Some(name) => format!("ERROR {code} ({name}) {message}"),
            None => format!("ERROR {code} {message}"),
        };
        let asked = self.to_string();
        BadRequest::Refused { asked, why }
    }
}

impl fmt::Display for ChangeRequest {
    /// As the reference lists parameters in its errors.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let filters: Vec<_> = self.filters.iter().map(Filter::to_string).collect();
        let select = self.select.as_deref().map(inspect_texts);
        write!(
            f,
            "event: {}, schema: {}, table: {}, filters: [{}], select: {}",
            self.event.name(),
            self.schema,
            self.table,
            filters.join(", "),
            select.as_deref().unwrap_or("nil"),
        )
    }
}

fn parse_filter(fields: &Map<String, Value>) -> Result<Vec<Filter>, BadFilter> {
    match fields.get("filter") {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::String(text)) => filter::parse(text),
        Some(other) => Err(BadFilter::Unreadable(vec![other.to_string()])),
    }
}

fn parse_select(fields: &Map<String, Value>) -> Result<Option<Vec<String>>, BadRequest> {
    match fields.get("select") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Array(columns)) => {
            let columns = columns.iter().filter_map(Value::as_str);
            let columns: Vec<_> = columns.map(str::to_owned).collect();
            Ok(Some(columns).filter(|columns| !columns.is_empty()))
        }
        Some(_) => Err(BadRequest::Select),
    }
}

/// Names of the conditions that casts, comparisons and our own checks raise.
fn condition_name(code: &str) -> Option<&'static str> {
    Some(match code {
        "P0001" => "raise_exception",
        "22P02" => "invalid_text_representation",
        "22P03" => "invalid_binary_representation",
        "22003" => "numeric_value_out_of_range",
        "22007" => "invalid_datetime_format",
        "22008" => "datetime_field_overflow",
        "22021" => "character_not_in_repertoire",
        "2201B" => "invalid_regular_expression",
        "2202E" => "array_subscript_error",
        "23514" => "check_violation",
        "42501" => "insufficient_privilege",
        "42601" => "syntax_error",
        "42703" => "undefined_column",
        "42704" => "undefined_object",
        "42804" => "datatype_mismatch",
        "42846" => "cannot_coerce",
        "42883" => "undefined_function",
        "42P01" => "undefined_table",
        "57014" => "query_canceled",
        _ => return None,
    })
}

#[cfg(test)]
#[path = "request_tests.rs"]
mod tests;
