//! Error messages.

use super::*;

fn failure<P: Production>(text: &str) -> (String, String) {
    match read::<P>(text).map(|_| ()) {
        Err(RestError::Unparsable { message, details }) => (message, details),
        other => panic!("{text}: {other:?}"),
    }
}

fn check<P: Production>(text: &str, column: usize, details: &str) {
    let message = format!(
        "\"failed to parse {} ({text})\" (line 1, column {column})",
        P::WHAT
    );
    assert_eq!(failure::<P>(text), (message, details.to_owned()));
}

#[test]
fn of_filters() {
    let check = check::<FilterValue>;
    let operator = "operator (eq, gt, ...)";
    check(
        "0",
        1,
        &format!("unexpected \"0\" expecting \"not\" or {operator}"),
    );
    check(
        "val",
        1,
        &format!("unexpected \"v\" expecting \"not\" or {operator}"),
    );
    check(
        "noop.0",
        1,
        &format!("unexpected \"o\" expecting \"not\" or {operator}"),
    );
    check(
        "",
        1,
        &format!("unexpected end of input expecting \"not\" or {operator}"),
    );
    check(
        "fts().value",
        5,
        &format!("unexpected \")\" expecting {operator}"),
    );
    check(
        "eq().value",
        4,
        &format!("unexpected \")\" expecting {operator}"),
    );
    check(
        "is().value",
        3,
        &format!("unexpected \"(\" expecting {operator}"),
    );
    check(
        "in().value",
        3,
        &format!("unexpected \"(\" expecting {operator}"),
    );
    check(
        "not.5",
        5,
        &format!("unexpected \"5\" expecting {operator}"),
    );
    check("in.5", 4, "unexpected \"5\" expecting \"(\"");
    check(
        "in.(1,2",
        8,
        "unexpected end of input expecting \",\" or \")\"",
    );
    check(
        "is.foo",
        5,
        "unexpected \"o\" expecting isVal: (null, not_null, true, false, unknown)",
    );
}

#[test]
fn of_arguments_that_begin_like_filters() {
    assert_eq!(read_ok::<FilterOrArgument>("val"), None);
    assert_eq!(read_ok::<FilterOrArgument>("eq"), None);
    assert_eq!(read_ok::<FilterOrArgument>(""), None);
    check::<FilterOrArgument>("in.5", 4, "unexpected \"5\" expecting \"(\"");
    check::<FilterOrArgument>(
        "not.5",
        5,
        "unexpected \"5\" expecting operator (eq, gt, ...)",
    );
}

#[test]
fn of_selects() {
    let check = check::<Select>;
    let after_name =
        "letter, digit, \"-\", \"->>\", \"->\", \"::\", \".\", \")\", \",\" or end of input";
    check(
        "id,clients(name[])",
        16,
        &format!("unexpected '[' expecting {after_name}"),
    );
    check(
        "data->>-78xy",
        11,
        "unexpected 'x' expecting digit, \"->\", \"::\", \".\", \",\" or end of input",
    );
    check("data->>--34", 9, "unexpected \"-\" expecting digit");
    check("data->>-xy-4", 9, "unexpected \"x\" expecting digit");
    check(
        "data->(!@#$%^&*_d->>!@#$%^&*_e::integer",
        7,
        "unexpected \"(\" expecting \"-\", digit or any non reserved character different from: \
         .,>()",
    );
    check(
        "name::",
        7,
        "unexpected end of input expecting letter or digit",
    );
    check(
        "id,*!hint",
        5,
        "unexpected '!' expecting \")\", \",\" or end of input",
    );
    check(
        "rel(id",
        7,
        &format!("unexpected end of input expecting {after_name}"),
    );
}

#[test]
fn of_orders() {
    let check = check::<Order>;
    check(
        "id.ac",
        4,
        "unexpected \"c\" expecting \"asc\", \"desc\", \"nullsfirst\" or \"nullslast\"",
    );
    check(
        "id.descc",
        8,
        "unexpected 'c' expecting delimiter (.), \",\" or end of input",
    );
    check(
        "id.nulsfist",
        4,
        "unexpected \"n\" expecting \"asc\", \"desc\", \"nullsfirst\" or \"nullslast\"",
    );
    check(
        "id.nullslasttt",
        13,
        "unexpected 't' expecting \",\" or end of input",
    );
    check(
        "id.smth34",
        4,
        "unexpected \"s\" expecting \"asc\", \"desc\", \"nullsfirst\" or \"nullslast\"",
    );
    check(
        "id.asc.nlsfst",
        8,
        "unexpected \"l\" expecting \"nullsfirst\" or \"nullslast\"",
    );
    check(
        "id.asc.nullslasttt",
        17,
        "unexpected 't' expecting \",\" or end of input",
    );
    check(
        "id.asc.smth34",
        8,
        "unexpected \"s\" expecting \"nullsfirst\" or \"nullslast\"",
    );
    check(
        "clients(name,id)",
        8,
        "unexpected '(' expecting letter, digit, \"-\", \"->>\", \"->\", delimiter (.), \",\" or end \
         of input",
    );
    check(
        "",
        1,
        "unexpected end of input expecting field name (* or [a..z0..9_$])",
    );
}

#[test]
fn of_logic_trees() {
    let check = check::<LogicTreeValue>;
    check(
        "or()",
        4,
        "unexpected \")\" expecting field name (* or [a..z0..9_$]), negation operator (not) or \
         logic operator (and, or)",
    );
    check(
        "or(id.in.1,2,id.eq.3)",
        10,
        "unexpected \"1\" expecting \"(\"",
    );
    check("or)(", 3, "unexpected \")\" expecting \"(\"");
    check(
        "and(ord(id.eq.1,id.eq.1),id.eq.2)",
        7,
        "unexpected \"d\" expecting \"(\"",
    );
    check(
        "or(id.eq.1,not.xor(id.eq.2,id.eq.3))",
        16,
        "unexpected \"x\" expecting logic operator (and, or)",
    );
}

#[test]
fn of_columns_and_paths() {
    let name = "field name (* or [a..z0..9_$])";
    check::<Columns>("", 1, &format!("unexpected end of input expecting {name}"));
    check::<Columns>(
        "a,",
        3,
        &format!("unexpected end of input expecting {name}"),
    );
    check::<OnConflict>(":", 1, &format!("unexpected \":\" expecting {name}"));
    check::<TreePath>("a.:", 3, &format!("unexpected \":\" expecting {name}"));
    check::<TreePath>(
        "\"a",
        3,
        "unexpected end of input expecting \"\\\\\" or \"\\\"\"",
    );
    check::<LogicPath>(".or", 1, &format!("unexpected \".\" expecting {name}"));
}

#[test]
fn texts_shown_may_differ_from_texts_read() {
    let found = read_as::<LogicTreeValue>("or()", "()").map(|_| ());
    let message = "\"failed to parse logic tree (())\" (line 1, column 4)";
    assert!(found.is_err_and(|error| error.to_string() == message));
}
