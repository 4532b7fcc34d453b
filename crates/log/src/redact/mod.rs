//! Keeps secrets out of the log (console contract N132).
//!
//! Runs before anything is readable: the writer redacts before it serialises, a tail before it filters,
//! so a search can never confirm a guess. Names decide for fields and `name=value` pairs, patterns for
//! bare tokens. When in doubt a value is masked.

mod name;
mod text;

use std::borrow::Cow;

use serde_json::Value;

pub use name::is_secret_name;
pub use text::redact_text;

use crate::Record;

/// Replaces a secret.
pub const MASK: &str = "***";

/// Masks the password and the parameters named like secrets in a URL or in a path with a query.
///
/// ```
/// use plinth_log::redact::redact_url;
///
/// assert_eq!(redact_url("/auth/v1/verify?token=abc&type=signup"),
///            "/auth/v1/verify?token=***&type=signup");
/// ```
pub fn redact_url(url: &str) -> Cow<'_, str> {
    redact_text(url)
}

/// Masks everything in the record that looks like a secret.
pub fn redact_record(record: &mut Record) {
    redact_string(&mut record.message);
    if let Some(request_id) = &mut record.request_id {
        redact_string(request_id);
    }
    for (name, value) in record.fields.iter_mut() {
        redact_member(name, value);
    }
}

fn redact_member(name: &str, value: &mut Value) {
    if is_secret_name(name) {
        *value = Value::String(MASK.to_owned());
    } else {
        redact_value(value);
    }
}

fn redact_value(value: &mut Value) {
    match value {
        Value::String(text) => redact_string(text),
        Value::Array(items) => items.iter_mut().for_each(redact_value),
        Value::Object(members) => {
            for (name, value) in members {
                redact_member(name, value);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn redact_string(text: &mut String) {
    if let Cow::Owned(masked) = redact_text(text) {
        *text = masked;
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{Level, Source};

    #[test]
    fn fields_named_like_secrets_lose_their_value_at_any_depth() {
        let mut record = Record::new(Source::Api, Level::Info, "sent with sb_secret_abcdef")
            .request_id("sbp_0123456789")
            .field("Authorization", "Basic eDp5")
            .field("password", 12345)
            .field("path", "/rest/v1/a?apikey=abc&select=id")
            .field("status", 200)
            .field(
                "body",
                json!({"user": {"accessToken": "t", "name": "Ada"}, "list": ["sbp_x1"]}),
            );

        redact_record(&mut record);

        assert_eq!(record.message, "sent with ***");
        assert_eq!(record.request_id.as_deref(), Some("***"));
        assert_eq!(record.fields["Authorization"], "***");
        assert_eq!(record.fields["password"], "***");
        assert_eq!(record.fields["path"], "/rest/v1/a?apikey=***&select=id");
        assert_eq!(record.fields["status"], 200);
        let body = json!({"user": {"accessToken": "***", "name": "Ada"}, "list": ["***"]});
        assert_eq!(record.fields["body"], body);
    }
}
