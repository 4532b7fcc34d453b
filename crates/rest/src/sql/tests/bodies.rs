//! Bodies by media type, execution plans, and the function before every request.

use super::*;
use crate::schema_cache::QualifiedName;

fn body(request: &str) -> String {
    let (text, _) = statement(request);
    let (before, _) = text
        .split_once(" as body")
        .unwrap_or_else(|| panic!("no body in {text}"));
    let (_, body) = before
        .rsplit_once(" as rows, ")
        .expect("rows before the body");
    body.to_owned()
}

#[track_caller]
fn check(request: &str, accept: &str, expected: &str) {
    assert_eq!(
        body(&format!("{request}\naccept: {accept}")),
        expected,
        "{request} {accept}"
    );
}

const OBJECT: &str = "application/vnd.pgrst.object+json";
const STRIPPED_OBJECT: &str = "application/vnd.pgrst.object+json;nulls=stripped";
const STRIPPED_ARRAY: &str = "application/vnd.pgrst.array+json;nulls=stripped";

#[test]
fn rows_as_json() {
    let rows = "GET /films";
    check(rows, "*/*", "coalesce(json_agg(_pgrst_row), '[]')");
    check(
        rows,
        STRIPPED_ARRAY,
        "coalesce(json_strip_nulls(json_agg(_pgrst_row)), '[]')",
    );
    check(rows, OBJECT, "coalesce(json_agg(_pgrst_row)->0, 'null')");
    check(
        rows,
        STRIPPED_OBJECT,
        "coalesce(json_strip_nulls(json_agg(_pgrst_row)->0), 'null')",
    );
    check("HEAD /films", "*/*", "''::text");
}

#[test]
fn results_of_functions_as_json() {
    let scalar = "GET /rpc/add?a=1&b=2";
    check(
        scalar,
        "*/*",
        "coalesce(json_agg(_pgrst_row.pgrst_scalar)->0, 'null')",
    );
    check(
        scalar,
        OBJECT,
        "coalesce(json_agg(_pgrst_row.pgrst_scalar)->0, 'null')",
    );
    check(
        scalar,
        STRIPPED_ARRAY,
        "coalesce(json_strip_nulls(json_agg(_pgrst_row.pgrst_scalar)->0), 'null')",
    );
    let scalars = "GET /rpc/years";
    check(
        scalars,
        "*/*",
        "coalesce(json_agg(_pgrst_row.pgrst_scalar), '[]')",
    );
    check(scalars, OBJECT, "coalesce(json_agg(_pgrst_row)->0, 'null')");
    let row = "GET /rpc/newest_film";
    check(row, "*/*", "coalesce(json_agg(_pgrst_row)->0, 'null')");
    check(
        row,
        STRIPPED_ARRAY,
        "coalesce(json_strip_nulls(json_agg(_pgrst_row)->0), 'null')",
    );
    check(
        "GET /rpc/pair",
        "*/*",
        "coalesce(json_agg(_pgrst_row)->0, 'null')",
    );
    check(
        "GET /rpc/films_by?director=1",
        "*/*",
        "coalesce(json_agg(_pgrst_row), '[]')",
    );
}

#[test]
fn other_formats() {
    check(
        "GET /films",
        "text/csv",
        "(select coalesce(string_agg(keys.name, ','), '') from (select \
         json_object_keys(row_to_json(first)) as name from (select * from pgrst_source limit 1) \
         first) keys) || E'\\n' || coalesce(string_agg(substring(_pgrst_row::text, 2, \
         length(_pgrst_row::text) - 2), E'\\n'), '')",
    );
    check(
        "GET /films",
        "application/geo+json",
        "json_build_object('type', 'FeatureCollection', 'features', \
         coalesce(json_agg(ST_AsGeoJSON(_pgrst_row)::json), '[]'))",
    );
}

#[test]
fn handlers_of_users() {
    check(
        "GET /films",
        "video/reel",
        r#""api"."film_reel"(_pgrst_row::"api"."films")"#,
    );
    check(
        "GET /actors",
        "text/tab-separated-values",
        r#""api"."lines"(_pgrst_row)"#,
    );
    check(
        "GET /rpc/poster",
        "image/png",
        r#""api"."poster"(_pgrst_row.pgrst_scalar)"#,
    );
}

#[test]
fn execution_plans() {
    let check = |accept: &str, expected: &str| {
        let request = format!("GET /films\naccept: application/vnd.pgrst.plan{accept}");
        let (text, _) = statement(&request);
        let (explain, _) = text.split_once("with pgrst_source").expect("a statement");
        assert_eq!(explain, expected, "{accept}");
    };

    check("", "explain (format text) ");
    check(
        "+text; for=\"application/json\"; options=;",
        "explain (format text) ",
    );
    check("+json", "explain (format json) ");
    check(
        "+json; options=analyze|verbose|settings|buffers|wal",
        "explain (format json, analyze, verbose, settings, buffers, wal) ",
    );
    let accept = "accept: application/vnd.pgrst.plan";
    for request in [
        format!("PATCH /films\n{accept}\n\n{{}}"),
        format!("GET /rpc/years\n{accept}"),
    ] {
        let (text, _) = statement(&request);
        assert!(
            text.starts_with("explain (format text) with pgrst_source"),
            "{text}"
        );
    }
}

#[test]
fn the_function_before_every_request() {
    let text = |schema: &str| {
        Sql::pre_request(&QualifiedName::new(schema, "be\"fore"))
            .text()
            .to_owned()
    };

    assert_eq!(text("api"), r#"select "api"."be""fore"()"#);
    assert_eq!(text(""), r#"select "be""fore"()"#);
}

#[test]
fn the_rows_of_the_page_never_share_a_columns_name() {
    for (select, row) in [
        ("title", "_pgrst_row"),
        ("_pgrst_row:title", "_pgrst_row_"),
        (
            "_pgrst_row:title,_pgrst_row_:directors(name)",
            "_pgrst_row__",
        ),
    ] {
        let (text, _) = statement(&format!("GET /films?select={select}"));

        assert!(text.contains(&format!("json_agg({row})")), "{text}");
        assert!(text.ends_with(&format!(") {row}")), "{text}");
    }
}
