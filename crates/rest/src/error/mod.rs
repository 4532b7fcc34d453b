//! Every error the REST service responds with (rest contract §7).
//!
//! Messages, details and hints are fixed by the wire contract. [`RestError::render`] turns an error
//! into a [`Rendered`] response; `sqlstate` does that for errors of PostgreSQL.

mod code;
mod reference;
mod render;
mod rendered;
mod sqlstate;

use plinth_db::{DbError, PgError};
use serde_json::Value;

pub use reference::error_reference;
pub(crate) use rendered::Rendered;

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
pub enum RestError {
    /// PGRST000: no connection to the database.
    #[error("Database connection error.")]
    Unreachable(String),
    /// PGRST001: the connection broke while the request was in flight.
    #[error("Database client error. Retrying the connection.")]
    ConnectionLost(String),
    /// PGRST002
    #[error("Could not query the database for the schema cache. Retrying.")]
    NoSchemaCache,
    /// PGRST003
    #[error("Timed out acquiring connection from connection pool.")]
    PoolTimeout,
    /// PGRSTX00: a result of an unexpected shape, which is a bug.
    #[error("{0}")]
    UnexpectedResult(String),

    /// PGRST100: `message` says what could not be parsed and where, `details` what was expected.
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
        /// The requested one.
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
        /// The name in the filter, order or limit.
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
        /// The embed to order by.
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
        /// Suggests a similar name, if there is one.
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
        /// Suggests a similar name, if there is one.
        hint: Option<String>,
    },
    /// PGRST203
    #[error("Could not choose the best candidate function between: {}", .0.join(", "))]
    AmbiguousFunction(Vec<String>),
    /// PGRST204
    #[error("Could not find the '{column}' column of '{table}' in the schema cache")]
    NoColumn {
        /// The name in the body.
        column: String,
        /// The relation.
        table: String,
    },
    /// PGRST205
    #[error("Could not find the table '{schema}.{table}' in the schema cache")]
    NoTable {
        /// The request's schema.
        schema: String,
        /// The name in the path.
        table: String,
        /// Suggests a similar name, if there is one.
        hint: Option<String>,
    },

    /// PGRST300
    #[error("Server lacks JWT secret")]
    NoJwtSecret,
    /// PGRST301
    #[error("{message}")]
    UndecodableToken {
        /// What is wrong with the token.
        message: String,
        /// Further details.
        details: Option<String>,
    },
    /// PGRST302
    #[error("Anonymous access is disabled")]
    AnonymousDisabled,
    /// PGRST303
    #[error("{0}")]
    InvalidClaims(String),

    /// PLINTH413: the body exceeds the body limit, in bytes.
    #[error("The body is larger than {0} bytes")]
    BodyTooLarge(u64),
    /// PGRST102: the connection failed while the body was read.
    #[error("The body could not be read: {0}")]
    UnreadableBody(String),
    /// PostgreSQL reported an error; its SQLSTATE decides status and body (§7.4, §7.5).
    #[error("{}", .error.message)]
    Postgres {
        /// As Postgres reported it.
        error: Box<PgError>,
        /// Whether the request ran as `db-anon-role`.
        is_anonymous: bool,
    },
}

/// Why a range is not satisfiable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RangeProblem {
    /// `limit=-1`.
    NegativeLimit,
    /// `Range: 5-2`.
    LowerAboveUpper,
    /// The offset is past the last row.
    OutOfBounds {
        /// The requested offset.
        offset: i64,
        /// The number of rows.
        total: i64,
    },
}

impl RestError {
    /// An UPDATE or DELETE without a filter, rejected by `safe_update` with the error of the
    /// PostgreSQL extension of that name.
    pub(crate) fn unfiltered(command: &str) -> Self {
        let message = format!("{command} requires a WHERE clause");
        Self::Postgres {
            error: Box::new(PgError::new("21000", message)),
            is_anonymous: false,
        }
    }

    /// From an error of the database layer.
    pub(crate) fn from_database(error: DbError, is_anonymous: bool) -> Self {
        match error {
            DbError::Unavailable(cause)
            | DbError::LoginRejected(cause)
            | DbError::Full(cause)
            | DbError::NotReady(cause) => Self::Unreachable(cause),
            DbError::Lost(cause) => Self::ConnectionLost(cause),
            DbError::PoolTimeout => Self::PoolTimeout,
            DbError::Postgres(error) => Self::Postgres {
                error,
                is_anonymous,
            },
            DbError::Misuse(cause) => Self::UnexpectedResult(cause),
        }
    }
}

#[cfg(test)]
mod tests;
