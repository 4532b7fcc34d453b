//! What is written, by the functions alone.

use plinth_session::cookie::{Changes, CookieOptions, Cookies, Limits, Side, Write, flow_index};
use serde_json::{Value, json};

use crate::cookies::{cookie_header, cookies, encoding, operations, options, shown, title};
use crate::ledger::{Field, Vectors};

pub(crate) fn check_all(vectors: &Vectors) {
    check_writes(vectors);
    check_lengths(vectors);
    check_that_what_was_written_is_read(vectors);
}

#[test]
fn everything_is_written_byte_for_byte() {
    check_writes(&Vectors::load());
}

#[test]
fn everything_that_was_written_is_read() {
    check_that_what_was_written_is_read(&Vectors::load());
}

#[test]
fn lengths_are_those_of_the_reference() {
    check_lengths(&Vectors::load());
}

fn side(case: &Field<'_>) -> Side {
    match case.field("client").text() {
        "server" => Side::Server,
        "browser" => Side::Browser,
        other => panic!("{other}"),
    }
}

/// The changes of a sign-in or sign-out, as the reference makes them.
fn changes(case: &Field<'_>, request: &Cookies) -> Changes {
    let key = case.field("storage_key").text();
    let mut changes = Changes::default();
    match (
        case.field("action").text(),
        case.field("item_json").maybe_text(),
    ) {
        ("sign_in", Some(item)) => changes.set(key, item),
        ("sign_out", None) => {
            let index = request.item(&flow_index(key), &Limits::default());
            changes.remove_session(key, index.as_deref());
        }
        other => panic!("{other:?}"),
    }
    changes
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
    names.sort();
    names
}

fn check_writes(vectors: &Vectors) {
    for case in vectors.cases("write", 34) {
        let title = title(&case);
        let request = cookies(&case.field("request_cookies"));
        let options = options(case.field("cookie_options").read());

        let writes =
            changes(&case, &request).plan(&request, &options, encoding(&case), side(&case));

        let shown: Vec<Value> = writes.iter().map(|write| shown(write, &options)).collect();
        assert_eq!(json!(shown), *case.field("writes").read(), "{title}");
        let mut expected: Vec<String> =
            serde_json::from_value(case.field("cookies_after").read().clone()).unwrap();
        expected.sort();
        assert_eq!(names_after(&request, &writes), expected, "{title}");
        let names = writes
            .iter()
            .map(|write| (write.name.as_str(), write.is_removal));
        let calls = operations(case.field("storage_key").text(), names).len();
        assert_eq!(*case.field("set_all_calls").read(), json!(calls), "{title}");
    }
}

fn check_lengths(vectors: &Vectors) {
    for case in vectors.cases("write", 34) {
        let (bytes, length) = (case.field("item_bytes"), case.field("encoded_length"));
        let Some(item) = case.field("item_json").maybe_text() else {
            assert_eq!((bytes.read(), length.read()), (&Value::Null, &Value::Null));
            continue;
        };
        assert_eq!(*bytes.read(), json!(item.len()));
        let mut changes = Changes::default();
        changes.set("k", item);
        let options = CookieOptions::default();
        let writes = changes.plan(&Cookies::default(), &options, encoding(&case), Side::Server);
        let sum: usize = writes.iter().map(|write| write.wire_value().len()).sum();
        assert_eq!(*length.read(), json!(sum), "{}", title(&case));
    }
}

fn check_that_what_was_written_is_read(vectors: &Vectors) {
    for case in vectors.cases("write", 34) {
        let request = cookies(&case.field("request_cookies"));
        let mut jar: Vec<(&str, &str)> = request
            .iter()
            .map(|cookie| (cookie.name.as_str(), cookie.value.as_str()))
            .collect();
        for write in case.field("writes").items() {
            let name = write.field("name").text();
            jar.retain(|(known, _)| *known != name);
            if !write.field("remove").read().as_bool().unwrap() {
                jar.push((name, write.field("value").text()));
            }
        }

        // Through the header, as a browser sends it back.
        let read = Cookies::parse(&cookie_header(jar));

        let item = read.item(case.field("storage_key").text(), &Limits::default());
        let expected = case.field("item_json").maybe_text();
        assert_eq!(item.as_deref(), expected, "{}", title(&case));
    }
}
