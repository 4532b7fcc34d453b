//! A query under construction. Filters are in `filters`, order and form in `modifiers`.

use std::fmt;
use std::future::Future;
use std::time::Duration;

use http::Method;
use serde::Serialize;

use super::literal;
use super::modifiers::Form;
use super::{RequestContext, RestError};
use crate::call_options::{CallOptions, with_call_options};
use crate::http::Http;
use crate::runtime::{BoxFuture, MaybeSend};

/// A query. It is sent by [`Query::execute`] or [`Query::execute_as`].
#[must_use = "a query does nothing before `execute`"]
pub struct Query {
    pub(super) context: RequestContext,
    pub(super) method: Method,
    /// Below `/rest/v1/`, not yet encoded.
    pub(super) path: String,
    pub(super) params: Vec<(String, String)>,
    pub(super) clauses: Vec<Clause>,
    pub(super) prefer: Vec<String>,
    pub(super) body: Option<String>,
    pub(super) form: Form,
    pub(super) retry: bool,
    pub(super) http: Option<Http>,
    pub(super) cancel: Option<BoxFuture<'static, ()>>,
    pub(super) options: CallOptions,
    /// The first error in building it; reported when it is sent.
    pub(super) mistake: Option<RestError>,
}

/// Parts that later calls may modify.
#[derive(Clone, Debug)]
pub(super) enum Clause {
    Order {
        column: String,
        is_descending: bool,
        nulls: Option<&'static str>,
        on: Option<String>,
    },
    Limit {
        rows: u64,
        on: Option<String>,
    },
    Range {
        from: u64,
        rows: u64,
        on: Option<String>,
    },
    Or {
        filters: String,
        on: Option<String>,
    },
    TextSearch {
        column: String,
        query: String,
        operator: &'static str,
        config: Option<String>,
    },
}

with_call_options!(Query);

impl Query {
    pub(super) fn new(context: RequestContext, method: Method, path: &str) -> Self {
        Self {
            retry: context.base.retry,
            context,
            method,
            path: path.to_owned(),
            params: Vec::new(),
            clauses: Vec::new(),
            prefer: Vec::new(),
            body: None,
            form: Form::default(),
            http: None,
            cancel: None,
            options: CallOptions::default(),
            mistake: None,
        }
    }

    pub(super) fn open_api(context: RequestContext) -> Self {
        Self::new(context, Method::GET, "").accept("application/openapi+json")
    }

    pub(super) fn select(self, columns: &str) -> Self {
        let columns = literal::columns(if columns.is_empty() { "*" } else { columns });
        self.param("select", columns)
    }

    /// Returns the inserted, updated or deleted rows, with these columns.
    pub fn returning(self, columns: &str) -> Self {
        self.select(columns).prefer("return=representation")
    }

    /// Whether a read is retried after temporary server errors.
    pub fn retry(mut self, is_on: bool) -> Self {
        self.retry = is_on;
        self
    }

    /// Sends this query with another transport.
    pub fn http(mut self, http: Http) -> Self {
        self.http = Some(http);
        self
    }

    /// Cancels the query when this future completes. Dropping the query's own future does the same.
    pub fn cancel_on(mut self, done: impl Future<Output = ()> + MaybeSend + 'static) -> Self {
        self.cancel = Some(Box::pin(done));
        self
    }

    pub(super) fn param(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.params.push((name.into(), value.into()));
        self
    }

    pub(super) fn prefer(mut self, preference: impl Into<String>) -> Self {
        self.prefer.push(preference.into());
        self
    }

    pub(super) fn json(mut self, value: &impl Serialize) -> Self {
        match serde_json::to_string(value) {
            Ok(text) => self.body = Some(text),
            Err(error) => self.note(&format!("the value cannot be written as JSON: {error}")),
        }
        self
    }

    pub(super) fn note(&mut self, mistake: &str) {
        self.mistake
            .get_or_insert_with(|| RestError::local(mistake));
    }

    pub(super) fn effective_timeout(&self) -> Option<Duration> {
        self.options.timeout.or(self.context.base.timeout)
    }
}

/// The query without its values.
impl fmt::Debug for Query {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Query")
            .field("method", &self.method)
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}
