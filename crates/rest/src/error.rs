//! Every failure the REST service can answer with (rest contract §7).
//!
//! Messages, details and hints are the wire contract's; [`Rendered`] is what becomes the body.

use http::{HeaderName, HeaderValue, StatusCode};
use plinth_db::{DbError, PgError};
use serde_json::{Value, json};

use crate::sqlstate;

/// A request that was refused.
#[derive(Debug, thiserror::Error)]
pub enum RestError {
    /// PGRST000: nobody answers at the database's address.
    #[error("Database connection error.")]
    Unreachable(String),
    /// PGRST001: the connection broke while the request was under way.
    #[error("Database client error. Retrying the connection.")]
    ConnectionLost(String),
    /// PGRST002
    #[error("Could not query the database for the schema cache. Retrying.")]
    NoSchemaCache,
    /// PGRST003
    #[error("Timed out acquiring connection from connection pool.")]
    PoolTimeout,
    /// PGRSTX00: a result of a shape that we did not ask for.
    #[error("{0}")]
    UnexpectedResult(String),

    /// PGRST100: `message` names what and where, `details` what was expected.
    #[error("{message}")]
    Unparsable {
        /// `"failed to parse filter (0)" (line 1, column 1)` and the like.
        message: String,
        /// `unexpected "0" expecting …`.
        details: String,
    },
    /// PGRST101
    #[error("Cannot use the {0} method on RPC")]
    RpcMethod(String),
    /// PGRST102
    #[error("{0}")]
    InvalidBody(String),
    /// PGRST103
    #[error("Requested range not satisfiable")]
    InvalidRange(RangeProblem),
    /// PGRST105
    #[error("Filters must include all and only primary key columns with 'eq' operators")]
    PutFilters,
    /// PGRST106
    #[error("Invalid schema: {schema}")]
    UnknownSchema {
        /// As asked for.
        schema: String,
        /// Those that are exposed.
        exposed: Vec<String>,
    },
    /// PGRST107
    #[error("None of these media types are available: {}", .0.join(", "))]
    NotAcceptable(Vec<String>),
    /// PGRST108
    #[error("'{name}' is not an embedded resource in this request")]
    NotEmbedded {
        /// As the filter, order or limit names it.
        name: String,
        /// Its alias, when only the alias may be used.
        alias: Option<String>,
    },
    /// PGRST111
    #[error(
        "response.headers guc must be a JSON array composed of objects with a single key and a \
         string value"
    )]
    ResponseHeaders,
    /// PGRST112
    #[error("response.status guc must be a valid status code")]
    ResponseStatus,
    /// PGRST114
    #[error("limit/offset querystring parameters are not allowed for PUT")]
    PutRange,
    /// PGRST115
    #[error("Payload values do not match URL in primary key column(s)")]
    PutMismatch,
    /// PGRST116
    #[error("Cannot coerce the result to a single JSON object")]
    NotSingular(i64),
    /// PGRST117
    #[error("Unsupported HTTP method: {0}")]
    UnsupportedMethod(String),
    /// PGRST118
    #[error("A related order on '{target}' is not possible")]
    RelatedOrder {
        /// The relation that is ordered.
        origin: String,
        /// The embed it is to be ordered by.
        target: String,
    },
    /// PGRST122
    #[error("Invalid preferences given with handling=strict")]
    InvalidPreferences(Vec<String>),
    /// PGRST123
    #[error("Use of aggregate functions is not allowed")]
    AggregatesDisabled,
    /// PGRST124
    #[error("Query result exceeds max-affected preference constraint")]
    MaxAffected(i64),
    /// PGRST125
    #[error("Invalid path specified in request URL")]
    InvalidPath,
    /// PGRST126
    #[error("Root endpoint metadata is disabled")]
    RootDisabled,
    /// PGRST127
    #[error("Feature not implemented")]
    NotImplemented(&'static str),
    /// PGRST128
    #[error(
        "Function must return SETOF or TABLE when max-affected preference is used with \
         handling=strict"
    )]
    MaxAffectedNeedsSet,

    /// PGRST200
    #[error("Could not find a relationship between '{origin}' and '{target}' in the schema cache")]
    NoRelationship {
        /// The relation that embeds.
        origin: String,
        /// The embed's name.
        target: String,
        /// Further details of the search.
        details: String,
        /// A near name, if any.
        hint: Option<String>,
    },
    /// PGRST201
    #[error(
        "Could not embed because more than one relationship was found for '{origin}' and '{target}'"
    )]
    AmbiguousRelationship {
        /// The relation that embeds.
        origin: String,
        /// The embed's name.
        target: String,
        /// One object per candidate.
        details: Value,
        /// How to name each of them.
        hint: String,
    },
    /// PGRST202
    #[error("{message}")]
    NoFunction {
        /// Names the function and its arguments.
        message: String,
        /// What was searched for.
        details: String,
        /// A near name, if any.
        hint: Option<String>,
    },
    /// PGRST203
    #[error("Could not choose the best candidate function between: {}", .0.join(", "))]
    AmbiguousFunction(Vec<String>),
    /// PGRST204
    #[error("Could not find the '{column}' column of '{table}' in the schema cache")]
    NoColumn {
        /// As the body names it.
        column: String,
        /// Of which relation.
        table: String,
    },
    /// PGRST205
    #[error("Could not find the table '{schema}.{table}' in the schema cache")]
    NoTable {
        /// The request's schema.
        schema: String,
        /// As the path names it.
        table: String,
        /// A near name, if any.
        hint: Option<String>,
    },

    /// PGRST300
    #[error("Server lacks JWT secret")]
    NoJwtSecret,
    /// PGRST301
    #[error("{message}")]
    UndecodableToken {
        /// What is wrong with it.
        message: String,
        /// More about it.
        details: Option<String>,
    },
    /// PGRST302
    #[error("Anonymous access is disabled")]
    AnonymousDisabled,
    /// PGRST303
    #[error("{0}")]
    InvalidClaims(String),

    /// A body over the limit, or one that broke off.
    #[error("{message}")]
    Body {
        /// 413, or 400.
        status: StatusCode,
        /// A sentence.
        message: String,
    },
    /// Postgres refused; status and body follow its SQLSTATE (§7.4, §7.5).
    #[error("{}", .error.message)]
    Postgres {
        /// As Postgres reported it.
        error: Box<PgError>,
        /// Whether the request ran as the role of those who show no token.
        is_anonymous: bool,
    },
    /// An UPDATE or DELETE of everything, which the safe-update guard refuses.
    #[error("{0} requires a WHERE clause")]
    Unfiltered(&'static str),
}

/// Why a range cannot be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RangeProblem {
    /// `limit=-1`.
    NegativeLimit,
    /// `Range: 5-2`.
    LowerAboveUpper,
    /// An offset behind the last row.
    OutOfBounds {
        /// The row asked for.
        offset: i64,
        /// The rows there are.
        total: i64,
    },
}

impl RangeProblem {
    fn details(self) -> String {
        match self {
            Self::NegativeLimit => "Limit should be greater than or equal to zero.".to_owned(),
            Self::LowerAboveUpper => "The lower boundary must be lower than or equal to the upper \
                                      boundary in the Range header."
                .to_owned(),
            Self::OutOfBounds { offset, total } => {
                format!("An offset of {offset} was requested, but there are only {total} rows.")
            }
        }
    }
}

/// An error as it goes out.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Rendered {
    pub(crate) status: StatusCode,
    /// The text behind the status, where the database chose one.
    pub(crate) reason: Option<String>,
    pub(crate) code: String,
    pub(crate) message: String,
    pub(crate) details: Value,
    pub(crate) hint: Value,
    /// Beside those that every error has.
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
}

impl RestError {
    /// From a failure of the database layer, for a request that ran as `role`.
    pub(crate) fn from_database(error: DbError, is_anonymous: bool) -> Self {
        match error {
            DbError::Unavailable(cause) | DbError::Full(cause) | DbError::NotReady(cause) => {
                Self::Unreachable(cause)
            }
            DbError::Lost(cause) => Self::ConnectionLost(cause),
            DbError::PoolTimeout => Self::PoolTimeout,
            DbError::Postgres(error) => Self::Postgres {
                error,
                is_anonymous,
            },
            DbError::Misuse(cause) => Self::UnexpectedResult(cause),
        }
    }

    /// What the client is told.
    pub(crate) fn render(&self) -> Rendered {
        if let Self::Postgres {
            error,
            is_anonymous,
        } = self
        {
            return sqlstate::render(error, *is_anonymous);
        }
        let (status, code) = self.status_and_code();
        let (details, hint) = self.details_and_hint();
        Rendered {
            status,
            reason: None,
            code: code.to_owned(),
            message: self.to_string(),
            details,
            hint,
            headers: self.headers(),
        }
    }

    #[rustfmt::skip]
    fn status_and_code(&self) -> (StatusCode, &'static str) {
        match self {
            Self::Unreachable(_) => (StatusCode::SERVICE_UNAVAILABLE, "PGRST000"),
            Self::ConnectionLost(_) => (StatusCode::SERVICE_UNAVAILABLE, "PGRST001"),
            Self::NoSchemaCache => (StatusCode::SERVICE_UNAVAILABLE, "PGRST002"),
            Self::PoolTimeout => (StatusCode::GATEWAY_TIMEOUT, "PGRST003"),
            Self::UnexpectedResult(_) => (StatusCode::INTERNAL_SERVER_ERROR, "PGRSTX00"),
            Self::Unparsable { .. } => (StatusCode::BAD_REQUEST, "PGRST100"),
            Self::RpcMethod(_) => (StatusCode::METHOD_NOT_ALLOWED, "PGRST101"),
            Self::InvalidBody(_) => (StatusCode::BAD_REQUEST, "PGRST102"),
            Self::InvalidRange(_) => (StatusCode::RANGE_NOT_SATISFIABLE, "PGRST103"),
            Self::PutFilters => (StatusCode::METHOD_NOT_ALLOWED, "PGRST105"),
            Self::UnknownSchema { .. } => (StatusCode::NOT_ACCEPTABLE, "PGRST106"),
            Self::NotAcceptable(_) => (StatusCode::NOT_ACCEPTABLE, "PGRST107"),
            Self::NotEmbedded { .. } => (StatusCode::BAD_REQUEST, "PGRST108"),
            Self::ResponseHeaders => (StatusCode::INTERNAL_SERVER_ERROR, "PGRST111"),
            Self::ResponseStatus => (StatusCode::INTERNAL_SERVER_ERROR, "PGRST112"),
            Self::PutRange => (StatusCode::BAD_REQUEST, "PGRST114"),
            Self::PutMismatch => (StatusCode::BAD_REQUEST, "PGRST115"),
            Self::NotSingular(_) => (StatusCode::NOT_ACCEPTABLE, "PGRST116"),
            Self::UnsupportedMethod(_) => (StatusCode::METHOD_NOT_ALLOWED, "PGRST117"),
            Self::RelatedOrder { .. } => (StatusCode::BAD_REQUEST, "PGRST118"),
            Self::InvalidPreferences(_) => (StatusCode::BAD_REQUEST, "PGRST122"),
            Self::AggregatesDisabled => (StatusCode::BAD_REQUEST, "PGRST123"),
            Self::MaxAffected(_) => (StatusCode::BAD_REQUEST, "PGRST124"),
            Self::InvalidPath => (StatusCode::NOT_FOUND, "PGRST125"),
            Self::RootDisabled => (StatusCode::NOT_FOUND, "PGRST126"),
            Self::NotImplemented(_) => (StatusCode::BAD_REQUEST, "PGRST127"),
            Self::MaxAffectedNeedsSet => (StatusCode::BAD_REQUEST, "PGRST128"),
            Self::NoRelationship { .. } => (StatusCode::BAD_REQUEST, "PGRST200"),
            Self::AmbiguousRelationship { .. } => (StatusCode::MULTIPLE_CHOICES, "PGRST201"),
            Self::NoFunction { .. } => (StatusCode::NOT_FOUND, "PGRST202"),
            Self::AmbiguousFunction(_) => (StatusCode::MULTIPLE_CHOICES, "PGRST203"),
            Self::NoColumn { .. } => (StatusCode::BAD_REQUEST, "PGRST204"),
            Self::NoTable { .. } => (StatusCode::NOT_FOUND, "PGRST205"),
            Self::NoJwtSecret => (StatusCode::INTERNAL_SERVER_ERROR, "PGRST300"),
            Self::UndecodableToken { .. } => (StatusCode::UNAUTHORIZED, "PGRST301"),
            Self::AnonymousDisabled => (StatusCode::UNAUTHORIZED, "PGRST302"),
            Self::InvalidClaims(_) => (StatusCode::UNAUTHORIZED, "PGRST303"),
            Self::Body { status, .. } if *status == StatusCode::PAYLOAD_TOO_LARGE => {
                (*status, "PLINTH413")
            }
            Self::Body { status, .. } => (*status, "PGRST102"),
            Self::Unfiltered(_) => (StatusCode::BAD_REQUEST, "21000"),
            Self::Postgres { .. } => unreachable!("rendered by its SQLSTATE"),
        }
    }

    fn details_and_hint(&self) -> (Value, Value) {
        let some = |text: &str| Value::from(text);
        let maybe = |text: &Option<String>| text.as_deref().map_or(Value::Null, Value::from);
        match self {
            Self::Unreachable(cause) | Self::ConnectionLost(cause) => (some(cause), Value::Null),
            Self::Unparsable { details, .. } => (some(details), Value::Null),
            Self::InvalidRange(problem) => (some(&problem.details()), Value::Null),
            Self::UnknownSchema { exposed, .. } => {
                let hint = format!(
                    "Only the following schemas are exposed: {}",
                    exposed.join(", ")
                );
                (Value::Null, some(&hint))
            }
            Self::NotEmbedded { name, alias: None } => {
                let hint =
                    format!("Verify that '{name}' is included in the 'select' query parameter.");
                (Value::Null, some(&hint))
            }
            Self::NotEmbedded {
                name,
                alias: Some(alias),
            } => (
                some("Target names are not allowed in filters if they have an alias"),
                some(&format!(
                    "Change '{name}' to '{alias}' in filters, orders or limits."
                )),
            ),
            Self::NotSingular(rows) => (
                some(&format!("The result contains {rows} rows")),
                Value::Null,
            ),
            Self::RelatedOrder { origin, target } => {
                let details = format!(
                    "'{origin}' and '{target}' do not form a many-to-one or one-to-one \
                     relationship"
                );
                (some(&details), Value::Null)
            }
            Self::InvalidPreferences(invalid) => {
                let details = format!("Invalid preferences: {}", invalid.join(", "));
                (some(&details), Value::Null)
            }
            Self::MaxAffected(rows) => {
                (some(&format!("The query affects {rows} rows")), Value::Null)
            }
            Self::NotImplemented(what) => (some(what), Value::Null),
            Self::NoRelationship { details, hint, .. } => (some(details), maybe(hint)),
            Self::AmbiguousRelationship { details, hint, .. } => (details.clone(), some(hint)),
            Self::NoFunction { details, hint, .. } => (some(details), maybe(hint)),
            Self::AmbiguousFunction(_) => (
                Value::Null,
                some(
                    "Try renaming the parameters or the function itself in the database so \
                     function overloading can be resolved",
                ),
            ),
            Self::NoTable { hint, .. } => (Value::Null, maybe(hint)),
            Self::UndecodableToken { details, .. } => (maybe(details), Value::Null),
            _ => (Value::Null, Value::Null),
        }
    }

    fn headers(&self) -> Vec<(HeaderName, HeaderValue)> {
        let challenge = match self {
            Self::AnonymousDisabled => "Bearer".to_owned(),
            Self::UndecodableToken { .. } | Self::InvalidClaims(_) => {
                format!("Bearer error=\"invalid_token\", error_description=\"{self}\"")
            }
            _ => return self.retry_after(),
        };
        // A message may quote the token's own header, which may hold anything.
        let challenge =
            HeaderValue::from_str(&challenge).unwrap_or(HeaderValue::from_static("Bearer"));
        vec![(http::header::WWW_AUTHENTICATE, challenge)]
    }

    fn retry_after(&self) -> Vec<(HeaderName, HeaderValue)> {
        let (status, _) = self.status_and_code();
        match status {
            StatusCode::SERVICE_UNAVAILABLE => {
                vec![(http::header::RETRY_AFTER, HeaderValue::from_static("1"))]
            }
            _ => Vec::new(),
        }
    }
}

impl Rendered {
    /// The four keys, or the first two where clients are to learn no more.
    pub(crate) fn body(&self, is_verbose: bool) -> String {
        let body = match is_verbose {
            true => json!({
                "code": self.code,
                "details": self.details,
                "hint": self.hint,
                "message": self.message,
            }),
            false => json!({ "code": self.code, "message": self.message }),
        };
        body.to_string()
    }
}

#[cfg(test)]
mod tests;
