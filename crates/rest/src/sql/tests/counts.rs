//! Totals: counted, estimated or not requested.

use super::*;

fn total(cinema: &Cinema, request: &str) -> String {
    let (text, _) = statement_in(cinema, request);
    text.split_once(" as total")
        .and_then(|(before, _)| before.rsplit_once(") select "))
        .map_or_else(
            || panic!("no total in {text}"),
            |(_, total)| total.to_owned(),
        )
}

fn explain(cinema: &Cinema, request: &str) -> Option<String> {
    cinema.statements(request, |statements| {
        let explain = statements.expect("a statement").explain;
        explain.map(|sql| format!("{} {:?}", sql.text(), values(&sql)))
    })
}

const PAGE: &str = "pg_catalog.count(_pgrst_row)";
const COUNTED: &str = "(select pg_catalog.count(*) from pgrst_source_count)";

#[test]
fn nothing_is_counted_unless_requested() {
    let cinema = Cinema::new();
    assert_eq!(total(&cinema, "GET /films?limit=1"), "null::bigint");
    assert_eq!(
        total(&cinema, "GET /films?limit=1\nprefer: count=planned"),
        "null::bigint"
    );
    assert_eq!(explain(&cinema, "GET /films\nprefer: count=exact"), None);
}

#[test]
fn without_a_limit_the_page_is_everything() {
    let cinema = Cinema::new();
    assert_eq!(total(&cinema, "GET /films\nprefer: count=exact"), PAGE);
    assert_eq!(
        total(&cinema, "GET /films?limit=1\nprefer: count=exact"),
        COUNTED
    );
    let limited = Cinema::new().with(|config| config.max_rows = Some(10));
    assert_eq!(total(&limited, "GET /films\nprefer: count=exact"), COUNTED);
}

#[test]
fn a_count_knows_filters_inner_embeds_and_absences_but_no_page() {
    let (text, values) = statement(
        "GET /films?select=title,roles!inner(actors!inner(name)),directors()&year=eq.1&directors=is.null\
         &roles.actors.name=eq.a&order=title&limit=5\nprefer: count=exact",
    );

    assert_eq!(
        between(&text, "pgrst_source_count as (", ") select "),
        r#"select 1 from "api"."films" where "api"."films"."year" = $5 and not exists (select 1 from "api"."directors" as "directors_1" where "directors_1"."id" = "api"."films"."director_id") and exists (select 1 from "api"."roles" as "roles_1" where "roles_1"."film_id" = "api"."films"."id" and exists (select 1 from "api"."actors" as "actors_2" where "actors_2"."name" = $6 and "actors_2"."id" = "roles_1"."actor_id"))"#
    );
    assert_eq!(values, ["a", "1", "5", "0", "1", "a"]);
}

#[test]
fn an_estimate_counts_no_further_than_one_page_and_asks_the_planner() {
    let cinema = Cinema::new().with(|config| config.max_rows = Some(10));
    let request = "GET /films?select=id&year=eq.1\nprefer: count=estimated";
    let (text, values) = statement_in(&cinema, request);

    assert_eq!(
        between(&text, "pgrst_source_count as (", ") select "),
        r#"select 1 from "api"."films" where "api"."films"."year" = $4 limit $5"#
    );
    assert_eq!(values, ["1", "10", "0", "1", "11"]);
    assert_eq!(
        explain(&cinema, request).as_deref(),
        Some(
            r#"explain (format json) select 1 from "api"."films" where "api"."films"."year" = $1 ["1"]"#
        )
    );
}

#[test]
fn a_plan_has_the_number_of_rows_too() {
    let cinema = Cinema::new();
    let request = "GET /films?select=id&limit=1\nprefer: count=planned";
    assert_eq!(
        explain(&cinema, request).as_deref(),
        Some(r#"explain (format json) select 1 from "api"."films" []"#)
    );
}

#[test]
fn rows_of_a_function_are_counted_or_not() {
    let cinema = Cinema::new();
    let check = |function: &str, count: &str, expected: &str| {
        let request = format!("GET /rpc/{function}\nprefer: count={count}");
        assert_eq!(total(&cinema, &request), expected, "{request}");
        assert_eq!(explain(&cinema, &request), None, "{request}");
    };

    check("years", "exact", PAGE);
    check("years", "estimated", PAGE);
    check("years", "planned", "null::bigint");
    check("years?limit=1", "exact", COUNTED);
    check("newest_film", "exact", "1::bigint");
    check("newest_film", "planned", "null::bigint");
}
