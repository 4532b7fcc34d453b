//! Edits: what is stored comes back, and nobody overwrites what somebody else wrote.

use plinth_query::{NewValue, QueryError};
use plinth_testkit::Sql as _;
use serde_json::json;

use crate::support::{Rows, request, row};

const PEOPLE: &str = "
    create table people (
        id int generated always as identity primary key,
        name varchar(5) not null, note text default 'none',
        upper text generated always as (upper(name)) stored,
        age int check (age > 0), email text, constraint one_email unique (email));
    insert into people (name) values ('Ada'), ('Bob')";

#[tokio::test]
async fn inserted_rows_come_back_as_they_are_stored() {
    let rows = Rows::new(PEOPLE).await;
    rows.db
        .execute(
            "create function polish() returns trigger language plpgsql as
             $$ begin update people set note = note || '!' where id = new.id; return null; end $$;
             create trigger polish after insert on people for each row execute function polish()",
        )
        .await;
    let written = rows
        .insert(json!({
            "relation": { "name": "people" },
            "rows": [{ "name": "Cleo", "note": "", "age": "7" },
                     { "name": "Dan", "note": { "default": true }, "age": null }],
        }))
        .await
        .expect("written");

    assert_eq!(written.affected, 2);
    assert_eq!(
        written.set.rows,
        [
            row([
                Some("3"),
                Some("Cleo"),
                Some("!"),
                Some("CLEO"),
                Some("7"),
                None
            ]),
            row([
                Some("4"),
                Some("Dan"),
                Some("none!"),
                Some("DAN"),
                None,
                None
            ]),
        ]
    );
    assert_eq!(written.set.row_keys, [row([Some("3")]), row([Some("4")])]);
    assert_eq!(written.set.versions.len(), 2);
}

#[tokio::test]
async fn rows_of_defaults_and_given_identities_can_be_inserted() {
    let rows = Rows::new(
        "create table d (id int generated always as identity primary key, a int default 5);
         create table nothing (); create table keyless (a int)",
    )
    .await;
    let body = json!({ "relation": { "name": "d" }, "rows": [{}, {}] });
    assert_eq!(rows.insert(body).await.expect("written").affected, 2);
    let body = json!({ "relation": { "name": "d" }, "rows": [{ "id": "70" }], "overriding": true });
    let written = rows.insert(body).await.expect("written");
    assert_eq!(written.set.rows, [row([Some("70"), Some("5")])]);
    let body = json!({ "relation": { "name": "nothing" }, "rows": [{}] });
    assert_eq!(rows.insert(body).await.expect("written").affected, 1);
    let body = json!({ "relation": { "name": "keyless" }, "rows": [{ "a": "1" }] });
    assert_eq!(
        rows.insert(body).await.expect("written").set.rows,
        [row([Some("1")])]
    );
}

#[tokio::test]
async fn an_update_of_an_old_version_shows_the_present_row() {
    let rows = Rows::new(PEOPLE).await;
    let page = rows.page(json!({ "relation": { "name": "people" } })).await;
    let version = &page.set.versions[0];
    let change = json!({ "relation": { "name": "people" },
        "rows": [{ "key": { "id": "1" }, "version": version, "values": { "note": "mine" } }] });

    let written = rows.update(change.clone()).await.expect("written");
    assert_eq!(written.set.rows[0][2].as_deref(), Some("mine"));
    assert_ne!(written.set.versions[0], *version);

    match rows.update(change.clone()).await.expect_err("changed") {
        QueryError::Changed(changed) => {
            assert_eq!(changed.index, 0);
            assert_eq!(changed.current.rows[0][2].as_deref(), Some("mine"));
            assert_eq!(changed.current.versions, written.set.versions);
        }
        other => panic!("{other}"),
    }
    rows.db.execute("delete from people where id = 1").await;
    match rows.update(change).await.expect_err("gone") {
        QueryError::Changed(changed) => assert!(changed.current.rows.is_empty()),
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn several_updates_are_all_or_none() {
    let rows = Rows::new(PEOPLE).await;
    let body = json!({ "relation": { "name": "people" }, "rows": [
        { "key": { "id": "1" }, "values": { "note": "x", "age": { "default": true } } },
        { "key": { "id": "9" }, "values": { "note": "x" } },
    ] });
    match rows.update(body).await.expect_err("no such row") {
        QueryError::Changed(changed) => assert_eq!(changed.index, 1),
        other => panic!("{other}"),
    }
    let changed = rows
        .db
        .count("select count(*) from people where note = 'x'")
        .await;
    assert_eq!(changed, 0);
}

#[tokio::test]
async fn a_key_can_be_changed() {
    let rows = Rows::new(
        "create table t (a int, b text, primary key (a, b)); insert into t values (1, 'x')",
    )
    .await;
    let body = json!({ "relation": { "name": "t" },
        "rows": [{ "key": { "a": "1", "b": "x" }, "values": { "a": "2" } }] });
    let written = rows.update(body).await.expect("written");
    assert_eq!(written.set.rows, [row([Some("2"), Some("x")])]);
}

#[tokio::test]
async fn errors_of_the_server_name_their_columns() {
    let rows = Rows::new(PEOPLE).await;
    rows.db
        .execute("update people set email = 'a@example.com' where id = 1")
        .await;
    for (values, code, columns, constraint) in [
        (json!({ "note": "x" }), "23502", &["name"][..], None),
        (
            json!({ "name": "x", "age": "old" }),
            "22P02",
            &["age"],
            None,
        ),
        (
            json!({ "name": "x", "age": "-1" }),
            "23514",
            &[],
            Some("people_age_check"),
        ),
        (
            json!({ "name": "x", "email": "a@example.com" }),
            "23505",
            &[],
            Some("one_email"),
        ),
        (json!({ "name": "longer than five" }), "22001", &[], None),
    ] {
        let body = json!({ "relation": { "name": "people" }, "rows": [values] });
        match rows.insert(body).await.expect_err("rejected") {
            QueryError::Rejected(rejection) => {
                assert_eq!(rejection.sqlstate, code, "{values}");
                assert_eq!(rejection.columns, columns, "{values}");
                assert_eq!(rejection.constraint.as_deref(), constraint, "{values}");
            }
            other => panic!("{values}: {other}"),
        }
    }
    let mut tx = rows.begin().await;
    let people = request(json!({ "name": "people" }));
    let columns = plinth_query::constraint_columns(&mut tx, &people, "one_email").await;
    assert_eq!(columns.expect("columns"), ["email"]);
    let columns = plinth_query::constraint_columns(&mut tx, &people, "people_age_check").await;
    assert_eq!(columns.expect("columns"), ["age"]);
}

#[tokio::test]
async fn deleted_rows_come_back_and_can_be_inserted_again() {
    let rows = Rows::new(PEOPLE).await;
    let body = json!({ "relation": { "name": "people" }, "rows": [{ "key": { "id": "2" } }] });
    let deleted = rows.delete(body.clone()).await.expect("deleted");
    assert_eq!(deleted.affected, 1);
    assert_eq!(deleted.set.rows[0][1].as_deref(), Some("Bob"));
    assert!(matches!(
        rows.delete(body).await,
        Err(QueryError::Changed(_))
    ));

    let body = json!({ "relation": { "name": "people" },
        "rows": [{ "id": "2", "name": "Bob", "note": "none" }], "overriding": true });
    assert_eq!(
        rows.insert(body).await.expect("written").set.rows[0][0].as_deref(),
        Some("2")
    );
}

#[tokio::test]
async fn all_rows_are_deleted_only_when_asked_for_plainly() {
    let rows = Rows::new(PEOPLE).await;
    let refused = [
        json!({ "relation": { "name": "people" } }),
        json!({ "relation": { "name": "people" }, "all": true,
                "filters": [{ "column": "id", "operator": "=", "value": "1" }] }),
    ];
    for body in refused {
        assert!(matches!(
            rows.delete(body).await,
            Err(QueryError::Invalid(_))
        ));
    }
    let body = json!({ "relation": { "name": "people" },
                       "filters": [{ "column": "name", "operator": "=", "value": "Bob" }] });
    assert_eq!(rows.delete(body).await.expect("deleted").affected, 1);
    let body = json!({ "relation": { "name": "people" }, "all": true });
    assert_eq!(rows.delete(body).await.expect("deleted").affected, 1);
}

#[tokio::test]
async fn a_row_that_a_trigger_protects_is_said_to_be_so() {
    let rows = Rows::new(PEOPLE).await;
    rows.db
        .execute(
            "create function keep() returns trigger language plpgsql as $$ begin return null; end $$;
             create trigger keep before update or delete on people for each row execute function keep()",
        )
        .await;
    let page = rows.page(json!({ "relation": { "name": "people" } })).await;
    let target =
        json!({ "key": { "id": "1" }, "version": page.set.versions[0], "values": { "note": "x" } });
    let body = json!({ "relation": { "name": "people" }, "rows": [target] });
    for error in [rows.update(body.clone()).await, rows.delete(body).await] {
        let error = error.expect_err("protected");
        assert!(error.to_string().contains("trigger"), "{error}");
    }
}

#[tokio::test]
async fn partitioned_tables_are_edited() {
    let rows = Rows::new(
        "create table p (id int, region text, n int, primary key (id, region)) partition by list (region);
         create table p_eu partition of p for values in ('eu');
         create table p_us partition of p for values in ('us')",
    )
    .await;
    let relation = json!({ "name": "p" });
    let body = json!({ "relation": relation, "rows": [{ "id": "1", "region": "eu" }] });
    let written = rows.insert(body).await.expect("written");
    let change = json!({ "key": { "id": "1", "region": "eu" }, "version": written.set.versions[0],
                         "values": { "region": "us", "n": "5" } });
    let moved = rows
        .update(json!({ "relation": relation, "rows": [change] }))
        .await
        .expect("written");
    assert_eq!(moved.set.rows, [row([Some("1"), Some("us"), Some("5")])]);
    let target = json!({ "key": { "id": "1", "region": "us" }, "version": moved.set.versions[0] });
    let deleted = rows
        .delete(json!({ "relation": relation, "rows": [target] }))
        .await;
    assert_eq!(deleted.expect("deleted").affected, 1);
}

#[tokio::test]
async fn keys_have_to_be_whole() {
    let rows = Rows::new(
        "create table t (a int, b int, c int, primary key (a, b)); create table k (a int)",
    )
    .await;
    for (name, key) in [
        ("t", json!({ "a": "1" })),
        ("t", json!({ "a": "1", "b": "1", "c": "1" })),
        ("t", json!({})),
        ("k", json!({ "a": "1" })),
    ] {
        let body = json!({ "relation": { "name": name }, "rows": [{ "key": key, "values": { "a": "2" } }] });
        let error = rows.update(body).await.expect_err("refused");
        assert!(matches!(error, QueryError::Invalid(_)), "{key}: {error}");
    }
}

#[test]
fn new_values_are_told_apart() {
    let check = |json: serde_json::Value, expected: NewValue| {
        assert_eq!(request::<NewValue>(json), expected);
    };
    check(json!(""), NewValue::Text(String::new()));
    check(json!(null), NewValue::Null);
    check(
        json!({ "default": true }),
        NewValue::Default { default: true },
    );
    assert!(serde_json::from_value::<NewValue>(json!(5)).is_err());
}
