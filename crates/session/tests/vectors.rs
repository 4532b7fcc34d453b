//! Every vector that the reference package produced (client contract §2.8), in both directions:
//! what it wrote is written byte for byte, and what it wrote is read.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use plinth_session::cookie::{
    CHUNK_LENGTH, Changes, CookieOptions, Cookies, Encoding, Limits, SameSite, Scope, Side, Write,
    flow_index, is_chunk_like, remove_at_scopes, split,
};
use serde_json::{Map, Value, json};

fn vectors() -> Value {
    serde_json::from_str(include_str!("cookie-vectors.json")).unwrap()
}

fn cases(group: &str, count: usize) -> Vec<Value> {
    let cases = vectors()[group].as_array().unwrap().clone();
    assert_eq!(cases.len(), count, "{group}");
    cases
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

fn cookies(list: &Value) -> Cookies {
    let list = list.as_array().unwrap().iter();
    list.map(|cookie| (text(&cookie["name"]), text(&cookie["value"])))
        .collect()
}

/// What the caller of the reference package gave, as far as it means anything.
fn options(given: &Value) -> CookieOptions {
    let mut options = CookieOptions::default().secure(false);
    for (name, value) in given.as_object().unwrap_or(&Map::new()) {
        options = match name.as_str() {
            "domain" => options.domain(text(value)),
            "path" => options.path(text(value)),
            "secure" => options.secure(value.as_bool().unwrap()),
            "httpOnly" => options.http_only(value.as_bool().unwrap()),
            "sameSite" => options.same_site(match text(value) {
                "lax" => SameSite::Lax,
                "strict" => SameSite::Strict,
                other => panic!("{other}"),
            }),
            // Neither is an attribute, and the lifetime is fixed (C14).
            "name" | "maxAge" => options,
            other => panic!("{other}"),
        };
    }
    options
}

fn encoding(case: &Value) -> Encoding {
    match text(&case["cookie_encoding"]) {
        "base64url" => Encoding::Base64Url,
        "raw" => Encoding::Raw,
        other => panic!("{other}"),
    }
}

fn side(case: &Value) -> Side {
    match text(&case["client"]) {
        "server" => Side::Server,
        "browser" => Side::Browser,
        other => panic!("{other}"),
    }
}

/// The changes of a sign-in or sign-out, as the reference makes them.
fn changes(case: &Value, request: &Cookies) -> Changes {
    let key = text(&case["storage_key"]);
    let mut changes = Changes::default();
    if let Some(item) = case["item_json"].as_str() {
        changes.set(key, item);
        return changes;
    }
    let index = request.item(&flow_index(key), &Limits::default());
    changes.forget_session(key, index.as_deref());
    changes
}

fn shown(write: &Write, options: &CookieOptions) -> Value {
    let mut shown = json!({
        "name": write.name,
        "value": write.value,
        "remove": write.is_removal,
        "attributes": write.attributes(options),
    });
    if write.wire_value() != write.value.as_str() {
        shown["wire_value"] = json!(write.wire_value());
    }
    let header = format!(
        "{}={}{}",
        write.name,
        write.wire_value(),
        write.attributes(options)
    );
    assert_eq!(write.header(options), header);
    shown
}

fn without_options(writes: &Value) -> Value {
    let mut writes = writes.clone();
    for write in writes.as_array_mut().unwrap() {
        write.as_object_mut().unwrap().remove("options");
    }
    writes
}

/// The names that a browser holds after taking the writes.
fn names_after(request: &Cookies, writes: &[Write]) -> Vec<String> {
    let mut names: Vec<String> = request.iter().map(|cookie| cookie.name.clone()).collect();
    for write in writes {
        if write.is_removal {
            names.retain(|name| *name != write.name);
        } else if !names.contains(&write.name) {
            names.push(write.name.clone());
        }
    }
    names
}

#[test]
fn constants_are_those_of_the_reference() {
    assert_eq!(vectors()["chunk_size"], json!(CHUNK_LENGTH));
    let defaults = &vectors()["default_cookie_options"];
    assert_eq!(defaults["maxAge"], json!(CookieOptions::MAX_AGE_SECONDS));
    assert_eq!(options(&Value::Null), options(defaults));
}

#[test]
fn everything_is_written_byte_for_byte() {
    for case in cases("write", 34) {
        let name = text(&case["name"]);
        let request = cookies(&case["request_cookies"]);
        let options = options(&case["cookie_options"]);

        let writes =
            changes(&case, &request).plan(&request, &options, encoding(&case), side(&case));

        let shown: Vec<Value> = writes.iter().map(|write| shown(write, &options)).collect();
        assert_eq!(json!(shown), without_options(&case["writes"]), "{name}");
        let mut left = names_after(&request, &writes);
        let mut expected: Vec<String> =
            serde_json::from_value(case["cookies_after"].clone()).unwrap();
        left.sort();
        expected.sort();
        assert_eq!(left, expected, "{name}");
    }
}

#[test]
fn everything_that_was_written_is_read() {
    for case in cases("write", 34) {
        let name = text(&case["name"]);
        let request = cookies(&case["request_cookies"]);
        let mut jar: Vec<(String, String)> = request
            .iter()
            .map(|cookie| (cookie.name.clone(), cookie.value.clone()))
            .collect();
        for write in case["writes"].as_array().unwrap() {
            jar.retain(|(name, _)| *name != text(&write["name"]));
            if write["remove"] == json!(false) {
                let (name, value) = (text(&write["name"]), text(&write["value"]));
                jar.push((name.to_owned(), value.to_owned()));
            }
        }

        // Through the header, as a browser sends it back.
        let wire = |(name, value): &(String, String)| {
            let chunk = split(name, value);
            assert_eq!(chunk.len(), 1, "one cookie stays one cookie");
            let mut changes = Changes::default();
            changes.set(name, value);
            let writes = changes.plan(
                &Cookies::default(),
                &CookieOptions::default(),
                Encoding::Raw,
                Side::Server,
            );
            format!("{name}={}", writes[0].wire_value())
        };
        let header: Vec<String> = jar.iter().map(wire).collect();
        let read = Cookies::parse(&header.join("; "));

        let item = read.item(text(&case["storage_key"]), &Limits::default());
        assert_eq!(item.as_deref(), case["item_json"].as_str(), "{name}");
    }
}

#[test]
fn lengths_are_those_of_the_reference() {
    for case in cases("write", 34) {
        let Some(item) = case["item_json"].as_str() else {
            continue;
        };
        assert_eq!(case["item_bytes"], json!(item.len()));
        let mut changes = Changes::default();
        changes.set("k", item);
        let options = CookieOptions::default();
        let writes = changes.plan(&Cookies::default(), &options, encoding(&case), Side::Server);
        let length: usize = writes.iter().map(|write| write.wire_value().len()).sum();
        assert_eq!(case["encoded_length"], json!(length), "{}", case["name"]);
    }
}

#[test]
fn everything_is_read_as_the_reference_reads_it() {
    for case in cases("read", 23) {
        // Duplicate names come through the header there, and through the list here.
        let request = cookies(&case["request_cookies"]);
        let item = request.item(text(&case["storage_key"]), &Limits::default());
        assert_eq!(item.as_deref(), case["item"].as_str(), "{}", case["name"]);
    }
}

#[test]
fn headers_are_parsed_as_the_reference_parses_them() {
    for case in cases("cookie_header", 12) {
        let parsed = Cookies::parse(text(&case["header"]));
        let parsed: Vec<Value> = parsed
            .iter()
            .map(|cookie| json!({ "name": cookie.name, "value": cookie.value }))
            .collect();
        assert_eq!(json!(parsed), case["cookies"], "{}", case["header"]);
    }
}

#[test]
fn names_belong_to_keys_as_in_the_reference() {
    for case in cases("chunk_like", 11) {
        let found = is_chunk_like(text(&case["name"]), text(&case["key"]));
        assert_eq!(json!(found), case["chunk_like"], "{}", case["name"]);
    }
}

#[test]
fn base64url_is_that_of_the_reference() {
    for case in cases("base64url", 9) {
        let item = text(&case["text"]);
        let mut changes = Changes::default();
        changes.set("k", item);
        let options = CookieOptions::default();
        let writes = changes.plan(
            &Cookies::default(),
            &options,
            Encoding::Base64Url,
            Side::Server,
        );
        assert_eq!(
            writes[0].value,
            format!("base64-{}", text(&case["base64url"]))
        );
        let hex: String = item.bytes().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(json!(hex), case["utf8_hex"]);
    }
}

#[test]
fn keys_are_those_of_the_reference() {
    for case in cases("storage_key", 11) {
        let key = plinth_client::storage_key(text(&case["url"])).unwrap();
        assert_eq!(json!(key), case["storage_key"]);
        let url = plinth_client::ProjectUrl::parse(text(&case["url"])).unwrap();
        assert_eq!(json!(url.service("auth/v1")), case["auth_url"]);
    }
}

#[test]
fn old_places_are_cleared_as_in_the_reference() {
    for case in cases("clear_at_scopes", 1) {
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
        assert_eq!(json!(shown), without_options(&case["writes"]));
    }
}
