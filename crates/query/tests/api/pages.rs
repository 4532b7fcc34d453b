//! Pages: every row once and in order, whatever the order is.

use plinth_query::{CellRequest, CountKind, QueryError};
use plinth_testkit::Sql as _;
use serde_json::{Value, json};

use crate::support::{Rows, firsts, request};

fn films(extra: Value) -> Value {
    let mut body = json!({ "relation": { "schema": "public", "name": "films" } });
    for (name, value) in extra.as_object().expect("members") {
        body[name] = value.clone();
    }
    body
}

/// 40 rows, many of them equal in `a` and `b`, some NULL.
const FILMS: &str = "
    create table films (id int primary key, a int, b text, c timestamptz not null default now());
    insert into films (id, a, b)
    select n, nullif(n % 5, 0), nullif(chr(97 + n % 3), 'a') from generate_series(1, 40) n";

#[tokio::test]
async fn pages_follow_every_order_with_every_row_once() {
    let rows = Rows::new(FILMS).await;
    for sort in [
        json!([]),
        json!([{ "column": "id", "descending": true }]),
        json!([{ "column": "a" }]),
        json!([{ "column": "a", "descending": true }]),
        json!([{ "column": "a", "nulls_first": true }]),
        json!([{ "column": "a", "descending": true, "nulls_first": false }]),
        json!([{ "column": "a" }, { "column": "b", "descending": true }]),
        json!([{ "column": "b", "nulls_first": true }, { "column": "a", "descending": true }]),
        json!([{ "column": "c", "descending": true }, { "column": "b" }, { "column": "a" }]),
    ] {
        let body = films(json!({ "sort": sort }));
        let whole = rows.walk(&body, 1000).await;
        assert_eq!(whole.len(), 40, "{sort}");
        for limit in [1, 3, 7] {
            assert_eq!(rows.walk(&body, limit).await, whole, "{sort}, {limit}");
        }
    }
}

#[tokio::test]
async fn the_order_is_that_of_postgres() {
    let rows = Rows::new(FILMS).await;
    let sort =
        json!([{ "column": "a", "descending": true, "nulls_first": false }, { "column": "b" }]);
    let found = rows.walk(&films(json!({ "sort": sort })), 7).await;
    let expected = rows
        .db
        .query("select f.id::text from films f order by f.a desc nulls last, f.b, f.id")
        .await;
    let expected: Vec<String> = expected.iter().map(|row| row.get(0)).collect();
    assert_eq!(found, expected);
}

#[tokio::test]
async fn pages_lead_back_too() {
    let rows = Rows::new(FILMS).await;
    let sort = json!([{ "column": "a" }, { "column": "b", "descending": true }]);
    let body = |extra: Value| {
        let mut body = films(json!({ "sort": sort, "limit": 7 }));
        for (name, value) in extra.as_object().expect("members") {
            body[name] = value.clone();
        }
        body
    };
    let first = rows.page(body(json!({}))).await;
    let second = rows.page(body(json!({ "after": first.next }))).await;
    let third = rows.page(body(json!({ "after": second.next }))).await;
    assert_eq!(first.previous, None);

    let back = rows.page(body(json!({ "before": third.previous }))).await;
    assert_eq!(firsts(&back), firsts(&second));
    let back = rows.page(body(json!({ "before": back.previous }))).await;
    assert_eq!(firsts(&back), firsts(&first));
    assert_eq!(back.previous, None);
}

#[tokio::test]
async fn keys_of_nulls_have_an_end_too() {
    let rows = Rows::new(
        "create materialized view m as
             select a, b from (values (1, 2), (null, 1), (null, null)) v (a, b);
         create unique index on m (a, b) nulls not distinct",
    )
    .await;
    for descending in [false, true] {
        let sort = json!([{ "column": "b", "descending": descending }]);
        let body = json!({ "relation": { "name": "m" }, "columns": ["b"], "sort": sort });
        let mut expected = ["1", "2", "null"];
        if descending {
            expected.reverse();
        }
        for limit in [1, 2, 3] {
            assert_eq!(rows.walk(&body, limit).await, expected, "{descending}");
        }
    }
}

#[tokio::test]
async fn rows_without_a_key_are_counted_off() {
    let rows = Rows::new(&format!(
        "{FILMS}; create view v as select id, a from films"
    ))
    .await;
    let body = json!({ "relation": { "name": "v" }, "sort": [{ "column": "id" }] });

    assert_eq!(rows.walk(&body, 7).await.len(), 40);
    let page = rows.page(body).await;
    assert!(page.set.keys.is_empty() && !page.is_editable);
    assert!(page.set.versions.is_empty());
}

#[tokio::test]
async fn values_are_the_text_output_of_postgres() {
    let rows = Rows::new(
        "create type mood as enum ('fine', 'so-so');
         create type pair as (x int, y text);
         create domain short as varchar(5);
         create table t (id int8 primary key, n numeric, f float8, b bool, ts timestamptz, ip inet,
             c char(4), j json, jb jsonb, by bytea, arr text[], m mood, p pair, d short, r int4range);
         insert into t values (9007199254740993, 1.10, 0.1, true, '2026-01-02 03:04:05.678901+00',
             '10.0.0.1', 'ab', '{\"a\" : 1}', '{\"a\" : 1}', '\\x00ff', '{a,NULL,\"b c\"}', 'so-so',
             '(1,)', 'abc', '[1,3)');
         insert into t (id, p) values (1, '(,)')",
    )
    .await;
    let body = json!({ "relation": { "name": "t" } });
    let page = rows.page(body).await;

    let found: Vec<&str> = page.set.rows[1]
        .iter()
        .map(|cell| cell.as_deref().unwrap_or("NULL"))
        .collect();
    assert_eq!(
        found,
        [
            "9007199254740993",
            "1.10",
            "0.1",
            "t",
            "2026-01-02 03:04:05.678901+00",
            "10.0.0.1",
            "ab  ",
            "{\"a\" : 1}",
            "{\"a\": 1}",
            "\\x00ff",
            "{a,NULL,\"b c\"}",
            "so-so",
            "(1,)",
            "abc",
            "[1,3)",
        ]
    );
    assert_eq!(
        page.set.rows[0][12].as_deref(),
        Some("(,)"),
        "NULLs are no NULL"
    );
    assert_eq!(page.set.columns[13].type_text, "short");
}

#[tokio::test]
async fn long_cells_are_cut_and_fetched() {
    let rows = Rows::new(
        "create table t (id int primary key, small text, long text, b bytea);
         insert into t values (1, 'x', repeat('é', 20000), decode(repeat('ab', 20000), 'hex'))",
    )
    .await;
    let page = rows.page(json!({ "relation": { "name": "t" } })).await;
    assert_eq!(page.set.truncated, [(0, 2, 40_000), (0, 3, 40_002)]);
    let cell = |index: usize| page.set.rows[0][index].as_deref().expect("a text");
    assert_eq!(cell(2), "é".repeat(5120));
    assert_eq!(cell(3).len(), 10_240);

    let ask: CellRequest = request(json!({
        "relation": { "name": "t" }, "key": { "id": "1" }, "column": "long", "offset": 19_990,
    }));
    let mut tx = rows.begin().await;
    let value = plinth_query::read_cell(&mut tx, &ask)
        .await
        .expect("a cell");
    assert_eq!(value.value.as_deref(), Some(&*"é".repeat(10)));
    assert_eq!((value.characters, value.bytes), (20_000, 40_000));
}

#[tokio::test]
async fn filters_of_every_kind_apply() {
    let rows = Rows::new(
        "create table t (id int primary key, name text, n numeric, tags text[], j jsonb, r int4range,
                         code char(3), v varchar(3));
         insert into t values
            (1, 'Ada', 1.5, '{a,b}', '{\"x\": 1}', '[1,5)', 'a', 'abc'),
            (2, 'Grace', 2, '{b}', '{\"y\": 1}', '[4,9)', 'b', 'abd'),
            (3, null, null, null, null, null, null, null)",
    )
    .await;
    for (filter, expected) in [
        (
            json!({ "column": "id", "operator": "=", "value": "2" }),
            "2",
        ),
        (
            json!({ "column": "id", "operator": "<>", "value": "2" }),
            "13",
        ),
        (
            json!({ "column": "n", "operator": "<", "value": "1.75" }),
            "1",
        ),
        (
            json!({ "column": "n", "operator": ">=", "value": "2" }),
            "2",
        ),
        (json!({ "column": "name", "operator": "is null" }), "3"),
        (json!({ "column": "name", "operator": "is not null" }), "12"),
        (
            json!({ "column": "id", "operator": "in", "value": ["1", "3"] }),
            "13",
        ),
        (json!({ "column": "id", "operator": "in", "value": [] }), ""),
        (
            json!({ "column": "name", "operator": "like", "value": "A%" }),
            "1",
        ),
        (
            json!({ "column": "name", "operator": "ilike", "value": "%A%" }),
            "12",
        ),
        (
            json!({ "column": "id", "operator": "like", "value": "2%" }),
            "2",
        ),
        (
            json!({ "column": "name", "operator": "~", "value": "^G" }),
            "2",
        ),
        (
            json!({ "column": "tags", "operator": "contains", "value": "{a}" }),
            "1",
        ),
        (
            json!({ "column": "tags", "operator": "contained", "value": "{b,c}" }),
            "2",
        ),
        (
            json!({ "column": "tags", "operator": "overlaps", "value": "{b}" }),
            "12",
        ),
        (
            json!({ "column": "j", "operator": "contains", "value": "{\"x\": 1}" }),
            "1",
        ),
        (
            json!({ "column": "r", "operator": "overlaps", "value": "[5,6)" }),
            "2",
        ),
        (
            json!({ "column": "id", "operator": "between", "value": ["2", "9"] }),
            "23",
        ),
        (
            json!({ "column": "name", "operator": "is distinct", "value": "Ada" }),
            "23",
        ),
        (
            json!({ "column": "code", "operator": "=", "value": "a" }),
            "1",
        ),
        // Not cut to the length of the column.
        (
            json!({ "column": "v", "operator": "=", "value": "abcd" }),
            "",
        ),
        (
            json!({ "or": [
            { "column": "id", "operator": "=", "value": "3" },
            { "and": [{ "column": "id", "operator": "<", "value": "3" },
                      { "column": "name", "operator": "=", "value": "Ada" }] },
        ] }),
            "13",
        ),
    ] {
        let body = json!({ "relation": { "name": "t" }, "filters": [filter], "sort": [{ "column": "id" }] });
        let page = rows.page(body).await;
        assert_eq!(firsts(&page).concat(), expected, "{filter}");
    }
}

#[tokio::test]
async fn what_cannot_be_asked_is_refused() {
    let rows = Rows::new(&format!(
        "{FILMS}; create table j (id int primary key, j json)"
    ))
    .await;
    let first = rows.page(films(json!({ "limit": 1 }))).await;
    for body in [
        films(json!({ "limit": 0 })),
        films(json!({ "limit": 1001 })),
        films(json!({ "columns": ["nothing"] })),
        films(json!({ "sort": [{ "column": "nothing" }] })),
        films(json!({ "after": "nonsense" })),
        films(json!({ "after": first.next, "sort": [{ "column": "a" }] })),
        films(json!({ "after": first.next, "before": first.next })),
        films(json!({ "filters": [{ "column": "b", "operator": "=", "value": "a\u{0}" }] })),
        films(json!({ "filters": [{ "column": "b", "operator": "=", "value": ["a"] }] })),
        films(json!({ "filters": [{ "column": "b", "operator": "between", "value": ["a"] }] })),
        films(json!({ "filters": [{ "column": "b", "operator": "is null", "value": "a" }] })),
        films(json!({ "filters": [{ "and": [] }] })),
    ] {
        let error = rows.try_page(body.clone()).await.expect_err("refused");
        assert!(matches!(error, QueryError::Invalid(_)), "{body}: {error}");
    }
    for body in [
        films(json!({ "filters": [{ "column": "id", "operator": "=", "value": "x" }] })),
        films(json!({ "filters": [{ "column": "id", "operator": "contains", "value": "1" }] })),
        json!({ "relation": { "name": "j" }, "sort": [{ "column": "j" }] }),
    ] {
        let error = rows.try_page(body.clone()).await.expect_err("refused");
        assert!(matches!(error, QueryError::Rejected(_)), "{body}: {error}");
    }
    for name in ["nothing", "films\u{0}", "FILMS", ""] {
        let body = json!({ "relation": { "name": name } });
        let error = rows.try_page(body).await.expect_err("refused");
        assert!(
            matches!(error, QueryError::NotFound(_)),
            "{name:?}: {error}"
        );
    }
}

#[tokio::test]
async fn a_rejected_value_names_its_column() {
    let rows = Rows::new(FILMS).await;
    let filters = json!([{ "column": "b", "operator": "=", "value": "a" },
                         { "column": "a", "operator": "=", "value": "many" }]);
    let error = rows.try_page(films(json!({ "filters": filters }))).await;
    match error.expect_err("refused") {
        QueryError::Rejected(rejection) => {
            assert_eq!(rejection.sqlstate, "22P02");
            assert_eq!(rejection.columns, ["a"]);
        }
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn names_of_every_kind_work() {
    let names = [
        "quo\"te",
        "do.t",
        "Großes",
        "😀",
        "tab\there",
        "new\nline",
        "'; drop table x; --",
        "\\",
    ];
    for name in names {
        let quoted = plinth_db::QuotedIdent::new(name);
        let rows = Rows::new(&format!(
            "create schema {quoted}; create table {quoted}.{quoted} ({quoted} text primary key, n int);
             insert into {quoted}.{quoted} values ('a', 1), ('b', null)"
        ))
        .await;
        let relation = json!({ "schema": name, "name": name });
        let body = json!({
            "relation": relation,
            "filters": [{ "column": name, "operator": "in", "value": ["a", "b"] }],
            "sort": [{ "column": "n", "descending": true }, { "column": name }],
        });
        assert_eq!(rows.walk(&body, 1).await, ["b", "a"], "{name:?}");
        let change = json!({ "key": { name: "a" }, "values": { name: "c" } });
        let written = rows
            .update(json!({ "relation": relation, "rows": [change] }))
            .await;
        assert_eq!(
            written.expect("written").set.rows[0][0].as_deref(),
            Some("c")
        );
    }
}

#[tokio::test]
async fn counts_are_exact_or_estimates() {
    let rows = Rows::new(
        "create table big as select n as id from generate_series(1, 60000) n; analyze big;
         create table small as select n as id from generate_series(1, 100) n; analyze small",
    )
    .await;
    let count = async |name: &str, kind: &str| {
        let body = json!({ "relation": { "name": name }, "count": kind, "limit": 1 });
        let page = rows.page(body).await;
        (page.count, page.count_kind)
    };
    assert_eq!(
        count("big", "exact").await,
        (Some(60_000), CountKind::Exact)
    );
    assert_eq!(
        count("small", "estimated").await,
        (Some(100), CountKind::Exact)
    );
    assert_eq!(count("small", "none").await, (None, CountKind::None));
    let (estimate, kind) = count("big", "estimated").await;
    assert_eq!(kind, CountKind::Estimated);
    assert!((50_001..100_000).contains(&estimate.expect("a number")));
}

#[tokio::test]
async fn a_table_of_1600_columns_has_pages() {
    let columns: Vec<String> = (0..1600).map(|n| format!("c{n} int")).collect();
    let sql = format!(
        "create table wide ({}, primary key (c0)); insert into wide (c0, c1) values (1, 2)",
        columns.join(", ")
    );
    let rows = Rows::new(&sql).await;
    let page = rows.page(json!({ "relation": { "name": "wide" } })).await;
    assert_eq!(page.set.rows[0].len(), 1600);
    assert_eq!(page.set.rows[0][1].as_deref(), Some("2"));
}

#[tokio::test]
async fn every_kind_of_relation_is_shown() {
    let rows = Rows::new(
        "create table parts (id int, region text, primary key (id, region)) partition by list (region);
         create table parts_eu partition of parts for values in ('eu');
         insert into parts values (1, 'eu');
         create materialized view m as select * from parts;
         create unique index on m (id) nulls not distinct;
         create materialized view empty as select * from parts with no data;
         create table nothing ();
         insert into nothing default values;
         create table keyless (a int); insert into keyless values (1)",
    )
    .await;
    let page = async |name: &str| rows.page(json!({ "relation": { "name": name } })).await;
    assert_eq!(page("parts").await.set.keys, ["id", "region"]);
    assert_eq!(page("parts").await.set.versions.len(), 1);
    assert_eq!(page("m").await.set.keys, ["id"]);
    assert_eq!(page("nothing").await.set.rows, [[]; 1]);
    assert_eq!(page("keyless").await.set.row_keys.len(), 0);
    let error = rows
        .try_page(json!({ "relation": { "name": "empty" } }))
        .await;
    match error.expect_err("not filled") {
        QueryError::Rejected(rejection) => assert_eq!(rejection.sqlstate, "55000"),
        other => panic!("{other}"),
    }
}
