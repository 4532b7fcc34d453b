//! Errors of unknown names and callers.

use super::*;

#[test]
fn a_name_is_not_in_the_schema_cache() {
    let (origin, target) = (owned("a"), owned("b"));
    check(
        RestError::NoRelationship {
            origin: origin.clone(),
            target: target.clone(),
            details: owned("Searched."),
            hint: Some(owned("Perhaps.")),
        },
        400,
        "PGRST200",
        "Could not find a relationship between 'a' and 'b' in the schema cache",
        text("Searched."),
        text("Perhaps."),
    );
    check(
        RestError::AmbiguousRelationship {
            origin,
            target,
            details: json!([{ "cardinality": "many-to-one" }]),
            hint: owned("Try."),
        },
        300,
        "PGRST201",
        "Could not embed because more than one relationship was found for 'a' and 'b'",
        json!([{ "cardinality": "many-to-one" }]),
        text("Try."),
    );
    check(
        RestError::NoFunction {
            message: owned("Could not find it"),
            details: owned("Searched."),
            hint: None,
        },
        404,
        "PGRST202",
        "Could not find it",
        text("Searched."),
        Null,
    );
    check(
        RestError::AmbiguousFunction(vec![owned("f(a => int)"), owned("f(a => text)")]),
        300,
        "PGRST203",
        "Could not choose the best candidate function between: f(a => int), f(a => text)",
        Null,
        text(
            "Try renaming the parameters or the function itself in the database so function \
             overloading can be resolved",
        ),
    );
    let message = "Could not find the 'c' column of 't' in the schema cache";
    let error = RestError::NoColumn {
        column: owned("c"),
        table: owned("t"),
    };
    check_bare(error, 400, "PGRST204", message);
    let error = RestError::NoTable {
        schema: owned("s"),
        table: owned("t"),
        hint: Some(owned("Perhaps.")),
    };
    let message = "Could not find the table 's.t' in the schema cache";
    check(error, 404, "PGRST205", message, Null, text("Perhaps."));
}

#[test]
fn the_caller_is_not_who_may_ask() {
    check_bare(
        RestError::NoJwtSecret,
        500,
        "PGRST300",
        "Server lacks JWT secret",
    );
    let undecodable = RestError::UndecodableToken {
        message: owned("No suitable key or wrong key type"),
        details: Some(owned("None of the keys was able to decode the JWT")),
    };
    check(
        undecodable,
        401,
        "PGRST301",
        "No suitable key or wrong key type",
        text("None of the keys was able to decode the JWT"),
        Null,
    );
    let message = "Anonymous access is disabled";
    check_bare(RestError::AnonymousDisabled, 401, "PGRST302", message);
    let message = "JWT expired";
    check_bare(
        RestError::InvalidClaims(owned(message)),
        401,
        "PGRST303",
        message,
    );
}
