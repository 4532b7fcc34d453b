//! What requests come to, over the cinema of the samples.

use serde_json::Value;

use super::{Plan, printer, samples::Cinema};

mod aggregates;
mod conditions;
mod embeds;
mod functions;
mod mutations;
mod negotiation;
mod refusals;
mod spreads;
mod unresolved;

/// The tree of the read that a request comes to.
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

/// Code, message, details and hint of a refusal.
#[track_caller]
fn check_refusal(request: &str, expected: (&str, &str, Value, Value)) {
    check_refusal_in(&Cinema::new(), request, expected);
}

#[track_caller]
fn check_refusal_in(cinema: &Cinema, request: &str, expected: (&str, &str, Value, Value)) {
    let refusal = cinema.plan(request, |planned| planned.expect_err("a refusal").render());
    let (code, message, details, hint) = expected;
    assert_eq!(refusal.code, code, "{request}");
    assert_eq!(refusal.message, message, "{request}");
    assert_eq!(refusal.details, details, "{request}");
    assert_eq!(refusal.hint, hint, "{request}");
}

/// The refusal's code, or nothing where there is none.
fn code(cinema: &Cinema, request: &str) -> String {
    cinema.plan(request, |planned| match planned {
        Ok(_) => String::new(),
        Err(error) => error.render().code,
    })
}
