//! Settings of the transaction, and what is made of its result.

use http::HeaderValue;
use serde_json::Value;

use super::*;

fn headers(pairs: &[(&'static str, &[u8])]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in pairs {
        headers.append(
            *name,
            HeaderValue::from_bytes(value).expect("a header's value"),
        );
    }
    headers
}

fn page_of(rows: i64) -> Page {
    Page {
        rows,
        ..page(Vec::new()).expect("an empty page")
    }
}

#[test]
fn headers_are_one_object_without_cookies() {
    let headers = headers(&[
        ("X-Kind", b"first"),
        ("cookie", b"a=1"),
        ("x-kind", b"last \"one\""),
        ("accept", b"\xff"),
    ]);

    let object: Value = serde_json::from_str(&headers_as_json(&headers)).expect("JSON");
    assert_eq!(
        object,
        serde_json::json!({ "x-kind": "last \"one\"", "accept": "\u{fffd}" })
    );
}

#[test]
fn cookies_are_one_object() {
    let cookies = |pairs: &[(&'static str, &[u8])]| -> Value {
        serde_json::from_str(&cookies_as_json(&headers(pairs))).expect("JSON")
    };

    assert_eq!(cookies(&[]), serde_json::json!({}));
    assert_eq!(
        cookies(&[("cookie", b"a=1; b = x=y ;; c"), ("cookie", b"d=2; a=3")]),
        serde_json::json!({ "a": "3", "b": "x=y", "c": "", "d": "2" })
    );
}

#[test]
fn exactly_one_row_is_singular() {
    assert!(check_singular(&page_of(1)).is_ok());
    for rows in [0, 2] {
        let error = check_singular(&page_of(rows)).expect_err("not singular");
        assert!(matches!(error, RestError::NotSingular(found) if found == rows));
    }
}

#[test]
fn more_rows_than_wanted_are_too_many() {
    assert!(check_affected(&page_of(5), None).is_ok());
    assert!(check_affected(&page_of(5), Some(5)).is_ok());
    let error = check_affected(&page_of(6), Some(5)).expect_err("too many");
    assert!(matches!(error, RestError::MaxAffected(6)));
}

#[test]
fn a_statement_that_gave_nothing_shows_nothing() {
    let page = page(Vec::new()).expect("an empty page");

    assert_eq!((page.total, page.rows), (None, 0));
    assert!(page.body.is_empty());
}
