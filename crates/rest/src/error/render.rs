//! Status, code, details, hint and headers of each error.

use http::{HeaderName, HeaderValue, StatusCode};
use serde_json::Value;

use super::{RangeProblem, Rendered, RestError, code::Code, rendered::retry_after, sqlstate};

impl RestError {
    /// The response for the client.
    pub(crate) fn render(&self) -> Rendered {
        let code = match self {
            Self::Postgres {
                error,
                is_anonymous,
            } => return sqlstate::render(error, *is_anonymous),
            Self::Unreachable(_) => Code::Unreachable,
            Self::ConnectionLost(_) => Code::ConnectionLost,
            Self::NoSchemaCache => Code::NoSchemaCache,
            Self::PoolTimeout => Code::PoolTimeout,
            Self::UnexpectedResult(_) => Code::UnexpectedResult,
            Self::Unparsable { .. } => Code::Unparsable,
            Self::RpcMethod(_) => Code::RpcMethod,
            Self::InvalidBody(_) => Code::InvalidBody,
            Self::InvalidRange(_) => Code::InvalidRange,
            Self::PutFilters => Code::PutFilters,
            Self::UnknownSchema { .. } => Code::UnknownSchema,
            Self::NotAcceptable(_) => Code::NotAcceptable,
            Self::NotEmbedded { .. } => Code::NotEmbedded,
            Self::ResponseHeaders => Code::ResponseHeaders,
            Self::ResponseStatus => Code::ResponseStatus,
            Self::PutRange => Code::PutRange,
            Self::PutMismatch => Code::PutMismatch,
            Self::NotSingular(_) => Code::NotSingular,
            Self::UnsupportedMethod(_) => Code::UnsupportedMethod,
            Self::RelatedOrder { .. } => Code::RelatedOrder,
            Self::InvalidPreferences(_) => Code::InvalidPreferences,
            Self::AggregatesDisabled => Code::AggregatesDisabled,
            Self::MaxAffected(_) => Code::MaxAffected,
            Self::InvalidPath => Code::InvalidPath,
            Self::RootDisabled => Code::RootDisabled,
            Self::NotImplemented(_) => Code::NotImplemented,
            Self::MaxAffectedNeedsSet => Code::MaxAffectedNeedsSet,
            Self::NoRelationship { .. } => Code::NoRelationship,
            Self::AmbiguousRelationship { .. } => Code::AmbiguousRelationship,
            Self::NoFunction { .. } => Code::NoFunction,
            Self::AmbiguousFunction(_) => Code::AmbiguousFunction,
            Self::NoColumn { .. } => Code::NoColumn,
            Self::NoTable { .. } => Code::NoTable,
            Self::NoJwtSecret => Code::NoJwtSecret,
            Self::UndecodableToken { .. } => Code::UndecodableToken,
            Self::AnonymousDisabled => Code::AnonymousDisabled,
            Self::InvalidClaims(_) => Code::InvalidClaims,
            Self::BodyTooLarge(_) => Code::BodyTooLarge,
            Self::UnreadableBody(_) => Code::InvalidBody,
        };
        let (details, hint) = self.details_and_hint();
        Rendered {
            status: code.status(),
            reason: None,
            code: code.as_str().to_owned(),
            message: self.to_string(),
            details,
            hint,
            headers: self.headers(code.status()),
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

    fn headers(&self, status: StatusCode) -> Vec<(HeaderName, HeaderValue)> {
        let challenge = match self {
            Self::AnonymousDisabled => "Bearer".to_owned(),
            Self::UndecodableToken { .. } | Self::InvalidClaims(_) => {
                format!("Bearer error=\"invalid_token\", error_description=\"{self}\"")
            }
            _ => return retry_after(status),
        };
        // A message may quote the token's header, which may hold characters not allowed here.
        let challenge =
            HeaderValue::from_str(&challenge).unwrap_or(HeaderValue::from_static("Bearer"));
        vec![(http::header::WWW_AUTHENTICATE, challenge)]
    }
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
