//! `/query`.

use http::Method;
use serde_json::{Value, json};

use crate::app::Catalog;

async fn run(catalog: &Catalog, query: &str) -> Value {
    catalog.post("/query", json!({ "query": query })).await
}

#[tokio::test]
async fn the_answer_has_the_rows_of_the_last_statement_with_some() {
    let catalog = Catalog::start().await;
    let rows = run(
        &catalog,
        "create table t (id int8, note text); insert into t values (1, 'x'), (9007199254740993, null);
         select id, note, id as \"b c\", 1.50 as n, '{\"a\": 1.10}'::json as j, array[true, null] as f
         from t order by id; insert into t values (3, 'z')",
    )
    .await;
    assert_eq!(
        rows,
        json!([
            { "id": 1, "note": "x", "b c": 1, "n": "1.50", "j": { "a": 1.10 }, "f": [true, null] },
            { "id": "9007199254740993", "note": null, "b c": "9007199254740993", "n": "1.50",
              "j": { "a": 1.10 }, "f": [true, null] },
        ])
    );
    assert_eq!(
        run(&catalog, "select 1 as a, 2 as b, 3 as a").await,
        json!([{ "a": 3, "b": 2 }])
    );
    assert_eq!(run(&catalog, "select from t").await, json!([{}, {}, {}]));
    assert_eq!(
        run(&catalog, "-- nothing\nselect 1 where false").await,
        json!([])
    );
}

#[tokio::test]
async fn parameters_get_the_types_that_they_need() {
    let catalog = Catalog::start().await;
    let body = json!({
        "query": "select $1::int + 1 as a, $2 as b, $3::text[] as c, $4::jsonb as d",
        "parameters": [41, "it's \\ '; drop table x; --", ["x", null, "y\"z"], { "e": null }],
    });
    let rows = catalog.post("/query", body).await;
    assert_eq!(
        rows,
        json!([{ "a": 42, "b": "it's \\ '; drop table x; --", "c": ["x", null, "y\"z"], "d": { "e": null } }])
    );
    for (body, status) in [
        (
            json!({ "query": "select $1::int; select 2", "parameters": [1] }),
            400,
        ),
        (json!({ "query": "select $1::int", "parameters": [] }), 400),
        (
            json!({ "query": "select $1::int", "parameters": ["x"] }),
            400,
        ),
        (json!({ "query": "" }), 400),
        (json!({ "query": " -- \n" }), 400),
        (json!({ "query": "select '\0'" }), 400),
        (json!({ "sql": "select 1" }), 400),
    ] {
        catalog
            .refused(Method::POST, "/query", Some(body), status)
            .await;
    }
}

#[tokio::test]
async fn an_error_says_where() {
    let catalog = Catalog::start().await;
    let query = "create table t ();\nselect 'é', nothing\nfrom t";
    let body = Some(json!({ "query": query }));

    let error = catalog.refused(Method::POST, "/query", body, 400).await;

    assert_eq!(error["code"], "42703");
    assert_eq!(error["position"], "32");
    assert_eq!(
        error["error"],
        "ERROR:  42703: column \"nothing\" does not exist\n\
         LINE 2: select 'é', nothing\n                    ^\n"
    );
    assert_eq!(
        catalog.get("/tables?included_schemas=public").await,
        json!([]),
        "rolled back"
    );
    let body = json!({ "query": "select $1::int, nothing", "parameters": [1] });
    let error = catalog
        .refused(Method::POST, "/query", Some(body), 400)
        .await;
    assert_eq!(error["position"], "17");
}

#[tokio::test]
async fn a_query_ends_when_its_time_is_over() {
    let catalog = Catalog::start().await;
    let slow = json!({ "query": "select pg_sleep(3600)" });
    let path = "/query?queryTimeoutSecs=1";
    let error = catalog
        .refused(Method::POST, path, Some(slow.clone()), 408)
        .await;
    assert_eq!(error["error"], "Query read timeout");
    let path = "/query?statementTimeoutSecs=1";
    let error = catalog.refused(Method::POST, path, Some(slow), 400).await;
    assert_eq!(error["code"], "57014");
    let idle =
        "select count(*) as n from pg_stat_activity where query like 'select pg_sleep(3600%'";
    plinth_testkit::until(async || run(&catalog, idle).await == json!([{ "n": 0 }])).await;
}

#[tokio::test]
async fn settings_of_shared_roles_are_those_of_the_project() {
    let catalog = Catalog::start().await;
    run(&catalog, "alter role anon set statement_timeout = '7s'").await;
    let stored = "select value from plinth_roles.settings where role = 'anon' and name = 'statement_timeout'";
    assert_eq!(catalog.value(stored).await.as_deref(), Some("7s"));
}
