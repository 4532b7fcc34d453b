//! Rows.

use plinth_project::{DatabaseAccess, ProjectName};
use plinth_query::{InsertRequest, PageRequest, QueryError};
use serde_json::json;

use crate::{audited, platform_with, post, support::TestPlatform};

const NOTES: &str = "
    create table public.notes (id int primary key, owner text, body text constraint short check (length(body) < 10));
    alter table public.notes enable row level security;
    create policy own on public.notes for all to authenticated
        using (owner = current_setting('request.jwt.claims', true)::json->>'sub');
    grant all on public.notes to anon, authenticated;
    insert into public.notes values (1, 'ada', 'a'), (2, 'bob', 'b')";

#[tokio::test]
async fn rows_are_read_and_written_as_the_operator() {
    let app = platform_with(NOTES).await;
    let relation = json!({ "name": "notes" });
    let page = post(
        &app,
        "data/query",
        json!({ "relation": relation, "count": "exact" }),
    )
    .await
    .ok();
    assert_eq!(page["rows"], json!([["1", "ada", "a"], ["2", "bob", "b"]]));
    assert_eq!(
        (&page["count"], &page["count_kind"]),
        (&json!(2), &json!("exact"))
    );
    assert_eq!(page["keys"], json!(["id"]));
    assert_eq!(page["columns"][0]["type"], "integer");
    assert_eq!(page["next"], json!(null));

    let body = json!({ "relation": relation, "rows": [{ "id": "3", "body": "c" }] });
    let written = post(&app, "data/insert", body).await.ok();
    assert_eq!(written["rows"], json!([["3", null, "c"]]));
    let target = json!({ "key": { "id": "3" }, "version": written["versions"][0], "values": { "body": "d" } });
    let body = json!({ "relation": relation, "rows": [target] });
    assert_eq!(
        post(&app, "data/update", body.clone()).await.ok()["rows"],
        json!([["3", null, "d"]])
    );

    let changed = post(&app, "data/update", body)
        .await
        .expect_status(409)
        .json();
    assert_eq!(changed["code"], "row_changed");
    assert_eq!(
        changed["details"]["current"]["rows"],
        json!([["3", null, "d"]])
    );

    let body = json!({ "relation": relation, "rows": [{ "key": { "id": "3" } }] });
    assert_eq!(post(&app, "data/delete", body).await.ok()["affected"], 1);
    let cell = json!({ "relation": relation, "key": { "id": "1" }, "column": "owner" });
    assert_eq!(
        post(&app, "data/cell", cell).await.ok(),
        json!({ "value": "ada", "characters": 3, "bytes": 3 })
    );
    let count = json!({ "relation": relation, "count": "exact" });
    assert_eq!(
        post(&app, "data/count", count).await.ok(),
        json!({ "count": 2, "count_kind": "exact" })
    );

    let expected = json!({ "schema": "public", "table": "notes", "rows": 1, "as": null });
    for action in ["data.insert", "data.update", "data.delete"] {
        assert_eq!(audited(&app, action).await, [expected.clone()], "{action}");
    }
}

#[tokio::test]
async fn policies_hold_for_whom_the_operator_acts_as() {
    let app = platform_with(NOTES).await;
    let relation = json!({ "name": "notes" });
    let ada = json!({ "role": "authenticated", "claims": { "sub": "ada" } });
    let page = post(
        &app,
        "data/query",
        json!({ "relation": relation, "as": ada, "count": "exact" }),
    )
    .await
    .ok();
    assert_eq!(
        (&page["rows"], &page["count"]),
        (&json!([["1", "ada", "a"]]), &json!(1))
    );
    let anon = json!({ "relation": relation, "as": { "role": "anon" } });
    assert_eq!(post(&app, "data/query", anon).await.ok()["rows"], json!([]));

    let body = json!({ "relation": relation, "as": ada, "rows": [{ "id": "5", "owner": "bob" }] });
    let denied = post(&app, "data/insert", body)
        .await
        .expect_status(403)
        .json();
    assert_eq!(denied["code"], "permission_denied");
    assert_eq!(denied["details"]["sqlstate"], "42501");
    let body = json!({ "relation": relation, "as": ada, "rows": [{ "key": { "id": "2" }, "values": { "body": "x" } }] });
    post(&app, "data/update", body).await.expect_status(409);

    let nobody = json!({ "relation": relation, "as": { "role": "nobody" } });
    let text = post(&app, "data/query", nobody)
        .await
        .expect_status(400)
        .json()
        .to_string();
    assert!(text.contains("There is no role nobody"), "{text}");
    let postgres = json!({ "relation": relation, "as": { "role": "supabase_auth_admin" } });
    post(&app, "data/query", postgres).await.expect_status(403);
    // The next request on the same connection is the operator's own again.
    let page = post(&app, "data/query", json!({ "relation": relation }))
        .await
        .ok();
    assert_eq!(page["rows"].as_array().map(Vec::len), Some(2));
}

#[tokio::test]
async fn errors_say_which_column_and_leave_nothing() {
    let app = platform_with(NOTES).await;
    let relation = json!({ "name": "notes" });
    for (row, columns, code) in [
        (
            json!({ "id": "7", "body": "longer than ten" }),
            json!(["body"]),
            "23514",
        ),
        (json!({ "id": "1" }), json!(["id"]), "23505"),
        (json!({ "id": "x" }), json!(["id"]), "22P02"),
        (json!({ "body": "x" }), json!(["id"]), "23502"),
    ] {
        let body = json!({ "relation": relation, "rows": [{ "id": "8" }, row] });
        let answer = post(&app, "data/insert", body)
            .await
            .expect_status(422)
            .json();
        assert_eq!(answer["code"], "statement_rejected");
        assert_eq!(
            (
                &answer["details"]["columns"],
                &answer["details"]["sqlstate"]
            ),
            (&columns, &json!(code))
        );
    }
    for (below, body, status) in [
        (
            "data/query",
            json!({ "relation": { "name": "nothing" } }),
            404,
        ),
        (
            "data/query",
            json!({ "relation": relation, "limit": 0 }),
            400,
        ),
        (
            "data/query",
            json!({ "relation": relation, "filters": [{ "column": "id" }] }),
            400,
        ),
        ("data/query", json!({}), 400),
        (
            "data/insert",
            json!({ "relation": relation, "rows": [] }),
            400,
        ),
        ("data/delete", json!({ "relation": relation }), 400),
        (
            "data/cell",
            json!({ "relation": relation, "key": { "id": "77" }, "column": "body" }),
            404,
        ),
    ] {
        post(&app, below, body).await.expect_status(status);
    }
    let count = json!({ "relation": relation, "count": "exact" });
    assert_eq!(post(&app, "data/count", count).await.ok()["count"], 2);
}

/// The outcome of reading or writing one table with the rights of a role: an SQLSTATE, or none.
async fn outcome(
    app: &TestPlatform,
    access: DatabaseAccess,
    schema: &str,
    name: &str,
    writes: bool,
) -> Option<String> {
    let project = app.open(&ProjectName::Default).await;
    let begun = project.db.as_operator(access).begin().await;
    let mut tx = begun.expect("a transaction");
    let relation = json!({ "schema": schema, "name": name });
    let done = if writes {
        let body = json!({ "relation": relation, "rows": [{}] });
        let request: InsertRequest = serde_json::from_value(body).expect("a request");
        plinth_query::insert(&mut tx, &request).await.map(drop)
    } else {
        let request: PageRequest =
            serde_json::from_value(json!({ "relation": relation })).expect("a request");
        plinth_query::page(&mut tx, &request).await.map(drop)
    };
    tx.rollback().await.expect("rolled back");
    match done {
        Ok(()) => None,
        Err(QueryError::Rejected(rejection)) => Some(rejection.sqlstate),
        Err(other) => panic!("{other}"),
    }
}

#[tokio::test]
async fn editors_and_readers_reach_rows_of_users_tables_only() {
    use DatabaseAccess::{Editor, Owner, Reader};

    let app = platform_with("create table things (id serial primary key, note text)").await;
    for (access, schema, name, writes, expected) in [
        (Owner, "public", "things", true, None),
        (Editor, "public", "things", true, None),
        (Editor, "public", "things", false, None),
        (Reader, "public", "things", false, None),
        (Reader, "public", "things", true, Some("42501")),
        (Editor, "auth", "users", false, Some("42501")),
        (Reader, "auth", "users", false, Some("42501")),
        (Reader, "storage", "objects", false, Some("42501")),
    ] {
        let found = outcome(&app, access, schema, name, writes).await;
        let case = format!("{access:?} {schema}.{name} {writes}");
        assert_eq!(found.as_deref(), expected, "{case}");
    }

    let project = app.open(&ProjectName::Default).await;
    let session = project.db.script_session(Reader, "plinth sql test").await;
    let mut session = session.expect("a session");
    for sql in [
        "set role postgres",
        "select set_config('role', 'postgres', true), query_to_xml('select 1', true, true, '')",
        "set session authorization postgres",
    ] {
        let error = session.batch_execute(sql).await.expect_err("refused");
        assert_eq!(
            error.sqlstate().map(|state| state.code()),
            Some("42501"),
            "{sql}"
        );
    }
}
