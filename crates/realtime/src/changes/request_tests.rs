//! Entries as clients send them.

use serde_json::json;

use super::*;
use crate::changes::Operator;

#[track_caller]
fn parsed(entry: Value) -> ChangeRequest {
    ChangeRequest::parse(&entry).expect("a valid entry")
}

#[track_caller]
fn check_error(entry: Value, expected: &str) {
    let error = ChangeRequest::parse(&entry).expect_err("an error");
    assert_eq!(error.to_string(), expected);
}

fn exactly(name: &str) -> Name {
    Name::Exactly(name.to_owned())
}

#[test]
fn events_are_read_in_any_case_and_unknown_ones_mean_all() {
    for (event, expected) in [
        (json!("INSERT"), Event::Insert),
        (json!("update"), Event::Update),
        (json!("Delete"), Event::Delete),
        (json!("*"), Event::All),
        (json!("TRUNCATE"), Event::All),
        (json!(7), Event::All),
        (Value::Null, Event::All),
    ] {
        let entry = json!({"event": event, "schema": "public"});
        assert_eq!(parsed(entry).event, expected, "{event}");
    }
    assert_eq!(parsed(json!({"schema": "public"})).event, Event::All);
}

#[test]
fn one_name_is_enough() {
    let both = parsed(json!({"schema": "s", "table": "t"}));
    assert_eq!((both.schema, both.table), (exactly("s"), exactly("t")));
    let schema = parsed(json!({"schema": "s"}));
    assert_eq!((schema.schema, schema.table), (exactly("s"), Name::Any));
    let table = parsed(json!({"table": "t", "schema": null}));
    assert_eq!(
        (table.schema, table.table),
        (exactly("public"), exactly("t"))
    );
    let all = parsed(json!({"schema": "*", "table": "*"}));
    assert_eq!((all.schema, all.table), (Name::Any, Name::Any));
}

#[test]
fn names_are_not_patterns() {
    assert!(exactly("a_b").matches("a_b") && !exactly("a_b").matches("axb"));
    assert!(!exactly("a%").matches("ab") && !exactly("A").matches("a"));
    assert!(Name::Any.matches("anything"));
}

#[test]
fn an_entry_without_names_is_an_error() {
    check_error(
        json!({"event": "*"}),
        "No subscription params provided. Please provide at least a `schema` or `table` \
         to subscribe to: %{\"event\" => \"*\"}",
    );
    check_error(
        json!("public"),
        "No subscription params provided. Please provide at least a `schema` or `table` \
         to subscribe to: \"public\"",
    );
}

#[test]
fn filters_and_selects_are_parsed() {
    let entry =
        json!({"schema": "s", "table": "t", "filter": " id=eq.1 ", "select": ["a", 1, "b"]});
    let request = parsed(entry);
    assert_eq!(request.filters.len(), 1);
    assert_eq!(request.filters[0].operator, Operator::Equal);
    assert_eq!(request.select, Some(vec!["a".to_owned(), "b".to_owned()]));

    for nothing in [json!(null), json!(""), json!("  ")] {
        let entry = json!({"schema": "s", "table": "t", "filter": nothing});
        assert_eq!(parsed(entry).filters, []);
    }
    for nothing in [json!(null), json!([]), json!([1, null])] {
        let entry = json!({"schema": "s", "table": "*", "select": nothing});
        assert_eq!(parsed(entry).select, None);
    }
}

#[test]
fn errors_name_the_invalid_part() {
    check_error(
        json!({"schema": "s", "table": "t", "filter": "id"}),
        "Error parsing `filter` params: [\"id\"]",
    );
    check_error(
        json!({"schema": "s", "table": "t", "filter": 7}),
        "Error parsing `filter` params: [\"7\"]",
    );
    check_error(
        json!({"schema": "s", "table": "t", "select": "id"}),
        "Error parsing `select` params: expected a list of column name strings, \
         e.g. select: [\"col1\", \"col2\"]",
    );
    for (schema, table) in [("*", json!("t")), ("s", json!("*")), ("s", Value::Null)] {
        check_error(
            json!({"schema": schema, "table": table, "select": ["id"]}),
            "Column selection is not supported for wildcard subscriptions. \
             Provide an explicit schema and table name.",
        );
    }
}

#[test]
fn the_error_for_an_unpublished_table_lists_the_parameters() {
    let request = parsed(json!({"event": "insert", "schema": "public", "table": "t"}));
    assert_eq!(
        request.not_published().to_string(),
        "Unable to subscribe to changes with given parameters. Please check Realtime is enabled \
         for the given connect parameters: \
         [event: INSERT, schema: public, table: t, filters: [], select: nil]"
    );
}

#[test]
fn a_database_error_is_included() {
    let entry = json!({"table": "test", "filter": "notacolumn=eq.123", "select": ["a"]});
    let error = PgError::new("P0001", "invalid column for filter notacolumn");
    assert_eq!(
        parsed(entry.clone()).database_error(&error).to_string(),
        "Unable to subscribe to changes with given parameters. An exception happened so please \
         check your connect parameters: [event: *, schema: public, table: test, \
         filters: [{\"notacolumn\", \"eq\", \"123\", false}], select: [\"a\"]]. \
         Exception: ERROR P0001 (raise_exception) invalid column for filter notacolumn"
    );
    let unnamed = parsed(entry)
        .database_error(&PgError::new("XX999", "odd"))
        .to_string();
    assert!(unnamed.ends_with("Exception: ERROR XX999 odd"), "{unnamed}");
}
