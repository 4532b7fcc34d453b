//! What is read, and how names and values look.

use plinth_session::cookie::{
    CHUNK_LENGTH, Changes, CookieOptions, Cookies, Encoding, Limits, Scope, Side, is_chunk_like,
    remove_at_scopes,
};
use serde_json::{Value, json};

use crate::cookies::{cookies, options, shown, title};
use crate::ledger::Vectors;

pub(crate) fn check_all(vectors: &Vectors) {
    check_provenance(vectors);
    check_constants(vectors);
    check_reading(vectors);
    check_headers(vectors);
    check_names(vectors);
    check_base64url(vectors);
    check_keys(vectors);
    check_old_places(vectors);
}

/// The vectors and the tests against the published package are of the same version.
#[test]
fn the_reference_is_the_one_that_the_cross_tests_install() {
    check_provenance(&Vectors::load());
}

#[test]
fn constants_are_those_of_the_reference() {
    check_constants(&Vectors::load());
}

#[test]
fn everything_is_read_as_the_reference_reads_it() {
    check_reading(&Vectors::load());
}

#[test]
fn headers_are_parsed_as_the_reference_parses_them() {
    check_headers(&Vectors::load());
}

#[test]
fn names_belong_to_keys_as_in_the_reference() {
    check_names(&Vectors::load());
}

#[test]
fn base64url_is_that_of_the_reference() {
    check_base64url(&Vectors::load());
}

#[test]
fn keys_are_those_of_the_reference() {
    check_keys(&Vectors::load());
}

#[test]
fn old_places_are_cleared_as_in_the_reference() {
    check_old_places(&Vectors::load());
}

fn check_provenance(vectors: &Vectors) {
    let lock = include_str!("../../../../tests/ssr/package-lock.json");
    let lock: Value = serde_json::from_str(lock).unwrap();
    let packages = vectors.field("generated_with");
    for (name, version) in packages.read().as_object().unwrap() {
        let installed = &lock["packages"][format!("node_modules/{name}")]["version"];
        assert_eq!(installed, version, "{name}");
    }
}

fn check_constants(vectors: &Vectors) {
    assert_eq!(*vectors.field("chunk_size").read(), json!(CHUNK_LENGTH));
    let defaults = vectors.field("default_cookie_options").read();
    assert_eq!(defaults["maxAge"], json!(CookieOptions::MAX_AGE_SECONDS));
    assert_eq!(options(&Value::Null), options(defaults));
}

fn check_reading(vectors: &Vectors) {
    for case in vectors.cases("read", 23) {
        let title = title(&case);
        // Duplicate names come through the header there, and through the list here.
        let request = cookies(&case.field("request_cookies"));
        let item = request.item(case.field("storage_key").text(), &Limits::default());
        let expected = case.field("item").maybe_text();
        assert_eq!(item.as_deref(), expected, "{title}");
    }
}

fn check_headers(vectors: &Vectors) {
    for case in vectors.cases("cookie_header", 12) {
        let header = case.field("header").text();
        let parsed = Cookies::parse(header);
        let parsed: Vec<Value> = parsed
            .iter()
            .map(|cookie| json!({ "name": cookie.name, "value": cookie.value }))
            .collect();
        assert_eq!(json!(parsed), *case.field("cookies").read(), "{header}");
    }
}

fn check_names(vectors: &Vectors) {
    for case in vectors.cases("chunk_like", 11) {
        let name = case.field("name").text();
        let found = is_chunk_like(name, case.field("key").text());
        assert_eq!(json!(found), *case.field("chunk_like").read(), "{name}");
    }
}

fn check_base64url(vectors: &Vectors) {
    for case in vectors.cases("base64url", 9) {
        let item = case.field("text").text();
        let mut changes = Changes::default();
        changes.set("k", item);
        let writes = changes.plan(
            &Cookies::default(),
            &CookieOptions::default(),
            Encoding::Base64Url,
            Side::Server,
        );
        let expected = format!("base64-{}", case.field("base64url").text());
        assert_eq!(writes[0].value, expected);
        let hex: String = item.bytes().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, case.field("utf8_hex").text());
    }
}

fn check_keys(vectors: &Vectors) {
    for case in vectors.cases("storage_key", 11) {
        let given = case.field("url").text();
        let key = plinth_client::storage_key(given).unwrap();
        assert_eq!(key, case.field("storage_key").text());
        let url = plinth_client::ProjectUrl::parse(given).unwrap();
        assert_eq!(url.service("auth/v1"), case.field("auth_url").text());
    }
}

fn check_old_places(vectors: &Vectors) {
    for case in vectors.cases("clear_at_scopes", 1) {
        let request: Cookies = [
            ("sb-plinthref-auth-token.0", "a"),
            ("sb-plinthref-auth-token.1", "b"),
            ("sb-plinthref-auth-token.2", "c"),
            ("theme", "dark"),
        ]
        .into_iter()
        .collect();
        let scope = |domain: Option<&str>, path: Option<&str>| Scope {
            domain: domain.map(str::to_owned),
            path: path.map(str::to_owned),
        };
        let scopes = [scope(Some(".old.example"), None), scope(None, Some("/app"))];
        let options = options(&Value::Null);

        let writes =
            remove_at_scopes("sb-plinthref-auth-token", &request, &scopes, &options).unwrap();

        let shown: Vec<Value> = writes.iter().map(|write| shown(write, &options)).collect();
        assert_eq!(json!(shown), *case.field("writes").read());
        // The reference leaves caches alone here; the layer does not (C26).
        assert_eq!(*case.field("headers").read(), json!({}));
    }
}
