//! The media type of the response.

use serde_json::Value::Null;

use super::*;

/// Checks the handler and media type of a request.
#[track_caller]
fn check_output(request: &str, expected: (&str, &str)) {
    let (handler, media_type) = Cinema::new().plan(request, |planned| {
        let plan = planned.expect("a plan").plan;
        let output = match &plan {
            Plan::Read(plan) => &plan.output,
            Plan::Mutate(plan) => &plan.output,
            Plan::Call(plan) => &plan.output,
            other => panic!("no body, but {other:?}"),
        };
        (format!("{:?}", output.handler), output.media_type.mime())
    });
    assert!(handler.contains(expected.0), "{request}: {handler}");
    assert_eq!(media_type, expected.1, "{request}");
}

#[test]
fn types_of_our_own() {
    let check = |accept: &str, handler, media_type| {
        check_output(
            &format!("GET /films\naccept: {accept}"),
            (handler, media_type),
        );
    };
    let (json, plain) = ("application/json", "Json { strips_nulls: false }");

    check("*/*", plain, json);
    check("application/json", plain, json);
    check("application/vnd.pgrst.array+json", plain, json);
    check("text/html, application/json;q=0.9", plain, json);
    check("text/csv", "Csv", "text/csv");
    check("application/geo+json", "GeoJson", "application/geo+json");
    let object = "application/vnd.pgrst.object+json";
    check(object, "Object { strips_nulls: false }", object);
    let stripped = "application/vnd.pgrst.object+json;nulls=stripped";
    check(stripped, "Object { strips_nulls: true }", stripped);
    let stripped = "application/vnd.pgrst.array+json;nulls=stripped";
    check(stripped, "Json { strips_nulls: true }", stripped);
}

#[test]
fn head_and_minimal_mutations_have_no_body() {
    check_output("HEAD /films", ("Nothing", "application/json"));
    check_output("HEAD /rpc/years", ("Nothing", "application/json"));
    check_output("POST /films\n\n{}", ("Nothing", "application/json"));
    let shown = "POST /films\nprefer: return=representation\n\n{}";
    check_output(shown, ("Json", "application/json"));
}

#[test]
fn handlers_of_a_relation_take_whole_rows() {
    check_output(
        "GET /films\naccept: video/reel",
        ("film_reel", "video/reel"),
    );
    let films = "GET /rpc/films_by?director=1\naccept: video/reel";
    check_output(films, ("film_reel", "video/reel"));
    check_output(
        "GET /rpc/poster\naccept: image/png",
        ("poster", "image/png"),
    );
    check_output(
        "GET /studios\naccept: x/y",
        ("anything", "application/octet-stream"),
    );
    check_output(
        "GET /films?select=id\naccept: text/tab-separated-values",
        ("lines", "text/tab-separated-values"),
    );
    for request in [
        "GET /films?select=id",
        "GET /films?select=*,roles()",
        "GET /roles",
    ] {
        check_error(
            &format!("{request}\naccept: video/reel"),
            (
                "PGRST107",
                "None of these media types are available: video/reel",
                Null,
                Null,
            ),
        );
    }
}

#[test]
fn plans_are_shown_where_that_is_allowed() {
    let request = "GET /films\naccept: application/vnd.pgrst.plan+json; for=\"text/csv\"";
    check_output(
        request,
        ("Csv", "application/vnd.pgrst.plan+json; for=\"text/csv\""),
    );
    let cinema = Cinema::new().with(|config| config.plan_enabled = false);
    assert_eq!(code(&cinema, request), "PGRST107");
}

#[test]
fn the_document_has_types_of_its_own() {
    let cinema = Cinema::new();
    for accept in ["*/*", "application/json", "application/openapi+json"] {
        assert_eq!(code(&cinema, &format!("GET /\naccept: {accept}")), "");
    }
    assert_eq!(code(&cinema, "GET /\naccept: text/csv"), "PGRST107");
}
