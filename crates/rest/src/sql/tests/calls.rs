//! Calls of functions.

use super::*;

/// Checks the CTE of a call.
#[track_caller]
fn check(request: &str, expected: &str, expected_values: &[&str]) {
    let (text, values) = statement(request);
    let call = between(
        &text,
        "with pgrst_source as (",
        ") select null::bigint as total",
    );
    assert_eq!(call, expected, "{request}");
    assert_eq!(values, expected_values, "{request}");
}

#[test]
fn a_whole_statement() {
    let request = "GET /rpc/films_by?director=7&select=title,directors(name)&year=gt.2000&limit=3";
    let (text, values) = statement(request);

    assert_eq!(
        text,
        r#"with pgrst_source as (select "pgrst_call"."director_id", "pgrst_call"."title", "pgrst_call"."year" from "api"."films_by"("director" := $1::integer) pgrst_call) select null::bigint as total, pg_catalog.count(_pgrst_row) as rows, coalesce(json_agg(_pgrst_row), '[]') as body, nullif(current_setting('response.headers', true), '') as response_headers, nullif(current_setting('response.status', true), '') as response_status, null::int as inserted from (select "films"."title", row_to_json("films_directors_1".*) as "directors" from pgrst_source as "films" left join lateral (select "directors_1"."name" from "api"."directors" as "directors_1" where "directors_1"."id" = "films"."director_id") as "films_directors_1" on true where "films"."year" > $2 limit $3 offset $4) _pgrst_row"#
    );
    assert_eq!(values, ["7", "2000", "3", "0"]);
}

#[test]
fn arguments_of_the_query_are_cast() {
    check(
        "GET /rpc/films_by?director=7&since=1990",
        r#"select "pgrst_call".* from "api"."films_by"("director" := $1::integer, "since" := $2::integer) pgrst_call"#,
        &["7", "1990"],
    );
    check(
        "GET /rpc/initial?letter=abc",
        r#"select pgrst_call.pgrst_scalar from (select "api"."initial"("letter" := $1::character varying) pgrst_scalar) pgrst_call"#,
        &["abc"],
    );
    check(
        "GET /rpc/total?numbers=1&numbers=2",
        r#"select pgrst_call.pgrst_scalar from (select "api"."total"(variadic "numbers" := $1::integer[]) pgrst_scalar) pgrst_call"#,
        &[r#"{"1","2"}"#],
    );
}

#[test]
fn arguments_of_a_body_are_read_by_postgres() {
    let body = r#"{"a":1,"b":2}"#;
    check(
        &format!("POST /rpc/add\n\n{body}"),
        r#"select pgrst_call.pgrst_scalar from (select $1::json as json_data) pgrst_payload, lateral (select "a", "b" from json_to_record(pgrst_payload.json_data) as _("a" integer, "b" integer) limit 1) pgrst_body, lateral (select "api"."add"("a" := "pgrst_body"."a", "b" := "pgrst_body"."b") pgrst_scalar) pgrst_call"#,
        &[body],
    );
    let body = r#"[{"director":1}]"#;
    check(
        &format!("POST /rpc/films_by\n\n{body}"),
        r#"select "pgrst_call".* from (select $1::json as json_data) pgrst_payload, lateral (select "director" from json_to_recordset(pgrst_payload.json_data) as _("director" integer) limit 1) pgrst_body, lateral "api"."films_by"("director" := "pgrst_body"."director") pgrst_call"#,
        &[body],
    );
    let body = r#"{"numbers":[1]}"#;
    check(
        &format!("POST /rpc/total\n\n{body}"),
        r#"select pgrst_call.pgrst_scalar from (select $1::json as json_data) pgrst_payload, lateral (select "numbers" from json_to_record(pgrst_payload.json_data) as _("numbers" integer[]) limit 1) pgrst_body, lateral (select "api"."total"(variadic "numbers" := "pgrst_body"."numbers") pgrst_scalar) pgrst_call"#,
        &[body],
    );
}

#[test]
fn the_whole_body_may_be_the_argument() {
    check(
        "POST /rpc/note\n\n[{\"a\":1}]",
        r#"select pgrst_call.pgrst_scalar from (select "api"."note"($1::jsonb) pgrst_scalar) pgrst_call"#,
        &["[{\"a\":1}]"],
    );
    check(
        "POST /rpc/store\ncontent-type: application/octet-stream\n\nabc",
        r#"select pgrst_call.pgrst_scalar from (select "api"."store"($1::bytea) pgrst_scalar) pgrst_call"#,
        &["bytes abc"],
    );
}

#[test]
fn a_call_may_have_no_arguments() {
    let of_scalar =
        r#"select pgrst_call.pgrst_scalar from (select "api"."years"() pgrst_scalar) pgrst_call"#;
    check("GET /rpc/years", of_scalar, &[]);
    check("POST /rpc/years\n\n{}", of_scalar, &[]);
    check(
        "GET /rpc/newest_film",
        r#"select "pgrst_call".* from "api"."newest_film"() pgrst_call"#,
        &[],
    );
}

#[test]
fn what_returns_no_set_is_one_row() {
    let rows = |request: &str| {
        let (text, _) = statement(request);
        between(&text, " as total, ", " as rows").to_owned()
    };

    assert_eq!(rows("GET /rpc/newest_film"), "1::bigint");
    assert_eq!(rows("GET /rpc/add?a=1&b=2"), "1::bigint");
    assert_eq!(rows("GET /rpc/years"), "pg_catalog.count(_pgrst_row)");
    assert_eq!(
        rows("GET /rpc/films_by?director=1"),
        "pg_catalog.count(_pgrst_row)"
    );
}
