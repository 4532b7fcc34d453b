//! Results of queries.

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::RestError;
use super::modifiers::{Form, Rows};
use crate::http::HttpResponse;

/// The result of a query.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Response<T> {
    /// The rows, or whatever was requested.
    pub data: T,
    /// How many rows there are, where the query counted them.
    pub count: Option<u64>,
    /// The HTTP status.
    pub status: u16,
}

impl<T: DeserializeOwned> Response<T> {
    pub(super) fn read(response: &HttpResponse, form: &Form) -> Result<Self, RestError> {
        let (status, text) = match Outcome::of(response) {
            Outcome::Rows(text) => (response.status, text),
            Outcome::NoRows => (200, "[]".into()),
            Outcome::Nothing => (204, "".into()),
            Outcome::Failed => return Err(RestError::from_response(response)),
        };
        let unreadable = |error: serde_json::Error| RestError {
            message: format!("the response cannot be deserialized: {error}"),
            status,
            ..RestError::default()
        };
        let data = if form.is_text {
            serde_json::from_value(Value::String(text.into_owned())).map_err(unreadable)?
        } else if text.trim().is_empty() {
            serde_json::from_value(Value::Null).map_err(unreadable)?
        } else if form.rows == Rows::AtMostOne {
            serde_json::from_value(at_most_one(&text, status)?).map_err(unreadable)?
        } else {
            serde_json::from_str(&text).map_err(unreadable)?
        };
        Ok(Self {
            data,
            count: count_of(response),
            status,
        })
    }
}

enum Outcome<'a> {
    Rows(std::borrow::Cow<'a, str>),
    /// A 404 with a list is an empty list.
    NoRows,
    /// A 404 without a body is nothing at all.
    Nothing,
    Failed,
}

impl<'a> Outcome<'a> {
    fn of(response: &'a HttpResponse) -> Self {
        if response.is_success() {
            return Self::Rows(response.text());
        }
        if response.status != 404 {
            return Self::Failed;
        }
        match serde_json::from_slice::<Value>(&response.body) {
            Ok(Value::Array(_)) => Self::NoRows,
            _ if response.body.is_empty() => Self::Nothing,
            _ => Self::Failed,
        }
    }
}

/// The row of a list with at most one.
fn at_most_one(text: &str, status: u16) -> Result<Value, RestError> {
    let value: Value = serde_json::from_str(text).map_err(|error| RestError {
        message: format!("the response is not JSON: {error}"),
        status,
        ..RestError::default()
    })?;
    match value {
        Value::Array(mut rows) if rows.len() <= 1 => Ok(rows.pop().unwrap_or(Value::Null)),
        Value::Array(rows) => Err(RestError {
            code: "PGRST116".to_owned(),
            message: "JSON object requested, multiple (or no) rows returned".to_owned(),
            details: Some(format!(
                "Results contain {} rows, application/vnd.pgrst.object+json requires 1 row",
                rows.len()
            )),
            hint: None,
            status: 406,
        }),
        other => Ok(other),
    }
}

/// `Content-Range: 0-9/42` says 42.
fn count_of(response: &HttpResponse) -> Option<u64> {
    let (_, total) = response.header("content-range")?.split_once('/')?;
    total.parse().ok()
}
