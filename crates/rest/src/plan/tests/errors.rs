//! Errors of invalid requests, word for word.

use serde_json::Value::Null;

use super::*;

fn text(text: &str) -> Value {
    Value::from(text)
}

#[test]
fn a_path_that_leads_to_no_embed() {
    let hint = text("Verify that 'roles' is included in the 'select' query parameter.");
    let message = "'roles' is not an embedded resource in this request";
    for parameter in [
        "roles.id=eq.1",
        "roles.order=id",
        "roles.limit=1",
        "roles.or=(id.eq.1)",
        "directors.roles.id=eq.1",
        "order=roles(id)",
    ] {
        let request = format!("GET /films?select=directors(*)&{parameter}");
        check_error(&request, ("PGRST108", message, Null, hint.clone()));
    }
}

#[test]
fn a_relation_s_own_name_where_only_its_alias_counts() {
    let cinema = Cinema::new().with(|config| config.legacy_target_names = false);
    check_error_in(
        &cinema,
        "GET /films?select=d:directors(*)&directors.id=eq.1",
        (
            "PGRST108",
            "'directors' is not an embedded resource in this request",
            text("Target names are not allowed in filters if they have an alias"),
            text("Change 'directors' to 'd' in filters, orders or limits."),
        ),
    );
    assert_eq!(
        code(&cinema, "GET /films?select=d:directors(*)&d.id=eq.1"),
        ""
    );
    assert_eq!(
        code(&cinema, "GET /films?select=directors(*)&directors.id=eq.1"),
        ""
    );
}

#[test]
fn an_order_by_many_rows() {
    check_error(
        "GET /films?select=r:roles(*)&order=r(id)",
        (
            "PGRST118",
            "A related order on 'r' is not possible",
            text("'films' and 'r' do not form a many-to-one or one-to-one relationship"),
            Null,
        ),
    );
}

#[test]
fn aggregates_that_are_disabled() {
    let cinema = Cinema::new().with(|config| config.aggregates_enabled = false);
    for select in [
        "count()",
        "year.max()",
        "title,roles(count())",
        "...directors(count())",
    ] {
        check_error_in(
            &cinema,
            &format!("GET /films?select={select}"),
            (
                "PGRST123",
                "Use of aggregate functions is not allowed",
                Null,
                Null,
            ),
        );
    }
}

#[test]
fn aggregates_inside_a_to_many_spread() {
    let details = "Aggregates are not implemented for one-to-many or many-to-many spreads.";
    for request in [
        "GET /films?select=...roles(count())",
        "GET /films?select=...actors(name.max())",
        "GET /directors?select=...films(...directors(id.count()))",
    ] {
        check_error(
            request,
            ("PGRST127", "Feature not implemented", text(details), Null),
        );
    }
}

#[test]
fn a_put_that_does_not_name_its_row() {
    let message = "Filters must include all and only primary key columns with 'eq' operators";
    for target in [
        "films",
        "films?year=eq.1",
        "films?id=eq.1&year=eq.1",
        "films?id=gt.1",
        "films?id=not.eq.1",
        "films?id=eq(any).{1}",
        "films?and=(id.eq.1)",
        "films?id=eq.1&or=(id.eq.1)",
        "roles?film_id=eq.1",
        "lonely?remark=eq.x",
    ] {
        let request = format!("PUT /{target}\n\n{{}}");
        check_error(&request, ("PGRST105", message, Null, Null));
    }
    let cinema = Cinema::new();
    assert_eq!(code(&cinema, "PUT /films?id=eq.1\n\n{\"id\":1}"), "");
    assert_eq!(
        code(&cinema, "PUT /roles?film_id=eq.1&actor_id=eq.2\n\n{}"),
        ""
    );
}

#[test]
fn wishes_that_mean_nothing_under_strict_handling() {
    check_error(
        "GET /films\nprefer: handling=strict, anything, count=none",
        (
            "PGRST122",
            "Invalid preferences given with handling=strict",
            text("Invalid preferences: anything, count=none"),
            Null,
        ),
    );
    assert_eq!(code(&Cinema::new(), "GET /films\nprefer: anything"), "");
}

#[test]
fn of_several_faults_the_earlier_step_s_is_reported() {
    let cinema = Cinema::new().with(|config| config.aggregates_enabled = false);
    let check = |request: &str, expected: &str| {
        assert_eq!(code(&cinema, request), expected, "{request}");
    };
    let strict = "accept: text/unknown\nprefer: handling=strict, nonsense";

    check(&format!("GET /nothing?select=x(*)\n{strict}"), "PGRST205");
    check(
        &format!("GET /films?select=x(*)&y.id=eq.1\n{strict}"),
        "PGRST108",
    );
    check(
        &format!("GET /films?select=count(),x(*)\n{strict}"),
        "PGRST200",
    );
    check(
        &format!("GET /films?select=count(),roles(*)&order=roles(id)\n{strict}"),
        "PGRST118",
    );
    check(&format!("GET /films?select=count()\n{strict}"), "PGRST123");
    check(
        &format!("PATCH /films\n{strict}\n\n{{\"wrong\":1}}"),
        "PGRST204",
    );
    // Reads look at Accept first, mutations at Prefer.
    check(&format!("GET /films\n{strict}"), "PGRST107");
    check(&format!("GET /rpc/years\n{strict}"), "PGRST107");
    check(&format!("PATCH /films\n{strict}\n\n{{}}"), "PGRST122");
}

#[test]
fn a_limit_of_rows_affected_needs_rows() {
    let strict = "prefer: handling=strict, max-affected=1";
    check_error(
        &format!("GET /rpc/ping\n{strict}"),
        (
            "PGRST128",
            "Function must return SETOF or TABLE when max-affected preference is used with \
             handling=strict",
            Null,
            Null,
        ),
    );
    let cinema = Cinema::new();
    assert_eq!(code(&cinema, &format!("GET /rpc/years\n{strict}")), "");
    assert_eq!(code(&cinema, "GET /rpc/ping\nprefer: max-affected=1"), "");
}
