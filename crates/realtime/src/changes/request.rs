//! One entry of `postgres_changes` in a join (realtime contract §9.2, §9.3).

use std::fmt;

use plinth_db::PgError;
use serde_json::{Map, Value};

use super::{
    Filter,
    filter::{self, FilterError},
    inspect::{inspect, inspect_texts},
};

/// Which changes, as in `event`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Event {
    All,
    Insert,
    Update,
    Delete,
}

impl Event {
    /// Anything unknown means all.
    fn parse(name: Option<&Value>) -> Self {
        let name = name.and_then(Value::as_str).unwrap_or_default();
        let events = [Self::Insert, Self::Update, Self::Delete];
        let event = events
            .into_iter()
            .find(|event| name.eq_ignore_ascii_case(event.name()));
        event.unwrap_or(Self::All)
    }

    /// As in messages.
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
    fn parse(text: &str) -> Self {
        match text {
            "*" => Self::Any,
            name => Self::Exactly(name.to_owned()),
        }
    }

    /// Names are compared exactly, without patterns.
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

/// One parsed entry.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ChangeRequest {
    pub event: Event,
    pub schema: Name,
    pub table: Name,
    /// All must hold.
    pub filters: Vec<Filter>,
    /// The columns to include besides the primary key; `None` for all.
    pub select: Option<Vec<String>>,
}

/// Why an entry cannot be served. The channel stays joined.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChangeRequestError {
    #[error(transparent)]
    Filter(#[from] FilterError),
    #[error(
        "Error parsing `select` params: expected a list of column name strings, \
         e.g. select: [\"col1\", \"col2\"]"
    )]
    InvalidSelect,
    #[error(
        "Column selection is not supported for wildcard subscriptions. \
         Provide an explicit schema and table name."
    )]
    SelectWithWildcard,
    #[error(
        "No subscription params provided. \
         Please provide at least a `schema` or `table` to subscribe to: {0}"
    )]
    NoNames(String),
    /// No published table matches.
    #[error(
        "Unable to subscribe to changes with given parameters. \
         Please check Realtime is enabled for the given connect parameters: [{0}]"
    )]
    NotPublished(String),
    /// PostgreSQL, or a rule of the table `realtime.subscription`, rejects it.
    #[error(
        "Unable to subscribe to changes with given parameters. \
         An exception happened so please check your connect parameters: [{request}]. \
         Exception: {exception}"
    )]
    Database { request: String, exception: String },
}

impl ChangeRequest {
    /// Parses an entry as it was sent.
    pub fn parse(entry: &Value) -> Result<Self, ChangeRequestError> {
        let no_names = || ChangeRequestError::NoNames(inspect(entry));
        let fields = entry.as_object().ok_or_else(no_names)?;
        let name = |key: &str| fields.get(key).and_then(Value::as_str);
        let (schema, table) = match (name("schema"), name("table")) {
            (Some(schema), Some(table)) => (Name::parse(schema), Name::parse(table)),
            (Some(schema), None) => (Name::parse(schema), Name::Any),
            (None, Some(table)) => (Name::parse("public"), Name::parse(table)),
            (None, None) => return Err(no_names()),
        };
        let filters = match name("table") {
            Some(_) => parse_filter(fields)?,
            // A filter needs a table.
            None => Vec::new(),
        };
        let select = parse_select(fields)?;
        if select.is_some() && (schema == Name::Any || table == Name::Any) {
            return Err(ChangeRequestError::SelectWithWildcard);
        }
        Ok(Self {
            event: Event::parse(fields.get("event")),
            schema,
            table,
            filters,
            select,
        })
    }

    /// The error if no published table matches.
    pub fn not_published(&self) -> ChangeRequestError {
        ChangeRequestError::NotPublished(self.to_string())
    }

    /// The error if PostgreSQL rejects it.
    pub fn database_error(&self, error: &PgError) -> ChangeRequestError {
        let (code, message) = (error.sqlstate(), &error.message);
        let exception = match condition_name(code) {
            Some(name) => format!("ERROR {code} ({name}) {message}"),
            None => format!("ERROR {code} {message}"),
        };
        let request = self.to_string();
        ChangeRequestError::Database { request, exception }
    }
}

impl fmt::Display for ChangeRequest {
    /// As the reference server lists parameters in its errors.
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

fn parse_filter(fields: &Map<String, Value>) -> Result<Vec<Filter>, FilterError> {
    match fields.get("filter") {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::String(text)) => filter::parse(text),
        Some(other) => Err(FilterError::Syntax(vec![other.to_string()])),
    }
}

fn parse_select(fields: &Map<String, Value>) -> Result<Option<Vec<String>>, ChangeRequestError> {
    match fields.get("select") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Array(columns)) => {
            let columns = columns.iter().filter_map(Value::as_str);
            let columns: Vec<_> = columns.map(str::to_owned).collect();
            Ok(Some(columns).filter(|columns| !columns.is_empty()))
        }
        Some(_) => Err(ChangeRequestError::InvalidSelect),
    }
}

/// PostgreSQL's names of the SQLSTATEs that casts, comparisons and our own checks raise.
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
