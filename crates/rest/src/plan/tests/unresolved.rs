//! Errors of missing and ambiguous names, word for word.

use serde_json::{Value::Null, json};

use super::*;

fn text(text: &str) -> Value {
    Value::from(text)
}

#[test]
fn a_relation_that_is_not_there() {
    check_error(
        "GET /flims",
        (
            "PGRST205",
            "Could not find the table 'api.flims' in the schema cache",
            Null,
            Null,
        ),
    );
    check_error(
        "PATCH /film\n\n{}",
        (
            "PGRST205",
            "Could not find the table 'api.film' in the schema cache",
            Null,
            text("Perhaps you meant the table 'api.films'"),
        ),
    );
    check_error(
        "OPTIONS /nothing",
        (
            "PGRST205",
            "Could not find the table 'api.nothing' in the schema cache",
            Null,
            Null,
        ),
    );
}

#[test]
fn a_relationship_that_is_not_there() {
    let check = |request: &str, origin: &str, target: &str, using: &str, hint: Value| {
        let message = format!(
            "Could not find a relationship between '{origin}' and '{target}' in the schema cache"
        );
        let details = format!(
            "Searched for a foreign key relationship between '{origin}' and '{target}'{using} in \
             the schema 'api', but no matches were found."
        );
        check_error(request, ("PGRST200", &message, details.into(), hint));
    };

    let meant = |name: &str, instead_of: &str| {
        Value::from(format!(
            "Perhaps you meant '{name}' instead of '{instead_of}'."
        ))
    };
    check(
        "GET /films?select=director(*)",
        "films",
        "director",
        "",
        meant("directors", "director"),
    );
    check("GET /films?select=xyz(*)", "films", "xyz", "", Null);
    check("GET /lonely?select=films(*)", "lonely", "films", "", Null);
    let hinted = "GET /films?select=directors!wrong(*)";
    check(
        hinted,
        "films",
        "directors",
        " using the hint 'wrong'",
        Null,
    );
    // A composite key has no single column to name it by.
    check(
        "GET /nominations?select=film_id(*)",
        "nominations",
        "film_id",
        "",
        meant("films", "film_id"),
    );
    // Neither by its key nor, upwards, by the relation's name with a hint.
    let by_key = "GET /studios?select=studios!studios_parent_fkey(*)";
    check(
        by_key,
        "studios",
        "studios",
        " using the hint 'studios_parent_fkey'",
        Null,
    );
    // The result of a function is known by the function's name.
    let of_scalars = "GET /rpc/years?select=films(*)";
    check(of_scalars, "years", "films", "", meant("actors", "years"));
}

#[test]
fn relationships_of_which_any_could_be_meant() {
    check_error(
        "GET /premieres?select=cinemas(*)",
        (
            "PGRST201",
            "Could not embed because more than one relationship was found for 'premieres' and \
             'cinemas'",
            json!([
                {
                    "cardinality": "many-to-one",
                    "embedding": "premieres with cinemas",
                    "relationship": "premieres_closing_fkey using premieres(closing_cinema) and \
                                     cinemas(id)",
                },
                {
                    "cardinality": "many-to-one",
                    "embedding": "premieres with cinemas",
                    "relationship": "premieres_opening_fkey using premieres(opening_cinema) and \
                                     cinemas(id)",
                },
            ]),
            text(
                "Try changing 'cinemas' to one of the following: \
                 'cinemas!premieres_closing_fkey', 'cinemas!premieres_opening_fkey'. Find the \
                 desired relationship in the 'details' key.",
            ),
        ),
    );
}

#[test]
fn a_column_that_is_not_there() {
    let message = "Could not find the 'wrong' column of 'films' in the schema cache";
    for request in [
        "POST /films\n\n{\"id\":1,\"wrong\":2}",
        "POST /films?columns=wrong\n\n{\"id\":1}",
        "PATCH /films\n\n{\"wrong\":2}",
        "PUT /films?id=eq.1\n\n{\"id\":1,\"wrong\":2}",
    ] {
        check_error(request, ("PGRST204", message, Null, Null));
    }
}

#[test]
fn a_function_that_is_not_there() {
    let check = |request: &str, shown: &str, searched: &str, hint: Option<&str>| {
        let message = format!("Could not find the function api.{shown} in the schema cache");
        let details = format!(
            "Searched for the function api.{searched}, but no matches were found in the schema \
             cache."
        );
        let hint = hint.map_or(Null, |text| {
            Value::from(format!("Perhaps you meant to call the function api.{text}"))
        });
        check_error(request, ("PGRST202", &message, details.into(), hint));
    };

    check(
        "GET /rpc/yearz",
        "yearz without parameters",
        "yearz without parameters",
        Some("years"),
    );
    check(
        "GET /rpc/nothing",
        "nothing without parameters",
        "nothing without parameters",
        None,
    );
    check(
        "GET /rpc/add?b=1",
        "add(b)",
        "add with parameter b",
        Some("add(a, b)"),
    );
    check(
        "GET /rpc/add?c=1&b=1",
        "add(b, c)",
        "add with parameters b, c",
        Some("add(a, b)"),
    );
    check(
        "POST /rpc/add\n\n{\"b\":1,\"a\":1,\"c\":1}",
        "add(a, b, c)",
        "add with parameters a, b, c or with a single unnamed json/jsonb parameter",
        Some("add(a, b)"),
    );
    check(
        "POST /rpc/add\n\n{}",
        "add without parameters",
        "add without parameters or with a single unnamed json/jsonb parameter",
        None,
    );
    let raw = |content_type: &str| format!("POST /rpc/years\ncontent-type: {content_type}\n\nx");
    check(
        &raw("text/plain"),
        "years",
        "years with a single unnamed text parameter",
        None,
    );
    check(
        &raw("text/xml"),
        "years",
        "years with a single unnamed xml parameter",
        None,
    );
    check(
        &raw("application/octet-stream"),
        "years",
        "years with a single unnamed bytea parameter",
        None,
    );
    check(
        "POST /rpc/add\ncontent-type: application/x-www-form-urlencoded\n\na=1",
        "add(a)",
        "add with parameter a",
        Some("add(a, b)"),
    );
}

#[test]
fn overloads_of_which_any_could_be_meant() {
    let hint = "Try renaming the parameters or the function itself in the database so function \
                overloading can be resolved";
    let check = |request: &str, candidates: &str| {
        let message = format!("Could not choose the best candidate function between: {candidates}");
        check_error(request, ("PGRST203", &message, Null, hint.into()));
    };

    check(
        "GET /rpc/pick?key=1",
        "api.pick(key => integer), api.pick(key => text), \
         api.pick(key => integer, second => integer)",
    );
    check(
        "POST /rpc/notes\n\n{\"x\":1}",
        "api.notes( => json), api.notes( => jsonb)",
    );
    assert_eq!(code(&Cinema::new(), "GET /rpc/pick?key=1&second=2"), "");
}
