//! Filters, logic trees and paths.

use super::*;

#[track_caller]
fn check(query: &str, expected: &str, expected_values: &[&str]) {
    let rows = format!(r#"select "api"."films".* from "api"."films" where {expected}"#);
    check_rows(&format!("GET /films?{query}"), &rows, expected_values);
}

/// One operator on the column `id`.
#[track_caller]
fn check_operator(filter: &str, expected: &str, expected_values: &[&str]) {
    let expected = format!(r#""api"."films"."id"{expected}"#);
    check(&format!("id={filter}"), &expected, expected_values);
}

#[test]
fn comparisons() {
    check_operator("eq.1", " = $1", &["1"]);
    check_operator("neq.1", " <> $1", &["1"]);
    check_operator("gt.1", " > $1", &["1"]);
    check_operator("gte.1", " >= $1", &["1"]);
    check_operator("lt.1", " < $1", &["1"]);
    check_operator("lte.1", " <= $1", &["1"]);
    check_operator("eq.", " = $1", &[""]);
    check_operator("eq.null", " = $1", &["null"]);
    check_operator("eq.\"a\",b(c)", " = $1", &["\"a\",b(c)"]);
    check_operator("isdistinct.null", " is distinct from $1", &["null"]);
}

#[test]
fn patterns() {
    check_operator("like.*a_b%25*", " like $1", &["%a_b%%"]);
    check_operator("ilike.*a", " ilike $1", &["%a"]);
    check_operator("match.^a.*", " ~ $1", &["^a.*"]);
    check_operator("imatch.a*", " ~* $1", &["a*"]);
}

#[test]
fn arrays_and_ranges() {
    check_operator("cs.{1,2}", " @> $1", &["{1,2}"]);
    check_operator("cd.{1}", " <@ $1", &["{1}"]);
    check_operator("ov.[1,2)", " && $1", &["[1,2)"]);
    check_operator("sl.(1,2)", " << $1", &["(1,2)"]);
    check_operator("sr.(1,2)", " >> $1", &["(1,2)"]);
    check_operator("nxr.(1,2)", " &< $1", &["(1,2)"]);
    check_operator("nxl.(1,2)", " &> $1", &["(1,2)"]);
    check_operator("adj.(1,2)", " -|- $1", &["(1,2)"]);
}

#[test]
fn one_of_many() {
    check_operator("in.(1,2)", " = any($1)", &[r#"{"1","2"}"#]);
    check_operator(
        r#"in.("a,b",c"d,e\)"#,
        " = any($1)",
        &[r#"{"a,b","c\"d","e\\"}"#],
    );
    check_operator("in.()", " = any('{}')", &[]);
    check_operator("in.(,3)", " = any($1)", &[r#"{"","3"}"#]);
    check_operator("in.(null)", " = any($1)", &[r#"{"null"}"#]);
    check_operator("eq(any).{1,2}", " = any($1)", &["{1,2}"]);
    check_operator("gt(all).{1,2}", " > all($1)", &["{1,2}"]);
    check_operator("like(any).{a*,b}", " like any($1)", &["{a%,b}"]);
    check_operator("ilike(all).{*a}", " ilike all($1)", &["{%a}"]);
    check_operator("match(any).{a*}", " ~ any($1)", &["{a*}"]);
}

#[test]
fn keywords_are_no_values() {
    check_operator("is.null", " is null", &[]);
    check_operator("is.NOT_NULL", " is not null", &[]);
    check_operator("is.true", " is true", &[]);
    check_operator("is.false", " is false", &[]);
    check_operator("is.unknown", " is unknown", &[]);
}

#[test]
fn searches() {
    let check = |filter: &str, expected: &str, values: &[&str]| {
        check(filter, expected, values);
    };
    check(
        "plot=fts.a",
        r#""api"."films"."plot" @@ to_tsquery($1)"#,
        &["a"],
    );
    check(
        "plot=plfts.a",
        r#""api"."films"."plot" @@ plainto_tsquery($1)"#,
        &["a"],
    );
    check(
        "plot=phfts.a",
        r#""api"."films"."plot" @@ phraseto_tsquery($1)"#,
        &["a"],
    );
    check(
        "summary=wfts(german).a",
        r#""api"."films"."summary" @@ websearch_to_tsquery($1, $2)"#,
        &["german", "a"],
    );
    check(
        "title=not.fts(german).a",
        r#"not to_tsvector($1, "api"."films"."title") @@ to_tsquery($2, $3)"#,
        &["german", "german", "a"],
    );
}

#[test]
fn negations_and_logic_trees() {
    check("id=not.eq.1", r#"not "api"."films"."id" = $1"#, &["1"]);
    check(
        "id=eq.1&not.or=(year.eq.2,and(id.not.gt.3,title.is.null))",
        r#""api"."films"."id" = $1 and not ("api"."films"."year" = $2 or (not "api"."films"."id" > $3 and "api"."films"."title" is null))"#,
        &["1", "2", "3"],
    );
    check(
        r#"and=(title.eq."a,b",tags.cs.{x,y},id.in.(1,2))"#,
        r#"("api"."films"."title" = $1 and "api"."films"."tags" @> $2 and "api"."films"."id" = any($3))"#,
        &["a,b", "{x,y}", r#"{"1","2"}"#],
    );
}

#[test]
fn paths_into_json_and_into_what_becomes_json() {
    check(
        "info->>a=eq.1",
        r#""api"."films"."info"->>$1 = $2"#,
        &["a", "1"],
    );
    check(
        "info->a->0->>-1=is.null",
        r#""api"."films"."info"->$1->$2::int->>$3::int is null"#,
        &["a", "0", "-1"],
    );
    check(
        "tags->0=eq.1",
        r#"to_jsonb("api"."films"."tags")->$1::int = $2"#,
        &["0", "1"],
    );
    check(
        "thing->>a=eq.1",
        r#"to_jsonb("api"."films"."thing")->>$1 = $2"#,
        &["a", "1"],
    );
}

#[test]
fn values_of_a_domain_are_read_by_its_function() {
    let check = |filter: &str, expected: &str, values: &[&str]| {
        let (text, found) = statement(&format!("GET /colours?select=id&shade={filter}"));
        let condition = between(&text, " where ", READ_SUFFIX);
        assert_eq!(condition, format!(r#""api"."colours"."shade" {expected}"#));
        assert_eq!(found, values);
    };

    check("eq.red", "= api.colour_from_text($1)", &["red"]);
    check("neq.red", "<> api.colour_from_text($1)", &["red"]);
    check(
        "in.(red,blue)",
        "= any(select api.colour_from_text(unnest($1::text[])))",
        &[r#"{"red","blue"}"#],
    );
    check("like.r*", "like $1", &["r%"]);
    check("isdistinct.red", "is distinct from $1", &["red"]);
}
