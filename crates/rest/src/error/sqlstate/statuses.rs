//! The HTTP status of each SQLSTATE (rest contract §7.4), with meaning and next step.

use http::StatusCode;
use plinth_db::PgError;
use plinth_project::ErrorEntry;

/// The status of a SQLSTATE or of a class.
struct Mapping {
    /// A whole SQLSTATE, or a class with `*`.
    code: &'static str,
    status: StatusCode,
    /// Another status for errors that the SQLSTATE alone does not distinguish.
    exception: Option<(Exception, StatusCode)>,
    meaning: &'static str,
    next_step: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Exception {
    /// `safe_update` rejects a statement without a filter.
    NoWhereClause,
    /// The token's role does not exist.
    UnknownRole,
    /// A function was called for XML that does not return XML.
    NoXmlAggregate,
    /// The caller has no token, so one may help.
    Anonymous,
}

impl Exception {
    fn applies(self, error: &PgError, is_anonymous: bool) -> bool {
        let message = error.message.as_str();
        match self {
            Self::NoWhereClause => message.ends_with("requires a WHERE clause"),
            Self::UnknownRole => {
                message.starts_with("role ") && message.ends_with("does not exist")
            }
            Self::NoXmlAggregate => message.starts_with("function xmlagg("),
            Self::Anonymous => is_anonymous,
        }
    }
}

pub(super) fn status(error: &PgError, is_anonymous: bool) -> StatusCode {
    let code = error.sqlstate();
    if let Some(digits) = code.strip_prefix("PT") {
        return chosen_status(digits);
    }
    let Some(mapping) = find(code) else {
        return StatusCode::BAD_REQUEST;
    };
    match mapping.exception {
        Some((exception, status)) if exception.applies(error, is_anonymous) => status,
        _ => mapping.status,
    }
}

/// `RAISE SQLSTATE 'PT402'` chooses the status 402.
fn chosen_status(digits: &str) -> StatusCode {
    digits
        .parse()
        .ok()
        .and_then(|number: u16| StatusCode::from_u16(number).ok())
        .unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

/// A whole SQLSTATE wins over its class.
fn find(code: &str) -> Option<&'static Mapping> {
    let is_class_of = |mapping: &&Mapping| {
        let class = mapping.code.strip_suffix('*');
        class.is_some_and(|class| code.starts_with(class))
    };
    let mut mappings = MAPPINGS.iter();
    mappings
        .clone()
        .find(|mapping| mapping.code == code)
        .or_else(|| mappings.find(is_class_of))
}

/// Rows of the error reference.
pub(in crate::error) fn entries() -> impl Iterator<Item = ErrorEntry> {
    let chosen = ErrorEntry {
        code: "PT*",
        statuses: Vec::new(),
        meaning: "A function has raised an error whose last three digits are the HTTP status.",
        next_step: "See the message, and the function that raises it.",
    };
    let other = ErrorEntry {
        code: "*",
        statuses: vec![StatusCode::BAD_REQUEST.as_u16()],
        meaning: "PostgreSQL rejected the statement with another SQLSTATE, for example a value of \
                  the wrong type.",
        next_step: "See message, details and hint, which are PostgreSQL's own.",
    };
    MAPPINGS.iter().map(Mapping::entry).chain([chosen, other])
}

impl Mapping {
    fn entry(&self) -> ErrorEntry {
        let exception = self.exception.map(|(_, status)| status);
        let statuses = [Some(self.status), exception].into_iter().flatten();
        let mut statuses: Vec<u16> = statuses.map(|status| status.as_u16()).collect();
        statuses.sort_unstable();
        ErrorEntry {
            code: self.code,
            statuses,
            meaning: self.meaning,
            next_step: self.next_step,
        }
    }
}

macro_rules! mappings {
    ($($code:literal $status:ident $(($exception:ident $other:ident))?:
        $meaning:literal, $next_step:literal;)*) => {
        &[$(Mapping {
            code: $code,
            status: StatusCode::$status,
            exception: mappings!(@exception $($exception $other)?),
            meaning: $meaning,
            next_step: $next_step,
        },)*]
    };
    (@exception) => { None };
    (@exception $exception:ident $other:ident) => {
        Some((Exception::$exception, StatusCode::$other))
    };
}

const MAPPINGS: &[Mapping] = mappings! {
    "08*" SERVICE_UNAVAILABLE:
        "PostgreSQL reports a connection failure, for example to a foreign server.",
        "Retry; if it persists, check the connection that the message names.";
    "09*" INTERNAL_SERVER_ERROR:
        "A triggered action failed.",
        "Check the triggers of the relation.";
    "0L*" FORBIDDEN:
        "The role cannot grant this privilege.",
        "Use a role with the grant option.";
    "0P*" FORBIDDEN:
        "The role is not valid here.",
        "Check the role of the token.";
    "21000" INTERNAL_SERVER_ERROR (NoWhereClause BAD_REQUEST):
        "A statement affected a row twice or returned too many rows, or `safe_update` rejected an UPDATE or DELETE without a filter.",
        "Add a filter, or send each row of an upsert once.";
    "22023" BAD_REQUEST (UnknownRole UNAUTHORIZED):
        "A parameter has an invalid value, or the token's role does not exist.",
        "Correct the value, or create the role and grant it to `authenticator`.";
    "23503" CONFLICT:
        "The change violates a foreign key.",
        "Insert the referenced row first, or delete the referencing rows.";
    "23505" CONFLICT:
        "The change violates a unique constraint.",
        "Use other values, or an upsert with `resolution=merge-duplicates`.";
    "25006" METHOD_NOT_ALLOWED:
        "A request that must not write tried to, for example a GET of a volatile function.",
        "Use POST.";
    "25*" INTERNAL_SERVER_ERROR:
        "The transaction is in an invalid state.",
        "Check functions and triggers for transaction commands.";
    "28*" FORBIDDEN:
        "PostgreSQL rejected the authorization.",
        "Check the roles, and what is granted to them.";
    "2D*" INTERNAL_SERVER_ERROR:
        "A transaction cannot be ended here.",
        "Remove COMMIT and ROLLBACK from functions.";
    "38*" INTERNAL_SERVER_ERROR:
        "A function in another language failed.",
        "See the message, and correct the function.";
    "39*" INTERNAL_SERVER_ERROR:
        "A function in another language broke its protocol.",
        "See the message, and correct the function.";
    "3B*" INTERNAL_SERVER_ERROR:
        "A savepoint is not valid.",
        "Correct the function that uses it.";
    "40*" INTERNAL_SERVER_ERROR:
        "The transaction was rolled back because of a conflict with another one, such as a deadlock.",
        "Retry the request.";
    "53400" INTERNAL_SERVER_ERROR:
        "A limit of PostgreSQL's configuration was exceeded.",
        "Raise the limit that the message names.";
    "53*" SERVICE_UNAVAILABLE:
        "PostgreSQL lacks resources: connections, memory or disk.",
        "Retry later, and check disk space and the number of connections.";
    "54*" INTERNAL_SERVER_ERROR:
        "The statement exceeds a limit of PostgreSQL, such as its depth.",
        "Send a smaller or simpler request.";
    "55*" INTERNAL_SERVER_ERROR:
        "An object is not in the state that the statement needs, for example it is locked.",
        "Retry, or see the message.";
    "57P01" SERVICE_UNAVAILABLE:
        "PostgreSQL is shutting down.",
        "Retry after the time in Retry-After.";
    "57*" INTERNAL_SERVER_ERROR:
        "The statement was cancelled, for example by `statement_timeout` (57014).",
        "Make the statement faster, or raise the timeout of the role.";
    "58*" INTERNAL_SERVER_ERROR:
        "PostgreSQL met an error of the operating system.",
        "Check disk and log of the database.";
    "F0*" INTERNAL_SERVER_ERROR:
        "PostgreSQL's configuration file has an error.",
        "Check the log of the database.";
    "HV*" INTERNAL_SERVER_ERROR:
        "A foreign data wrapper failed.",
        "See the message, and check the foreign server.";
    "P0001" BAD_REQUEST:
        "A function has raised an exception.",
        "See the message, which the function's author wrote.";
    "P0*" INTERNAL_SERVER_ERROR:
        "A PL/pgSQL function failed, for example because a query returned no row.",
        "Correct the function.";
    "XX*" INTERNAL_SERVER_ERROR:
        "PostgreSQL met an internal error.",
        "Check the log of the database, and report it to PostgreSQL.";
    "42883" NOT_FOUND (NoXmlAggregate NOT_ACCEPTABLE):
        "There is no function or operator for these types, or XML was requested of a function that does not return it.",
        "Check the types in the request; filters may need another operator.";
    "42P01" NOT_FOUND:
        "A relation does not exist (any more).",
        "Check the name in views and functions; reload the schema cache after a drop.";
    "42P17" INTERNAL_SERVER_ERROR:
        "An object's definition is not valid, for example policies that refer to each other.",
        "Correct the definition that the message names.";
    "42501" FORBIDDEN (Anonymous UNAUTHORIZED):
        "The role lacks a privilege, or a row-level security policy rejected the change.",
        "Grant the privilege or change the policy; anonymous callers may need to sign in.";
};
