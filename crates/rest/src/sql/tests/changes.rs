//! Inserts, updates and deletes.

use super::*;

const COUNTED_UP: &str = "set_config('plinth.inserted', \
    (coalesce(nullif(current_setting('plinth.inserted', true), ''), '0')::int + 1)::text, true) \
    is not null";
const COUNTED_DOWN: &str = "set_config('plinth.inserted', \
    (coalesce(nullif(current_setting('plinth.inserted', true), ''), '0')::int - 1)::text, true) \
    is not null";

/// Checks the CTE of a mutation.
#[track_caller]
fn check(request: &str, expected: &str, expected_values: &[&str]) {
    let (text, values) = statement(request);
    let change = between(
        &text,
        "with pgrst_source as (",
        ") select null::bigint as total",
    );
    assert_eq!(change, expected, "{request}");
    assert_eq!(values, expected_values, "{request}");
}

const ROWS: &str = "from (select $1::json as json_data) pgrst_payload, lateral";

#[test]
fn a_whole_statement() {
    let request = "POST /films?select=title,directors(name)&order=title\
                   \nprefer: return=representation\n\n{\"title\":\"x\"}";
    let (text, values) = statement(request);

    assert_eq!(
        text,
        r#"with pgrst_source as (insert into "api"."films"("title") select "pgrst_body"."title" from (select $1::json as json_data) pgrst_payload, lateral (select "title" from json_to_record(pgrst_payload.json_data) as _("title" character varying(80))) pgrst_body returning "api"."films"."director_id", "api"."films"."id", "api"."films"."title") select null::bigint as total, pg_catalog.count(_pgrst_row) as rows, null::text as location, coalesce(json_agg(_pgrst_row), '[]') as body, nullif(current_setting('response.headers', true), '') as response_headers, nullif(current_setting('response.status', true), '') as response_status, null::int as inserted from (select "films"."title", row_to_json("films_directors_1".*) as "directors" from pgrst_source as "films" left join lateral (select "directors_1"."name" from "api"."directors" as "directors_1" where "directors_1"."id" = "films"."director_id") as "films_directors_1" on true order by "films"."title") _pgrst_row"#
    );
    assert_eq!(values, [r#"{"title":"x"}"#]);
}

#[test]
fn rows_that_are_not_returned_are_not_read() {
    let (text, _) = statement("POST /films?select=nonsense\n\n{\"id\":1}");

    assert!(text.contains(" returning 1) select "), "{text}");
    assert!(
        text.ends_with(" from (select * from pgrst_source) _pgrst_row"),
        "{text}"
    );
    assert!(text.contains(", ''::text as body,"), "{text}");
}

#[test]
fn many_rows_are_one_insert() {
    check(
        "POST /films?columns=year,id\n\n[{\"id\":1}]",
        &format!(
            r#"insert into "api"."films"("id", "year") select "pgrst_body"."id", "pgrst_body"."year" {ROWS} (select "id", "year" from json_to_recordset(pgrst_payload.json_data) as _("id" integer, "year" integer)) pgrst_body returning 1"#
        ),
        &[r#"[{"id":1}]"#],
    );
}

#[test]
fn rows_without_columns_are_still_rows() {
    let check = |body: &str, rows: &str| {
        let expected = format!(
            r#"insert into "api"."films" select  {ROWS} (select  from {rows}) pgrst_body returning 1"#
        );
        super::changes::check(&format!("POST /films\n\n{body}"), &expected, &[body]);
    };

    check("{}", "(values(1)) _");
    check("[{},{}]", "json_array_elements(pgrst_payload.json_data) _");
    check("[]", "json_array_elements(pgrst_payload.json_data) _");
}

#[test]
fn what_is_missing_takes_its_default() {
    let defaults = "jsonb_build_object('id', nextval('api.ids'::regclass), 'year', 1895)";
    check(
        "POST /films?columns=id,title,year\nprefer: missing=default\n\n{\"id\":1}",
        &format!(
            r#"insert into "api"."films"("id", "title", "year") select "pgrst_body"."id", "pgrst_body"."title", "pgrst_body"."year" from (select $1::jsonb as json_data) pgrst_payload, lateral (select {defaults} || pgrst_payload.json_data as val) pgrst_json_defs, lateral (select "id", "title", "year" from jsonb_to_record(pgrst_json_defs.val) as _("id" integer, "title" character varying(80), "year" integer)) pgrst_body returning 1"#
        ),
        &["{\"id\":1}"],
    );
    check(
        "PATCH /films?columns=year\nprefer: missing=default\n\n[{}]",
        r#"update "api"."films" set "year" = "pgrst_body"."year" from (select $1::jsonb as json_data) pgrst_payload, lateral (select jsonb_agg(jsonb_build_object('year', 1895) || elem) as val from jsonb_array_elements(pgrst_payload.json_data) elem) pgrst_json_defs, lateral (select "year" from jsonb_to_recordset(pgrst_json_defs.val) as _("year" integer)) pgrst_body returning 1"#,
        &["[{}]"],
    );
}

#[test]
fn upserts() {
    let insert = |rest: &str| {
        format!(
            r#"insert into "api"."films"("id", "year") select "pgrst_body"."id", "pgrst_body"."year" {ROWS} (select "id", "year" from json_to_record(pgrst_payload.json_data) as _("id" integer, "year" integer)) pgrst_body{rest} returning 1"#
        )
    };
    let check = |query: &str, resolution: &str, rest: &str| {
        let body = r#"{"id":1,"year":2}"#;
        let request = format!("POST /films{query}\nprefer: resolution={resolution}\n\n{body}");
        super::changes::check(&request, &insert(rest), &[body]);
    };
    let update = format!(
        r#"do update set "id" = excluded."id", "year" = excluded."year" where {COUNTED_DOWN}"#
    );

    check(
        "",
        "merge-duplicates",
        &format!(r#" where {COUNTED_UP} on conflict("id") {update}"#),
    );
    check(
        "?on_conflict=year,title",
        "merge-duplicates",
        &format!(r#" where {COUNTED_UP} on conflict("year", "title") {update}"#),
    );
    check("", "ignore-duplicates", r#" on conflict("id") do nothing"#);
}

#[test]
fn an_upsert_of_nothing_or_without_a_key() {
    let merging = "prefer: resolution=merge-duplicates";
    let (text, _) = statement(&format!("POST /films\n{merging}\n\n{{}}"));
    assert!(
        text.contains(r#" on conflict("id") do nothing returning 1"#),
        "{text}"
    );
    let (text, _) = statement(&format!("POST /lonely\n{merging}\n\n{{\"remark\":\"x\"}}"));
    assert!(!text.contains("on conflict"), "{text}");
}

#[test]
fn a_put_inserts_only_the_row_of_its_address() {
    check(
        "PUT /films?id=eq.7\nprefer: resolution=ignore-duplicates, missing=default\n\n{\"id\":7}",
        &format!(
            r#"insert into "api"."films"("id") select "pgrst_body"."id" {ROWS} (select "id" from json_to_record(pgrst_payload.json_data) as _("id" integer)) pgrst_body where {COUNTED_UP} and "pgrst_body"."id" = $2 on conflict("id") do update set "id" = excluded."id" where {COUNTED_DOWN} returning 1"#
        ),
        &["{\"id\":7}", "7"],
    );
}

#[test]
fn new_rows_are_distinguished_where_that_decides_the_status() {
    let counts = |request: &str| {
        statement(request)
            .0
            .contains("'plinth.inserted', true), '')::int as inserted")
    };

    assert!(counts("PUT /films?id=eq.7\n\n{\"id\":7}"));
    assert!(counts(
        "POST /films\nprefer: resolution=merge-duplicates\n\n{\"id\":7}"
    ));
    assert!(!counts(
        "POST /films\nprefer: resolution=ignore-duplicates\n\n{\"id\":7}"
    ));
    assert!(!counts("POST /films\n\n{\"id\":7}"));
    assert!(!counts("PATCH /films\n\n{\"id\":7}"));
}

#[test]
fn updates() {
    check(
        "PATCH /films?id=eq.1&or=(year.eq.2,year.is.null)\n\n{\"year\":3,\"title\":\"x\"}",
        &format!(
            r#"update "api"."films" set "title" = "pgrst_body"."title", "year" = "pgrst_body"."year" {ROWS} (select "title", "year" from json_to_record(pgrst_payload.json_data) as _("title" character varying(80), "year" integer)) pgrst_body where "api"."films"."id" = $2 and ("api"."films"."year" = $3 or "api"."films"."year" is null) returning 1"#
        ),
        &[r#"{"year":3,"title":"x"}"#, "1", "2"],
    );
}

#[test]
fn an_update_of_nothing_changes_nothing() {
    for body in ["{}", "[]", "[{}]"] {
        check(
            &format!("PATCH /films?id=eq.1\n\n{body}"),
            r#"select null from "api"."films" where false"#,
            &[],
        );
    }
    let shown = "PATCH /films?select=title\nprefer: return=representation\n\n{}";
    let (text, _) = statement(shown);
    assert!(
        text.contains(r#"(select "films"."id", "films"."title" from "api"."films" where false)"#),
        "{text}"
    );
}

#[test]
fn deletes() {
    check(
        "DELETE /films",
        r#"delete from "api"."films" returning 1"#,
        &[],
    );
    check(
        "DELETE /films?id=in.(1,2)\nprefer: return=representation",
        r#"delete from "api"."films" where "api"."films"."id" = any($1) returning "api"."films".*"#,
        &[r#"{"1","2"}"#],
    );
}

#[test]
fn values_of_a_domain_are_read_by_its_function() {
    check(
        "POST /colours\n\n{\"shade\":\"#fff\"}",
        &format!(
            r#"insert into "api"."colours"("shade") select "pgrst_body"."shade" {ROWS} (select api.colour_from_json("shade") as "shade" from json_to_record(pgrst_payload.json_data) as _("shade" json)) pgrst_body returning 1"#
        ),
        &[r##"{"shade":"#fff"}"##],
    );
}

#[test]
fn the_location_is_sent_where_only_headers_are_wanted() {
    let has_location = |request: &str| {
        let (text, _) = statement(request);
        text.contains("case when pg_catalog.count(_pgrst_row) = 1 then (select row_to_json(one)::text from pgrst_source as one limit 1) end as location")
    };

    assert!(has_location(
        "POST /films\nprefer: return=headers-only\n\n{\"id\":1}"
    ));
    assert!(!has_location(
        "POST /films\nprefer: return=representation\n\n{\"id\":1}"
    ));
    assert!(!has_location(
        "POST /lonely\nprefer: return=headers-only\n\n{}"
    ));
    assert!(!has_location(
        "PATCH /films\nprefer: return=headers-only\n\n{\"id\":1}"
    ));
}
