//! Plans of requests to the sample cinema.

use serde_json::Value;

use super::{Plan, printer, samples::Cinema};

mod aggregates;
mod conditions;
mod embeds;
mod errors;
mod functions;
mod mutations;
mod negotiation;
mod spreads;
mod unresolved;

/// Checks the read tree of a request.
#[track_caller]
fn check(request: &str, expected: &[&str]) {
    check_in(&Cinema::new(), request, expected);
}

#[track_caller]
fn check_in(cinema: &Cinema, request: &str, expected: &[&str]) {
    let lines = cinema.plan(request, |planned| match &planned.expect("a plan").plan {
        Plan::Read(plan) => printer::lines(&plan.read),
        Plan::Mutate(plan) => printer::lines(&plan.read),
        Plan::Call(plan) => printer::lines(&plan.read),
        other => panic!("no read, but {other:?}"),
    });
    assert_eq!(lines, expected, "{request}");
}

/// Checks code, message, details and hint of an error.
#[track_caller]
fn check_error(request: &str, expected: (&str, &str, Value, Value)) {
    check_error_in(&Cinema::new(), request, expected);
}

#[track_caller]
fn check_error_in(cinema: &Cinema, request: &str, expected: (&str, &str, Value, Value)) {
    let error = cinema.plan(request, |planned| planned.expect_err("an error").render());
    let (code, message, details, hint) = expected;
    assert_eq!(error.code, code, "{request}");
    assert_eq!(error.message, message, "{request}");
    assert_eq!(error.details, details, "{request}");
    assert_eq!(error.hint, hint, "{request}");
}

/// The error's code; empty if there is none.
fn code(cinema: &Cinema, request: &str) -> String {
    cinema.plan(request, |planned| match planned {
        Ok(_) => String::new(),
        Err(error) => error.render().code,
    })
}
