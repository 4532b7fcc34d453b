//! Properties: for any input, the response is one of the contract.

use std::sync::OnceLock;

use http::{HeaderName, HeaderValue, Method, Request};
use proptest::{collection::vec, prelude::*, test_runner::TestRunner};
use tokio::runtime::Runtime;

use crate::support::{Call, Database, Reply, Requests, RestReply, TestApi};

/// SQLSTATEs that clients can cause and that §7.4 maps to 5xx: upserts with the same row twice,
/// transaction state, program limits, object state, timeouts, PL/pgSQL and internal errors.
const ALLOWED_SERVER_ERRORS: [&str; 7] = ["21", "25", "54", "55", "57014", "P0", "XX"];

fn world() -> &'static (Runtime, TestApi) {
    static WORLD: OnceLock<(Runtime, TestApi)> = OnceLock::new();
    WORLD.get_or_init(|| {
        let runtime = Runtime::new().expect("a runtime");
        let settings = [
            ("db-schemas", "library"),
            ("db-tx-end", "rollback"),
            ("db-plan-enabled", "true"),
            ("db-aggregates-enabled", "true"),
        ];
        let api = runtime
            .block_on(async { TestApi::standalone(Database::fresh().await, &settings).await });
        (runtime, api)
    })
}

/// Checks the property for a number of inputs, without regression files.
fn holds<S: Strategy>(
    cases: u32,
    strategy: S,
    property: impl Fn(S::Value) -> Result<(), TestCaseError>,
) {
    let config = ProptestConfig {
        cases,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let outcome = TestRunner::new(config).run(&strategy, property);
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
}

fn send(method: Method, path: &str, change: impl FnOnce(&mut Request<axum::body::Body>)) -> Reply {
    let (runtime, api) = world();
    let call = Call::new(api.router(), method, path).with(change);
    runtime.block_on(call.into_future())
}

fn is_of_the_contract(reply: &Reply) -> Result<(), TestCaseError> {
    let status = reply.status.as_u16();
    if status < 300 {
        return Ok(());
    }
    let is_head = reply.body.is_empty() && reply.header("proxy-status").is_some();
    prop_assert!(is_head || reply.has_error_body(), "{reply:#?}");
    if status >= 500 {
        let code = reply.header("proxy-status").unwrap_or_default();
        let code = code.trim_start_matches("PostgREST; error=");
        let is_allowed = ALLOWED_SERVER_ERRORS
            .iter()
            .any(|class| code.starts_with(class));
        prop_assert!(is_allowed, "{reply:#?}");
    }
    Ok(())
}

fn encoded(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("%{byte:02X}")).collect()
}

/// Words of the query language, in valid and invalid combinations.
fn phrase() -> impl Strategy<Value = String> {
    let words = [
        "id", "title", "authors", "books", "extra", "tags", "count", "(", ")", ",", ".", ":", "::",
        "->", "->>", "!", "inner", "left", "...", "*", "\"", "\\", "{", "}", "eq", "in", "is",
        "not", "null", "and", "or", "like", "fts", "(any)", "sum()", "asc", "desc", "1", "-1", "é",
        "\u{0}", "%", " ", "text", "int", "order", "limit",
    ];
    vec(proptest::sample::select(words.to_vec()), 0..14).prop_map(|words| words.concat())
}

#[test]
fn any_bytes_may_be_a_path_segment() {
    holds(60, vec(any::<u8>(), 0..24), |bytes| {
        for prefix in ["/", "/rpc/"] {
            let path = format!("{prefix}{}", encoded(&bytes));
            is_of_the_contract(&send(Method::GET, &path, |_| {}))?;
        }
        Ok(())
    });
}

#[test]
fn any_bytes_may_be_keys_and_values_of_a_query() {
    let pair = (vec(any::<u8>(), 0..16), vec(any::<u8>(), 0..16));
    holds(80, vec(pair, 1..3), |pairs| {
        let query: Vec<String> = pairs
            .iter()
            .map(|(key, value)| format!("{}={}", encoded(key), encoded(value)))
            .collect();
        let path = format!("/books?{}", query.join("&"));
        is_of_the_contract(&send(Method::GET, &path, |_| {}))
    });
}

#[test]
fn any_phrase_may_be_asked() {
    let keys = [
        "select",
        "order",
        "and",
        "or",
        "id",
        "title",
        "columns",
        "on_conflict",
        "authors.id",
    ];
    let key = proptest::sample::select(keys.to_vec());
    holds(
        400,
        (key, phrase(), any::<bool>()),
        |(key, value, is_write)| {
            let path = format!("/books?{key}={}", encoded(value.as_bytes()));
            let method = if is_write { Method::POST } else { Method::GET };
            let reply = send(method, &path, |request| *request.body_mut() = "[]".into());
            is_of_the_contract(&reply)
        },
    );
}

#[test]
fn any_bytes_may_stand_in_headers() {
    let names = [
        "prefer",
        "accept",
        "range",
        "accept-profile",
        "content-profile",
        "content-type",
        "authorization",
        "cookie",
        "origin",
        "x-anything",
    ];
    let value = vec(prop_oneof![Just(b'\t'), 0x20u8..0x7f, 0x80u8..=0xff], 0..30);
    let header = (proptest::sample::select(names.to_vec()), value);
    let methods = [
        Method::GET,
        Method::HEAD,
        Method::POST,
        Method::PATCH,
        Method::OPTIONS,
    ];
    let method = proptest::sample::select(methods.to_vec());
    holds(150, (method, vec(header, 1..4)), |(method, headers)| {
        let reply = send(method, "/books?id=eq.1", |request| {
            *request.body_mut() = "{\"price\":1}".into();
            for (name, value) in &headers {
                let value = HeaderValue::from_bytes(value).expect("no control characters");
                request
                    .headers_mut()
                    .append(HeaderName::from_static(name), value);
            }
        });
        is_of_the_contract(&reply)
    });
}

#[test]
fn any_bytes_may_be_a_body() {
    let types = [
        "application/json",
        "text/csv",
        "application/x-www-form-urlencoded",
        "text/plain",
        "application/octet-stream",
        "text/xml",
    ];
    let content_type = proptest::sample::select(types.to_vec());
    let paths = [
        "/books",
        "/with_defaults",
        "/rpc/add",
        "/rpc/shout",
        "/rpc/size_of",
        "/rpc/root_of",
    ];
    let path = proptest::sample::select(paths.to_vec());
    let jsonish =
        proptest::string::string_regex(r#"[\[\]{}",:a-c0-9 \\u]{0,24}"#).expect("a pattern");
    let body = prop_oneof![
        vec(any::<u8>(), 0..64),
        jsonish.prop_map(String::into_bytes)
    ];
    holds(
        200,
        (path, content_type, body),
        |(path, content_type, body)| {
            let reply = send(Method::POST, path, |request| {
                *request.body_mut() = body.clone().into();
                let value = HeaderValue::from_static(content_type);
                request.headers_mut().insert("content-type", value);
            });
            is_of_the_contract(&reply)
        },
    );
}
