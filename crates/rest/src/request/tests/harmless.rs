//! Properties: no input causes a panic.

use proptest::prelude::*;

use super::*;

/// Text made of the grammar's tokens, which gets further than random text.
fn nearly_grammar() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "select=", "order=", "and=", "or=", "not.", "columns=", "limit=", "rel.", "id", "&", "=",
        "(", ")", ",", ".", "eq.", "in.", "is.null", "->", "->>", "\"", "\\", "!", "inner", "::",
        ":", "...", "*", "count()", "sum()", "-1", "5", " ", "%22", "%", "{", "}", "fts(", "ñ",
    ]);
    prop::collection::vec(pieces, 0..24).prop_map(|pieces| pieces.concat())
}

fn any_method() -> impl Strategy<Value = Method> {
    prop::sample::select(vec![
        Method::GET,
        Method::POST,
        Method::PATCH,
        Method::PUT,
        Method::DELETE,
        Method::OPTIONS,
    ])
}

fn try_to_parse(method: &Method, path: &str, query: &str, headers: &HeaderMap, body: &[u8]) {
    let parts = RequestParts {
        method,
        path,
        query,
        headers,
    };
    let rules = RequestRules {
        schemas: &schemas(),
        root: RootMode::Document,
        allows_tx_override: true,
    };
    if let Err(error) = ApiRequest::parse(&parts, Bytes::copy_from_slice(body), &rules) {
        assert!(error.render().status.is_client_error());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn no_query_does_harm(method in any_method(), query in nearly_grammar(), is_call: bool) {
        let path = if is_call { "/rpc/f" } else { "/users" };
        try_to_parse(&method, path, &query, &HeaderMap::new(), b"{}");
    }

    #[test]
    fn no_text_does_harm(method in any_method(), path in ".*", query in ".*") {
        try_to_parse(&method, &path, &query, &HeaderMap::new(), b"{}");
        try_to_parse(&method, "/rpc/f", &query, &HeaderMap::new(), b"{}");
    }

    #[test]
    fn no_header_does_harm(
        values in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 6),
    ) {
        let names = ["accept", "content-type", "prefer", "range", "accept-profile", "content-profile"];
        let mut headers = HeaderMap::new();
        for (name, value) in names.into_iter().zip(&values) {
            if let Ok(value) = HeaderValue::from_bytes(value) {
                headers.insert(name, value);
            }
        }
        try_to_parse(&Method::GET, "/users", "", &headers, b"");
        try_to_parse(&Method::POST, "/users", "", &headers, b"{}");
    }

    #[test]
    fn no_body_does_harm(
        body in prop::collection::vec(any::<u8>(), 0..200),
        text in "[\\[\\]{},:\"a1 \n\r%&=+]*",
        type_at in 0..5usize,
    ) {
        let types = ["application/json", "text/csv", "application/x-www-form-urlencoded", "text/plain", "x/y"];
        let content_type = HeaderValue::from_static(types[type_at]);
        let headers = HeaderMap::from_iter([(http::header::CONTENT_TYPE, content_type)]);
        for path in ["/users", "/rpc/f"] {
            try_to_parse(&Method::POST, path, "", &headers, &body);
            try_to_parse(&Method::POST, path, "", &headers, text.as_bytes());
        }
    }
}
