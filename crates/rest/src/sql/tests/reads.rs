//! Columns, joins, groups, orders and ranges.

use super::*;

#[test]
fn a_whole_statement() {
    let (text, values) = statement("GET /films?select=id,title&year=gte.1990&limit=5&offset=2");

    assert_eq!(
        text,
        r#"with pgrst_source as (select "api"."films"."id", "api"."films"."title" from "api"."films" where "api"."films"."year" >= $1 limit $2 offset $3) select null::bigint as total, pg_catalog.count(_pgrst_row) as rows, coalesce(json_agg(_pgrst_row), '[]') as body, nullif(current_setting('response.headers', true), '') as response_headers, nullif(current_setting('response.status', true), '') as response_status, null::int as inserted from (select * from pgrst_source) _pgrst_row"#
    );
    assert_eq!(values, ["1990", "5", "2"]);
}

#[test]
fn columns() {
    check_rows(
        "GET /films?select=t:title,year::double precision,info->a->>b,*,x:info->0::text",
        r#"select "api"."films"."title" as "t", cast("api"."films"."year" as double precision), "api"."films"."info"->$1->>$2 as "b", "api"."films".*, cast("api"."films"."info"->$3::int as text) as "x" from "api"."films""#,
        &["a", "b", "0"],
    );
    check_rows(
        "GET /colours?select=shade,n:name",
        r#"select api.colour_to_json("api"."colours"."shade") as "shade", "api"."colours"."name" as "n" from "api"."colours""#,
        &[],
    );
}

#[test]
fn to_one_embeds_are_rows() {
    check_rows(
        "GET /films?select=title,d:directors(name)",
        r#"select "api"."films"."title", row_to_json("films_d_1".*) as "d" from "api"."films" left join lateral (select "directors_1"."name" from "api"."directors" as "directors_1" where "directors_1"."id" = "api"."films"."director_id") as "films_d_1" on true"#,
        &[],
    );
    check_rows(
        "GET /films?select=technical_specs!inner(*)&technical_specs.camera=eq.x",
        r#"select row_to_json("films_technical_specs_1".*) as "technical_specs" from "api"."films" inner join lateral (select "technical_specs_1".* from "api"."technical_specs" as "technical_specs_1" where "technical_specs_1"."camera" = $1 and "technical_specs_1"."film_id" = "api"."films"."id") as "films_technical_specs_1" on true"#,
        &["x"],
    );
}

#[test]
fn to_many_embeds_are_arrays() {
    check_rows(
        "GET /directors?select=name,films(title)&films.order=year.desc&films.limit=2",
        r#"select "api"."directors"."name", coalesce("directors_films_1"."directors_films_1", '[]') as "films" from "api"."directors" left join lateral (select json_agg("directors_films_1") as "directors_films_1" from (select "films_1"."title" from "api"."films" as "films_1" where "films_1"."director_id" = "api"."directors"."id" order by "films_1"."year" desc limit $1 offset $2) as "directors_films_1") as "directors_films_1" on true"#,
        &["2", "0"],
    );
    check_rows(
        "GET /directors?select=name,films!inner()",
        r#"select "api"."directors"."name" from "api"."directors" inner join lateral (select json_agg("directors_films_1") as "directors_films_1" from (select "films_1".* from "api"."films" as "films_1" where "films_1"."director_id" = "api"."directors"."id") as "directors_films_1") as "directors_films_1" on "directors_films_1" is not null"#,
        &[],
    );
}

#[test]
fn keys_of_several_columns_join_by_all_of_them() {
    let (text, _) = statement("GET /nominations?select=films(title)");

    assert_eq!(
        between(&text, " where ", ") as "),
        r#""films_1"."id" = "api"."nominations"."film_id" and "films_1"."year" = "api"."nominations"."film_year""#
    );
}

#[test]
fn a_junction_stands_beside_the_relation_it_leads_to() {
    let (text, _) = statement("GET /films?select=actors(name)");

    assert_eq!(
        between(&text, "from (", ") as "),
        r#"select "api"."actors"."name" from "api"."actors", "api"."roles" where "api"."roles"."actor_id" = "api"."actors"."id" and "api"."roles"."film_id" = "api"."films"."id""#
    );
}

#[test]
fn computed_relationships_are_calls() {
    check_rows(
        "GET /directors?select=best_film(title)",
        r#"select row_to_json("directors_best_film_1".*) as "best_film" from "api"."directors" left join lateral (select "films_1"."title" from "api"."best_film"("directors"::"api"."directors") as "films_1") as "directors_best_film_1" on true"#,
        &[],
    );
}

#[test]
fn a_to_one_spread_selects_the_columns_again() {
    check_rows(
        "GET /films?select=title,...directors(director:name)",
        r#"select "api"."films"."title", "films_directors_1"."director" from "api"."films" left join lateral (select "directors_1"."name" as "director" from "api"."directors" as "directors_1" where "directors_1"."id" = "api"."films"."director_id") as "films_directors_1" on true"#,
        &[],
    );
}

#[test]
fn a_to_many_spread_makes_an_array_of_each_column() {
    check_rows(
        "GET /films?select=...roles(character)&roles.order=actor_id.desc.nullslast",
        r#"select "films_roles_1"."character" from "api"."films" left join lateral (select json_agg("films_roles_1") as "films_roles_1", coalesce(json_agg("films_roles_1"."character" order by "films_roles_1"."films_roles_1_actor_id_1" desc nulls last), '[]') as "character" from (select "roles_1"."character", "roles_1"."actor_id" as "films_roles_1_actor_id_1" from "api"."roles" as "roles_1" where "roles_1"."film_id" = "api"."films"."id") as "films_roles_1") as "films_roles_1" on true"#,
        &[],
    );
}

#[test]
fn aggregates_group_by_all_that_is_beside_them() {
    check_rows(
        "GET /films?select=year,y:year::text,count(),s:id::int.sum()::text",
        r#"select "api"."films"."year", cast("api"."films"."year" as text) as "y", count("api"."films".*), cast(sum(cast("api"."films"."id" as int)) as text) as "s" from "api"."films" group by "api"."films"."year", "y""#,
        &[],
    );
    check_rows(
        "GET /films?select=id.max(),roles(character)",
        r#"select max("api"."films"."id"), coalesce("films_roles_1"."films_roles_1", '[]') as "roles" from "api"."films" left join lateral (select json_agg("films_roles_1")::jsonb as "films_roles_1" from (select "roles_1"."character" from "api"."roles" as "roles_1" where "roles_1"."film_id" = "api"."films"."id") as "films_roles_1") as "films_roles_1" on true group by "roles""#,
        &[],
    );
    check_rows(
        "GET /films?select=id.avg()",
        r#"select avg("api"."films"."id") from "api"."films""#,
        &[],
    );
}

#[test]
fn aggregates_of_a_spread_happen_in_its_parent() {
    check_rows(
        "GET /films?select=year,...directors(name,count(),born.min()::text)",
        r#"select "api"."films"."year", "films_directors_1"."name", count("films_directors_1"."count") as "count", cast(min("films_directors_1"."min") as text) as "min" from "api"."films" left join lateral (select "directors_1"."name", "directors_1" as "count", "directors_1"."born" as "min" from "api"."directors" as "directors_1" where "directors_1"."id" = "api"."films"."director_id") as "films_directors_1" on true group by "api"."films"."year", "films_directors_1"."name""#,
        &[],
    );
}

#[test]
fn orders() {
    check_rows(
        "GET /films?select=id,directors(name)&order=id,year.asc,title.desc.nullsfirst,info->a.nullslast,directors(name)",
        r#"select "api"."films"."id", row_to_json("films_directors_1".*) as "directors" from "api"."films" left join lateral (select "directors_1"."name" from "api"."directors" as "directors_1" where "directors_1"."id" = "api"."films"."director_id") as "films_directors_1" on true order by "api"."films"."id", "api"."films"."year" asc, "api"."films"."title" desc nulls first, "api"."films"."info"->$1 nulls last, "films_directors_1"."name""#,
        &["a"],
    );
}

#[test]
fn ranges() {
    let check = |query: &str, expected: &str, values: &[&str]| {
        let rows = format!(r#"select "api"."films".* from "api"."films"{expected}"#);
        check_rows(&format!("GET /films?{query}"), &rows, values);
    };

    check("limit=3", " limit $1 offset $2", &["3", "0"]);
    check("offset=3", " limit all offset $1", &["3"]);
    check("limit=0", " limit $1 offset $2", &["0", "0"]);
}

#[test]
fn an_embed_s_absence_is_tested_on_the_joined_row() {
    let check = |filter: &str, expected: &str| {
        let (text, _) = statement(&format!("GET /films?select=directors()&{filter}"));
        assert_eq!(between(&text, "on true where ", READ_SUFFIX), expected);
    };

    check(
        "directors=is.null",
        r#""films_directors_1" is not distinct from null"#,
    );
    check(
        "directors=not.is.null",
        r#""films_directors_1" is distinct from null"#,
    );
}
