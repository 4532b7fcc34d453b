//! Responses to errors of PostgreSQL.

use super::*;
use serde_json::Value::Null;

use plinth_db::PgError;

#[track_caller]
fn check_status(code: &str, message: &str, expected: u16) {
    let rendered = render(&PgError::new(code, message), false);
    assert_eq!(rendered.status.as_u16(), expected, "{code} {message}");
    assert_eq!(rendered.code, code);
}

#[test]
fn every_row_of_the_table() {
    for (codes, expected) in [
        ("08000 08P01 08006", 503),
        ("09000", 500),
        ("0L000 0LP01 0P000", 403),
        ("21000", 500),
        ("23503 23505", 409),
        ("23502 23514 23P01 22P02 22007 22023 22021", 400),
        ("25006", 405),
        ("25000 25P02", 500),
        ("28000 28P01", 403),
        ("2D000 38000 39000 3B000 40001 40P01", 500),
        ("53400", 500),
        ("53000 53300", 503),
        ("54000 54001 55000 55P03", 500),
        ("57P01", 503),
        ("57014 57P03", 500),
        ("58000 58P01 F0000 HV000", 500),
        ("P0001", 400),
        ("P0000 P0002 P0004", 500),
        ("XX000 XX001", 500),
        ("42883 42P01", 404),
        ("42P17", 500),
        ("42501", 403),
        ("42703 42P10 42704 42712 42601 428C9 01000", 400),
        ("PT402 ", 402),
        ("PT418", 418),
        ("PTABC PT000", 500),
    ] {
        for code in codes.split_whitespace() {
            check_status(code, "something", expected);
        }
    }
}

#[test]
fn some_messages_decide_too() {
    check_status("21000", "UPDATE requires a WHERE clause", 400);
    check_status("21000", "more than one row", 500);
    check_status("22023", "role \"nobody\" does not exist", 401);
    check_status("22023", "time zone \"x\" not recognized", 400);
    check_status("42883", "function xmlagg(integer) does not exist", 406);
    check_status("42883", "function f() does not exist", 404);
}

#[test]
fn those_without_a_token_may_still_show_one() {
    let denied = PgError::new("42501", "permission denied for table films");

    let anonymous = render(&denied, true);
    assert_eq!(anonymous.status, StatusCode::UNAUTHORIZED);
    assert_eq!(anonymous.headers, headers_of(StatusCode::UNAUTHORIZED));
    assert_eq!(anonymous.headers[0].1, "Bearer");
    let known = render(&denied, false);
    assert_eq!(known.status, StatusCode::FORBIDDEN);
    assert!(known.headers.is_empty());
}

#[test]
fn what_will_pass_may_be_tried_again() {
    let rendered = render(&PgError::new("53300", "too many connections"), false);
    assert_eq!(rendered.headers[0].0, http::header::RETRY_AFTER);
}

#[test]
fn words_of_postgres_are_passed_on() {
    let error = PgError {
        detail: Some("Key (id)=(1) already exists.".to_owned()),
        hint: Some("Use another.".to_owned()),
        ..PgError::new("23505", "duplicate key")
    };
    let rendered = render(&error, false);

    assert_eq!(rendered.message, "duplicate key");
    assert_eq!(rendered.details, "Key (id)=(1) already exists.");
    assert_eq!(rendered.hint, "Use another.");
    assert_eq!(rendered.reason, None);
    let bare = render(&PgError::new("P0001", "no"), false);
    assert_eq!((bare.details, bare.hint), (Null, Null));
}

#[test]
fn a_function_may_choose_the_status() {
    let rendered = render(&PgError::new("PT402", "Payment Required"), false);

    assert_eq!(rendered.status.as_u16(), 402);
    assert_eq!(rendered.reason.as_deref(), Some("Payment Required"));
    assert_eq!(rendered.code, "PT402");
}

#[test]
fn a_function_may_choose_the_whole_response() {
    let error = PgError {
        detail: Some(
            r#"{"status":332,"headers":{"X-Kind":"film"},"status_text":"Odd"}"#.to_owned(),
        ),
        ..PgError::new(
            "PGRST",
            r#"{"code":"123","message":"ABC","details":"DEF","hint":"XYZ"}"#,
        )
    };
    let rendered = render(&error, false);

    assert_eq!(rendered.status.as_u16(), 332);
    assert_eq!(rendered.reason.as_deref(), Some("Odd"));
    assert_eq!((&*rendered.code, &*rendered.message), ("123", "ABC"));
    assert_eq!(
        (rendered.details, rendered.hint),
        ("DEF".into(), "XYZ".into())
    );
    let headers: Vec<_> = rendered
        .headers
        .iter()
        .map(|(name, value)| (name.as_str(), value))
        .collect();
    assert_eq!(headers, [("x-kind", &HeaderValue::from_static("film"))]);
}

#[test]
fn only_code_message_status_and_headers_are_needed() {
    let error = PgError {
        detail: Some(r#"{"status":200,"headers":{}}"#.to_owned()),
        ..PgError::new("PGRST", r#"{"code":"1","message":"m"}"#)
    };
    let rendered = render(&error, true);

    assert_eq!(rendered.status, StatusCode::OK);
    assert_eq!(
        (rendered.details, rendered.hint, rendered.reason),
        (Null, Null, None)
    );
}

#[test]
fn a_choice_that_cannot_be_read_is_explained() {
    let check = |message: &str, detail: Option<&str>, details: &str, hint: &str| {
        let error = PgError {
            detail: detail.map(str::to_owned),
            ..PgError::new("PGRST", message)
        };
        let rendered = render(&error, false);
        assert_eq!(rendered.status.as_u16(), 500);
        assert_eq!(rendered.code, "PGRST121");
        assert_eq!(
            rendered.message,
            "Could not parse JSON in the \"RAISE SQLSTATE 'PGRST'\" error"
        );
        assert_eq!(rendered.details, details);
        assert_eq!(rendered.hint, hint);
    };
    let good = r#"{"code":"1","message":"m"}"#;
    let of_message = "MESSAGE must be a JSON object with obligatory keys: 'code', 'message' and \
                      optional keys: 'details', 'hint'.";
    let of_detail = "DETAIL must be a JSON object with obligatory keys: 'status', 'headers' and \
                     optional key: 'status_text'.";

    check(
        "no json",
        None,
        "Invalid JSON value for MESSAGE: 'no json'",
        of_message,
    );
    check(
        r#"{"code":"1"}"#,
        Some("{}"),
        r#"Invalid JSON value for MESSAGE: '{"code":"1"}'"#,
        of_message,
    );
    check(
        good,
        None,
        "DETAIL is missing in the RAISE statement",
        of_detail,
    );
    for detail in [
        "x",
        r#"{"status":200}"#,
        r#"{"status":"200","headers":{}}"#,
        r#"{"status":200,"headers":{"a":1}}"#,
    ] {
        check(
            good,
            Some(detail),
            &format!("Invalid JSON value for DETAIL: '{detail}'"),
            of_detail,
        );
    }
}
