//! Database functions.

use http::Method;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::literal::argument;
use super::query::Query;
use super::{Count, RequestContext, Response, RestError};

/// A function call; see [`Client::rpc`](crate::Client::rpc). The result of a function that returns a table can be
/// filtered and ordered: [`Rpc::query`].
#[must_use = "nothing is called before `execute`"]
pub struct Rpc {
    query: Query,
    args: Value,
    method: Method,
}

impl Rpc {
    pub(super) fn new(context: RequestContext, function: &str, args: &impl Serialize) -> Self {
        let mut query = Query::new(context, Method::POST, "rpc/");
        query.path.push_str(function);
        let args = serde_json::to_value(args).unwrap_or_else(|error| {
            query.note(&format!("the arguments cannot be written as JSON: {error}"));
            Value::Null
        });
        Self {
            query,
            args,
            method: Method::POST,
        }
    }

    /// Calls by GET, for functions without side effects. Arguments go into the URL.
    pub fn get(mut self) -> Self {
        self.method = Method::GET;
        self
    }

    /// Requests no result rows.
    pub fn head(mut self) -> Self {
        self.method = Method::HEAD;
        self
    }

    /// Counts the rows of the result.
    pub fn count(mut self, how: Count) -> Self {
        self.query = self.query.count(how);
        self
    }

    /// Sets the timeout.
    pub fn timeout(mut self, limit: std::time::Duration) -> Self {
        self.query = self.query.timeout(limit);
        self
    }

    /// Sets a header.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.query = self.query.header(name, value);
        self
    }

    /// The result as a query to filter, order and limit.
    pub fn query(self) -> Query {
        let (mut query, args) = (self.query, self.args);
        // An object in a URL would arrive as text, so a body is used.
        let has_objects = args
            .as_object()
            .is_some_and(|args| args.values().any(holds_object));
        match self.method {
            Method::HEAD if has_objects => query.prefer("return=minimal").json(&args),
            Method::GET | Method::HEAD => {
                query.method = self.method;
                for (name, value) in args.as_object().into_iter().flatten() {
                    query = query.param(name, argument(value));
                }
                query
            }
            _ => {
                let empty = Value::Object(Default::default());
                query.json(if args.is_null() { &empty } else { &args })
            }
        }
    }

    /// The result's columns.
    pub fn select(self, columns: &str) -> Query {
        self.query().select(columns)
    }

    /// Calls the function.
    pub async fn execute(self) -> Result<Response<Value>, RestError> {
        self.query().execute().await
    }

    /// Calls the function and reads its result as this type.
    pub async fn execute_as<T: DeserializeOwned>(self) -> Result<Response<T>, RestError> {
        self.query().execute_as().await
    }
}

/// Whether a value is an object, or a list with one in it.
fn holds_object(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(holds_object),
        other => other.is_object(),
    }
}

/// The call without its arguments.
impl std::fmt::Debug for Rpc {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut rpc = formatter.debug_struct("Rpc");
        rpc.field("query", &self.query).finish_non_exhaustive()
    }
}
