//! The codes of errors that this service reports itself: one row each with HTTP status, meaning and
//! next step. Codes of PostgreSQL are in `sqlstate`.

use http::StatusCode;
use plinth_project::ErrorEntry;

macro_rules! codes {
    ($($name:ident $code:literal $status:ident: $meaning:literal, $next_step:literal;)*) => {
        /// An error code, which has one status.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum Code {
            $($name,)*
        }

        impl Code {
            const ALL: &[Self] = &[$(Self::$name,)*];

            /// As in the response body.
            pub(super) fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $code,)*
                }
            }

            pub(super) fn status(self) -> StatusCode {
                match self {
                    $(Self::$name => StatusCode::$status,)*
                }
            }

            /// What has happened, and what the reader can do about it.
            fn meaning_and_next_step(self) -> (&'static str, &'static str) {
                match self {
                    $(Self::$name => ($meaning, $next_step),)*
                }
            }
        }
    };
}

codes! {
    Unreachable "PGRST000" SERVICE_UNAVAILABLE:
        "There is no connection to the database.",
        "Retry after the time in Retry-After; if it persists, check that PostgreSQL runs and accepts connections.";
    ConnectionLost "PGRST001" SERVICE_UNAVAILABLE:
        "The connection to the database broke while the request was in flight.",
        "Retry reads; for writes first check whether they took effect.";
    NoSchemaCache "PGRST002" SERVICE_UNAVAILABLE:
        "The schema cache has not been loaded yet.",
        "Retry; if it persists, look in the server's log for why loading the schema cache fails.";
    PoolTimeout "PGRST003" GATEWAY_TIMEOUT:
        "No connection of the pool became free in time.",
        "Retry later, look for slow statements, or raise the size of the pool.";
    UnexpectedResult "PGRSTX00" INTERNAL_SERVER_ERROR:
        "The database returned a result of an unexpected shape.",
        "Report it as a bug, with the request and the server's log.";

    Unparsable "PGRST100" BAD_REQUEST:
        "A parameter of the query string or the path cannot be parsed.",
        "Correct it at the position in the message; `details` says what was expected.";
    RpcMethod "PGRST101" METHOD_NOT_ALLOWED:
        "Functions can only be called with GET, HEAD, POST and OPTIONS.",
        "Use POST, or GET for functions that change nothing.";
    InvalidBody "PGRST102" BAD_REQUEST:
        "The body is missing, malformed, or not of a supported Content-Type.",
        "Send valid JSON, CSV or a form, with the same keys in every object.";
    InvalidRange "PGRST103" RANGE_NOT_SATISFIABLE:
        "The requested range of rows is not valid, or its offset is past the last row.",
        "Correct limit, offset or the Range header as `details` says.";
    PutFilters "PGRST105" METHOD_NOT_ALLOWED:
        "A PUT does not address one row by its primary key.",
        "Filter by every column of the primary key with `eq`, and by nothing else.";
    UnknownSchema "PGRST106" NOT_ACCEPTABLE:
        "The requested schema is not exposed.",
        "Use a schema that `hint` lists in Accept-Profile or Content-Profile, or add it to `api.schemas`.";
    NotAcceptable "PGRST107" NOT_ACCEPTABLE:
        "No media type of the Accept header is available.",
        "Accept `application/json` or another available type.";
    NotEmbedded "PGRST108" BAD_REQUEST:
        "A filter, order or limit names an embed that is not in `select`.",
        "Add the embed to `select`, or use its alias as `hint` says.";
    ResponseHeaders "PGRST111" INTERNAL_SERVER_ERROR:
        "SQL has set `response.headers` to an invalid value.",
        "Set it to a JSON array of objects with one key and a string value each.";
    ResponseStatus "PGRST112" INTERNAL_SERVER_ERROR:
        "SQL has set `response.status` to an invalid value.",
        "Set it to the digits of an HTTP status.";
    PutRange "PGRST114" BAD_REQUEST:
        "A PUT has limit or offset.",
        "Remove them: a PUT writes one row.";
    PutMismatch "PGRST115" BAD_REQUEST:
        "The primary key in the body of a PUT differs from the one in its URL.",
        "Send the same values in both.";
    NotSingular "PGRST116" NOT_ACCEPTABLE:
        "Exactly one row was requested, but the result has none or several.",
        "Filter by a unique column, or use `maybeSingle` or a list.";
    UnsupportedMethod "PGRST117" METHOD_NOT_ALLOWED:
        "The HTTP method is not supported.",
        "Use GET, HEAD, POST, PATCH, PUT, DELETE or OPTIONS.";
    RelatedOrder "PGRST118" BAD_REQUEST:
        "Rows can be ordered by an embed only if each has at most one related row.",
        "Order by a many-to-one or one-to-one embed.";
    MalformedRaise "PGRST121" INTERNAL_SERVER_ERROR:
        "A function has raised SQLSTATE PGRST with a message or detail that is not valid JSON.",
        "Correct the RAISE statement as `details` and `hint` say.";
    InvalidPreferences "PGRST122" BAD_REQUEST:
        "The Prefer header has unknown preferences and `handling=strict`.",
        "Remove those that `details` lists, or use `handling=lenient`.";
    AggregatesDisabled "PGRST123" BAD_REQUEST:
        "Aggregate functions are disabled.",
        "Enable `plinth.rest.db_aggregates_enabled`, or aggregate in a view or function.";
    MaxAffected "PGRST124" BAD_REQUEST:
        "The request would affect more rows than `max-affected` allows; it was rolled back.",
        "Narrow the filters, or raise `max-affected`.";
    InvalidPath "PGRST125" NOT_FOUND:
        "The path is neither a relation nor a function.",
        "Use `/rest/v1/<relation>` or `/rest/v1/rpc/<function>`.";
    RootDisabled "PGRST126" NOT_FOUND:
        "The OpenAPI document at the root is disabled.",
        "Set `plinth.rest.openapi_mode` to another value than `disabled`.";
    NotImplemented "PGRST127" BAD_REQUEST:
        "The requested feature is not implemented.",
        "Use another query; `details` names the feature.";
    MaxAffectedNeedsSet "PGRST128" BAD_REQUEST:
        "`max-affected` was given for a function that does not return a set.",
        "Remove the preference, or let the function return SETOF or TABLE.";

    NoRelationship "PGRST200" BAD_REQUEST:
        "There is no relationship between the two relations.",
        "Check the names and foreign keys; reload the schema cache if the key is new.";
    AmbiguousRelationship "PGRST201" MULTIPLE_CHOICES:
        "There are several relationships between the two relations.",
        "Choose one as `hint` says, such as `relation!constraint(*)`.";
    NoFunction "PGRST202" NOT_FOUND:
        "There is no function with this name and these parameters.",
        "Check the names of function and parameters; reload the schema cache if it is new.";
    AmbiguousFunction "PGRST203" MULTIPLE_CHOICES:
        "Several overloads of the function have these parameters.",
        "Rename the overloads or their parameters.";
    NoColumn "PGRST204" BAD_REQUEST:
        "The body or the parameter `columns` names a column that does not exist.",
        "Check the name; reload the schema cache if the column is new.";
    NoTable "PGRST205" NOT_FOUND:
        "There is no table or view with this name in the schema.",
        "Check name and schema; reload the schema cache if it is new.";

    NoJwtSecret "PGRST300" INTERNAL_SERVER_ERROR:
        "A token was sent, but the server has no key to verify it.",
        "Configure `jwt-secret`.";
    UndecodableToken "PGRST301" UNAUTHORIZED:
        "The token or API key cannot be verified.",
        "Sign in again, or use a valid API key of this project.";
    AnonymousDisabled "PGRST302" UNAUTHORIZED:
        "The request has no token, or one without a role, and there is no anonymous role.",
        "Send a token with a role, or configure `db-anon-role`.";
    InvalidClaims "PGRST303" UNAUTHORIZED:
        "The token's claims are not valid, for example because it has expired.",
        "Refresh the token, or sign in again.";

    BodyTooLarge "PLINTH413" PAYLOAD_TOO_LARGE:
        "The body exceeds the body limit.",
        "Send fewer rows per request, or raise the limit.";
}

impl Code {
    fn entry(self) -> ErrorEntry {
        let (meaning, next_step) = self.meaning_and_next_step();
        ErrorEntry {
            code: self.as_str(),
            statuses: vec![self.status().as_u16()],
            meaning,
            next_step,
        }
    }

    pub(super) fn entries() -> impl Iterator<Item = ErrorEntry> {
        Self::ALL.iter().map(|code| code.entry())
    }
}
