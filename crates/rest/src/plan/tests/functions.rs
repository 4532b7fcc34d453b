//! The overload and arguments of calls.

use super::{
    super::{Argument, Arguments, CallPlan},
    *,
};

fn call<T>(request: &str, look: impl FnOnce(&CallPlan<'_>) -> T) -> T {
    Cinema::new().plan(request, |planned| match planned.expect("a plan").plan {
        Plan::Call(plan) => look(&plan),
        other => panic!("no call, but {other:?}"),
    })
}

fn arguments(plan: &CallPlan<'_>) -> String {
    match &plan.arguments {
        Arguments::None => String::new(),
        Arguments::Named(named) => {
            let one =
                |(param, argument): &(&crate::schema_cache::Param, Argument<'_>)| match argument {
                    Argument::Value(value) => format!("{}={value}", param.name),
                    Argument::Variadic(values) => format!("{}={values:?}", param.name),
                };
            named.iter().map(one).collect::<Vec<_>>().join(", ")
        }
        Arguments::Json {
            params,
            json,
            is_object,
        } => {
            let names: Vec<&str> = params.iter().map(|param| &*param.name).collect();
            let json = String::from_utf8_lossy(json);
            let kind = if *is_object { "object" } else { "array" };
            format!("{} of the {kind} {json}", names.join(", "))
        }
        Arguments::Body { param, body } => {
            format!("{} {}", String::from_utf8_lossy(body), param.type_name)
        }
    }
}

#[track_caller]
fn check_arguments(request: &str, expected: &str) {
    assert_eq!(call(request, arguments), expected, "{request}");
}

#[test]
fn arguments_come_from_the_query_the_form_or_the_body() {
    check_arguments("GET /rpc/add?a=1&b=2&b=3", "a=1, b=3");
    check_arguments("HEAD /rpc/films_by?director=7&year=gt.2000", "director=7");
    check_arguments(
        "POST /rpc/add\n\n{\"b\":1,\"a\":2}",
        "a, b of the object {\"b\":1,\"a\":2}",
    );
    check_arguments(
        "POST /rpc/add\n\n[{\"a\":1,\"b\":2}]",
        "a, b of the array [{\"a\":1,\"b\":2}]",
    );
    check_arguments(
        "POST /rpc/add?columns=a,b\n\n{\"a\":1,\"b\":2,\"c\":3}",
        "a, b of the object {\"a\":1,\"b\":2,\"c\":3}",
    );
    check_arguments(
        "POST /rpc/add\ncontent-type: application/x-www-form-urlencoded\n\na=1&b=2",
        "a=1, b=2",
    );
    check_arguments("POST /rpc/ping", "");
    check_arguments("GET /rpc/ping", "");
}

#[test]
fn a_variadic_parameter_collects_what_is_repeated() {
    check_arguments(
        "GET /rpc/total?numbers=1&numbers=2",
        "numbers=[\"1\", \"2\"]",
    );
    check_arguments(
        "POST /rpc/total\n\n{\"numbers\":[1,2]}",
        "numbers of the object {\"numbers\":[1,2]}",
    );
}

#[test]
fn a_parameter_without_a_name_takes_the_whole_body() {
    check_arguments("POST /rpc/note\n\n{\"a\": 1}", "{\"a\": 1} jsonb");
    check_arguments(
        "POST /rpc/shout\ncontent-type: text/plain\n\nhello",
        "hello text",
    );
    check_arguments(
        "POST /rpc/markup\ncontent-type: text/xml\n\n<a/>",
        "<a/> xml",
    );
    check_arguments(
        "POST /rpc/store\ncontent-type: application/octet-stream\n\nx",
        "x bytea",
    );
}

#[test]
fn only_what_the_read_needs_is_taken_from_the_result() {
    let check = |request: &str, expected: &[&str]| {
        let returning = call(request, |plan| plan.returning.join(" "));
        assert_eq!(returning, expected.join(" "), "{request}");
    };

    check("GET /rpc/films_by?director=1", &["*"]);
    check("GET /rpc/films_by?director=1&select=title", &["title"]);
    check(
        "GET /rpc/films_by?director=1&select=title&year=gt.1&or=(id.eq.1,id.eq.2)&order=plot",
        &["id", "plot", "title", "year"],
    );
    check(
        "GET /rpc/films_by?director=1&select=title,directors(name)",
        &["director_id", "title"],
    );
    check(
        "GET /rpc/films_by?director=1&select=title,actors(name)",
        &["id", "title"],
    );
    check(
        "GET /rpc/films_by?director=1&select=title,cast_of(name)",
        &["*"],
    );
    check(
        "GET /rpc/films_by?director=1&select=title,roles()&roles=is.null",
        &["id", "title"],
    );
}

#[test]
fn rows_of_a_relation_have_its_relationships() {
    check(
        "GET /rpc/newest_film?select=title,directors(name)&directors=not.is.null",
        &[
            "source as films: title",
            "  where not no films_directors_1",
            "  directors = object of films_directors_1",
            "    directors as directors_1: name",
        ],
    );
    check("POST /rpc/add\n\n{\"a\":1,\"b\":2}", &["source as add: *"]);
}

#[test]
fn reading_calls_and_stable_functions_write_nothing() {
    let is_read_only = |request: &str| call(request, |plan| plan.is_read_only());

    assert!(is_read_only("GET /rpc/rename_all?prefix=x"));
    assert!(is_read_only("POST /rpc/years"));
    assert!(!is_read_only("POST /rpc/rename_all\n\n{\"prefix\":\"x\"}"));
}

#[test]
fn asking_what_may_be_done_resolves_like_a_call() {
    let info = |request: &str| {
        Cinema::new().plan(request, |planned| {
            match planned.map(|planned| planned.plan) {
                Ok(Plan::FunctionInfo(routine)) => routine.name.name.to_string(),
                Ok(other) => panic!("{other:?}"),
                Err(error) => error.render().code,
            }
        })
    };
    assert_eq!(info("OPTIONS /rpc/years"), "years");
    assert_eq!(info("OPTIONS /rpc/nothing"), "PGRST202");
}
