//! Every error as clients see it.

use serde_json::Value::Null;

use http::{HeaderName, HeaderValue};
use serde_json::json;

use super::*;

mod names;
mod requests;

#[track_caller]
fn check(error: RestError, status: u16, code: &str, message: &str, details: Value, hint: Value) {
    let rendered = error.render();
    let found = (
        rendered.status.as_u16(),
        &*rendered.code,
        &*rendered.message,
    );
    assert_eq!(found, (status, code, message));
    assert_eq!(rendered.details, details, "{code}");
    assert_eq!(rendered.hint, hint, "{code}");
    assert_eq!(rendered.reason, None, "{code}");
}

/// An error without details and hint.
#[track_caller]
fn check_bare(error: RestError, status: u16, code: &str, message: &str) {
    check(error, status, code, message, Null, Null);
}

fn text(text: &str) -> Value {
    text.into()
}

fn owned(text: &str) -> String {
    text.to_owned()
}

#[test]
fn the_database_is_not_available() {
    let cause = || owned("rejected");
    let message = "Database connection error.";
    check(
        RestError::Unreachable(cause()),
        503,
        "PGRST000",
        message,
        text("rejected"),
        Null,
    );
    let message = "Database client error. Retrying the connection.";
    check(
        RestError::ConnectionLost(cause()),
        503,
        "PGRST001",
        message,
        text("rejected"),
        Null,
    );
    let message = "Could not query the database for the schema cache. Retrying.";
    check_bare(RestError::NoSchemaCache, 503, "PGRST002", message);
    let message = "Timed out acquiring connection from connection pool.";
    check_bare(RestError::PoolTimeout, 504, "PGRST003", message);
    check_bare(
        RestError::UnexpectedResult(cause()),
        500,
        "PGRSTX00",
        "rejected",
    );
}

#[test]
fn the_database_s_own_wishes_are_malformed() {
    let message = "response.headers guc must be a JSON array composed of objects with a single \
                   key and a string value";
    check_bare(RestError::ResponseHeaders, 500, "PGRST111", message);
    let message = "response.status guc must be a valid status code";
    check_bare(RestError::ResponseStatus, 500, "PGRST112", message);
}

#[test]
fn headers_say_how_to_authenticate_or_retry() {
    let headers = |error: RestError| {
        let headers = error.render().headers.into_iter();
        let text = |(name, value): (HeaderName, HeaderValue)| {
            format!("{name}: {}", value.to_str().expect("text"))
        };
        headers.map(text).collect::<Vec<_>>()
    };

    assert_eq!(
        headers(RestError::AnonymousDisabled),
        ["www-authenticate: Bearer"]
    );
    assert_eq!(
        headers(RestError::InvalidClaims(owned("JWT expired"))),
        ["www-authenticate: Bearer error=\"invalid_token\", error_description=\"JWT expired\""]
    );
    let undecodable = RestError::UndecodableToken {
        message: owned("odd \n text"),
        details: None,
    };
    assert_eq!(headers(undecodable), ["www-authenticate: Bearer"]);
    assert_eq!(headers(RestError::NoSchemaCache), ["retry-after: 1"]);
    assert_eq!(
        headers(RestError::Unreachable(owned(""))),
        ["retry-after: 1"]
    );
    assert!(headers(RestError::PoolTimeout).is_empty());
    assert!(headers(RestError::InvalidPath).is_empty());
}

#[test]
fn a_body_has_four_keys_or_only_the_two_that_clients_need() {
    let rendered = RestError::NotSingular(0).render();

    assert_eq!(
        rendered.body(true),
        r#"{"code":"PGRST116","details":"The result contains 0 rows","hint":null,"message":"Cannot coerce the result to a single JSON object"}"#
    );
    assert_eq!(
        rendered.body(false),
        r#"{"code":"PGRST116","message":"Cannot coerce the result to a single JSON object"}"#
    );
}

#[test]
fn failures_of_the_database_layer_keep_their_cause() {
    let from = |error| RestError::from_database(error, false).render().code;

    assert_eq!(from(DbError::Unavailable(owned("gone"))), "PGRST000");
    assert_eq!(from(DbError::PoolTimeout), "PGRST003");
}
