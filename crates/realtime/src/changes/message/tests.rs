//! `data`, change by change.

use std::collections::HashSet;

use bytes::Bytes;
use plinth_db::replication::pgoutput::{
    OldRow, Relation, RelationColumn, ReplicaIdentity, Tuple, Value as Sent,
};
use serde_json::{Value, json};
use time::macros::datetime;

use super::*;
use crate::changes::{Column, Event, Table, json_value::Shape, table::Rights};

const AT: time::OffsetDateTime = datetime!(2025-11-03 10:32:55.123987 +1);

struct Fixture {
    table: Table,
    relation: Relation,
    rights: Rights,
}

/// A table `public.t` with `id int8` as its key, `note text`, and `odd`, which only the database can
/// convert.
fn fixture() -> Fixture {
    let mut columns = [("id", 20), ("note", 25), ("odd", 90_000)]
        .map(|(name, type_oid)| Column::for_test(name, type_oid));
    columns[0].is_primary_key = true;
    columns[0].type_name = "int8".to_owned();
    columns[1].type_name = "text".to_owned();
    columns[2].type_name = "odd_type".to_owned();
    let sent = columns.iter().map(|column| RelationColumn {
        name: column.name.clone(),
        is_key: column.is_primary_key,
        type_oid: column.type_oid,
        type_modifier: -1,
    });
    Fixture {
        relation: Relation {
            oid: 7,
            schema: "public".to_owned(),
            name: "t".to_owned(),
            identity: ReplicaIdentity::Default,
            columns: sent.collect(),
        },
        rights: rights(&["id", "note", "odd"]),
        table: Table {
            oid: 7,
            schema: "public".to_owned(),
            name: "notes".to_owned(),
            has_row_security: false,
            columns: columns.into(),
        },
    }
}

fn rights(columns: &[&str]) -> Rights {
    Rights {
        bypasses_row_security: false,
        readable_columns: columns.iter().copied().map(str::to_owned).collect(),
    }
}

/// `~` stands for an unchanged value, `-` for NULL.
fn tuple(values: [&str; 3]) -> Tuple {
    let value = |text: &str| match text {
        "~" => Sent::Unchanged,
        "-" => Sent::Null,
        text => Sent::Text(Bytes::copy_from_slice(text.as_bytes())),
    };
    Tuple::new(values.iter().map(|text| value(text)).collect())
}

impl Fixture {
    fn shown(&self) -> Shown<'_> {
        Shown {
            rights: &self.rights,
            select: None,
        }
    }

    fn insert(&self, new: [&str; 3]) -> ChangedRow<'_> {
        with_casts(ChangedRow::insert(
            &self.table,
            &self.relation,
            AT,
            &tuple(new),
        ))
    }

    fn update(&self, old: Option<OldRow>, new: [&str; 3]) -> Value {
        let new = tuple(new);
        let change = ChangedRow::update(&self.table, &self.relation, AT, old.as_ref(), &new);
        self.read(&with_casts(change))
    }

    fn delete(&self, old: &OldRow) -> Value {
        let change = ChangedRow::delete(&self.table, &self.relation, AT, old);
        self.read(&with_casts(change))
    }

    fn read(&self, change: &ChangedRow<'_>) -> Value {
        serde_json::from_slice(&data(change, self.shown())).expect("JSON")
    }
}

/// Sets what the database would return.
fn with_casts<'a>(
    (mut change, casts): (ChangedRow<'a>, Vec<crate::changes::queries::ValueCast>),
) -> ChangedRow<'a> {
    let values = casts.iter().map(|cast| {
        assert_eq!(cast.type_oid, 90_000);
        format!("{{\"odd\":\"{}\"}}", cast.text).into_bytes()
    });
    change.set_cast_values(&values.collect::<Vec<_>>());
    change
}

#[test]
fn an_insert_has_a_record_and_no_old_one() {
    let fixture = fixture();
    let change = fixture.insert(["9007199254740993", "a\"b", "x"]);
    let text = String::from_utf8(data(&change, fixture.shown())).expect("text");
    assert!(
        text.contains("\"id\":9007199254740993"),
        "all digits: {text}"
    );
    assert_eq!(
        fixture.read(&change),
        json!({
            "schema": "public",
            "table": "t",
            "type": "INSERT",
            "commit_timestamp": "2025-11-03T09:32:55.123Z",
            "columns": [
                {"name": "id", "type": "int8"},
                {"name": "note", "type": "text"},
                {"name": "odd", "type": "odd_type"},
            ],
            "errors": null,
            "record": {"id": 9_007_199_254_740_993_i64, "note": "a\"b", "odd": {"odd": "x"}},
        })
    );
}

#[test]
fn an_update_includes_the_key_although_it_was_not_sent() {
    let message = fixture().update(None, ["1", "b", "-"]);
    assert_eq!(message["type"], "UPDATE");
    assert_eq!(
        message["record"],
        json!({"id": 1, "note": "b", "odd": null})
    );
    assert_eq!(message["old_record"], json!({"id": 1}));
}

#[test]
fn a_changed_key_has_its_old_value() {
    let old = OldRow::Key(tuple(["1", "-", "-"]));
    let message = fixture().update(Some(old), ["2", "b", "-"]);
    assert_eq!(message["record"]["id"], 2);
    assert_eq!(
        message["old_record"],
        json!({"id": 1}),
        "null is no value here"
    );
}

#[test]
fn a_full_identity_includes_the_whole_old_row_even_with_row_security() {
    let mut fixture = fixture();
    fixture.table.has_row_security = true;
    let old = OldRow::Full(tuple(["1", "a", "-"]));
    let message = fixture.update(Some(old), ["1", "b", "-"]);
    assert_eq!(
        message["old_record"],
        json!({"id": 1, "note": "a", "odd": null})
    );
}

#[test]
fn an_unchanged_value_comes_from_the_old_row_or_is_absent() {
    let fixture = fixture();
    let message = fixture.update(None, ["1", "~", "-"]);
    assert_eq!(message["record"], json!({"id": 1, "odd": null}));
    let old = OldRow::Full(tuple(["1", "large", "-"]));
    let message = fixture.update(Some(old), ["1", "~", "-"]);
    assert_eq!(message["record"]["note"], "large");
}

#[test]
fn a_delete_has_an_old_record_only() {
    let fixture = fixture();
    let message = fixture.delete(&OldRow::Full(tuple(["1", "a", "-"])));
    assert_eq!(message["type"], "DELETE");
    assert_eq!(message.get("record"), None);
    assert_eq!(
        message["old_record"],
        json!({"id": 1, "note": "a", "odd": null})
    );
    let message = fixture.delete(&OldRow::Key(tuple(["1", "-", "-"])));
    assert_eq!(message["old_record"], json!({"id": 1}));
}

#[test]
fn with_row_security_a_delete_includes_the_key_only() {
    let mut fixture = fixture();
    fixture.table.has_row_security = true;
    let message = fixture.delete(&OldRow::Full(tuple(["1", "a", "-"])));
    assert_eq!(message["old_record"], json!({"id": 1}));
    let names = message["columns"].as_array().map(Vec::len);
    assert_eq!(names, Some(3), "the columns are the table's");
}

#[test]
fn columns_that_a_role_may_not_read_are_left_out() {
    let mut fixture = fixture();
    fixture.rights = rights(&["id"]);
    let old = OldRow::Full(tuple(["1", "a", "-"]));
    let message = fixture.update(Some(old), ["1", "b", "-"]);
    assert_eq!(message["columns"], json!([{"name": "id", "type": "int8"}]));
    assert_eq!(message["record"], json!({"id": 1}));
    assert_eq!(message["old_record"], json!({"id": 1}));
}

#[test]
fn a_selection_always_has_the_key() {
    let fixture = fixture();
    let select = HashSet::from(["note".to_owned()]);
    let shown = Shown {
        rights: &fixture.rights,
        select: Some(&select),
    };
    let bytes = data(&fixture.insert(["1", "a", "x"]), shown);
    let message: Value = serde_json::from_slice(&bytes).expect("JSON");
    assert_eq!(message["record"], json!({"id": 1, "note": "a"}));
    assert_eq!(message["columns"].as_array().map(Vec::len), Some(2));
}

#[test]
fn a_change_that_is_too_large_keeps_its_small_values() {
    let fixture = fixture();
    let change = fixture.insert(["1", &"x".repeat(1_100_000), "-"]);
    let message = fixture.read(&change);
    assert_eq!(message["errors"], json!(["Error 413: Payload Too Large"]));
    assert_eq!(message["record"], json!({"id": 1, "odd": null}));
    assert_eq!(message["commit_timestamp"], "2025-11-03T09:32:55.123Z");

    // Old and new count together, and 64 bytes of JSON are small.
    let half = "x".repeat(600_000);
    let old = OldRow::Full(tuple(["1", &half, "-"]));
    let message = fixture.update(Some(old), ["1", &half, &"y".repeat(54)]);
    assert_eq!(message["errors"], json!(["Error 413: Payload Too Large"]));
    assert_eq!(message["record"]["odd"]["odd"], "y".repeat(54));
    assert_eq!(message["old_record"], json!({"id": 1, "odd": null}));
    let fits = fixture.insert(["1", &half, "-"]);
    assert_eq!(fixture.read(&fits)["errors"], Value::Null);
}

#[test]
fn an_error_replaces_the_values() {
    let fixture = fixture();
    let read = |event, error| -> Value {
        let bytes = error_data(&fixture.relation, event, error);
        serde_json::from_slice(&bytes).expect("JSON")
    };
    assert_eq!(
        read(Event::Insert, ChangeError::NoPrimaryKey),
        json!({
            "schema": "public",
            "table": "t",
            "type": "INSERT",
            "commit_timestamp": null,
            "columns": [],
            "errors": ["Error 400: Bad Request, no primary key"],
            "record": {},
        })
    );
    let update = read(Event::Update, ChangeError::Unauthorized);
    assert_eq!(update["errors"], json!(["Error 401: Unauthorized"]));
    assert_eq!(update["old_record"], json!({}));
}

#[test]
fn a_column_that_the_catalog_no_longer_has_is_left_out() {
    let mut fixture = fixture();
    fixture.table.columns.pop();
    let message = fixture.read(&fixture.insert(["1", "a", "x"]));
    assert_eq!(message["record"], json!({"id": 1, "note": "a"}));
}

#[test]
fn invalid_utf_8_and_binary_values_do_no_harm() {
    let mut fixture = fixture();
    fixture.table.columns[2].shape = Shape::Text;
    let new = Tuple::new(vec![
        Sent::Text(Bytes::from_static(b"1")),
        Sent::Text(Bytes::from_static(b"a\xffb")),
        Sent::Binary(Bytes::from_static(b"\0")),
    ]);
    let (change, _) = ChangedRow::insert(&fixture.table, &fixture.relation, AT, &new);
    assert_eq!(
        fixture.read(&change)["record"],
        json!({"id": 1, "note": "a\u{fffd}b"})
    );
}
