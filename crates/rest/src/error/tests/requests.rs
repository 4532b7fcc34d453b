//! Errors of invalid requests.

use super::*;

#[test]
fn the_request_cannot_be_understood() {
    let unparsable = RestError::Unparsable {
        message: owned("\"failed to parse filter (0)\" (line 1, column 1)"),
        details: owned("unexpected \"0\""),
    };
    check(
        unparsable,
        400,
        "PGRST100",
        "\"failed to parse filter (0)\" (line 1, column 1)",
        text("unexpected \"0\""),
        Null,
    );
    let message = "Cannot use the PUT method on RPC";
    check_bare(RestError::RpcMethod(owned("PUT")), 405, "PGRST101", message);
    let message = "Empty or invalid json";
    check_bare(
        RestError::InvalidBody(owned(message)),
        400,
        "PGRST102",
        message,
    );
    check(
        RestError::UnknownSchema {
            schema: owned("c"),
            exposed: vec![owned("a"), owned("b")],
        },
        406,
        "PGRST106",
        "Invalid schema: c",
        Null,
        text("Only the following schemas are exposed: a, b"),
    );
    let message = "None of these media types are available: a/b, c/d";
    check_bare(
        RestError::NotAcceptable(vec![owned("a/b"), owned("c/d")]),
        406,
        "PGRST107",
        message,
    );
    let message = "Unsupported HTTP method: TRACE";
    check_bare(
        RestError::UnsupportedMethod(owned("TRACE")),
        405,
        "PGRST117",
        message,
    );
    let message = "Invalid path specified in request URL";
    check_bare(RestError::InvalidPath, 404, "PGRST125", message);
    let message = "Root endpoint metadata is disabled";
    check_bare(RestError::RootDisabled, 404, "PGRST126", message);
    check(
        RestError::InvalidPreferences(vec![owned("a"), owned("b")]),
        400,
        "PGRST122",
        "Invalid preferences given with handling=strict",
        text("Invalid preferences: a, b"),
        Null,
    );
}

#[test]
fn a_range_cannot_be_had() {
    let check = |problem, details: &str| {
        let message = "Requested range not satisfiable";
        check(
            RestError::InvalidRange(problem),
            416,
            "PGRST103",
            message,
            text(details),
            Null,
        );
    };

    check(
        RangeProblem::NegativeLimit,
        "Limit should be greater than or equal to zero.",
    );
    check(
        RangeProblem::LowerAboveUpper,
        "The lower boundary must be lower than or equal to the upper boundary in the Range header.",
    );
    check(
        RangeProblem::OutOfBounds {
            offset: 9,
            total: 3,
        },
        "An offset of 9 was requested, but there are only 3 rows.",
    );
}

#[test]
fn a_mutation_cannot_be_done() {
    let message = "Filters must include all and only primary key columns with 'eq' operators";
    check_bare(RestError::PutFilters, 405, "PGRST105", message);
    let message = "limit/offset querystring parameters are not allowed for PUT";
    check_bare(RestError::PutRange, 400, "PGRST114", message);
    let message = "Payload values do not match URL in primary key column(s)";
    check_bare(RestError::PutMismatch, 400, "PGRST115", message);
    check(
        RestError::MaxAffected(7),
        400,
        "PGRST124",
        "Query result exceeds max-affected preference constraint",
        text("The query affects 7 rows"),
        Null,
    );
    let message = "Function must return SETOF or TABLE when max-affected preference is used with \
                   handling=strict";
    check_bare(RestError::MaxAffectedNeedsSet, 400, "PGRST128", message);
    let message = "UPDATE requires a WHERE clause";
    check_bare(RestError::unfiltered("UPDATE"), 400, "21000", message);
}

#[test]
fn an_embed_or_a_result_is_not_as_requested() {
    let message = "'x' is not an embedded resource in this request";
    check(
        RestError::NotEmbedded {
            name: owned("x"),
            alias: None,
        },
        400,
        "PGRST108",
        message,
        Null,
        text("Verify that 'x' is included in the 'select' query parameter."),
    );
    check(
        RestError::NotEmbedded {
            name: owned("x"),
            alias: Some(owned("y")),
        },
        400,
        "PGRST108",
        message,
        text("Target names are not allowed in filters if they have an alias"),
        text("Change 'x' to 'y' in filters, orders or limits."),
    );
    check(
        RestError::RelatedOrder {
            origin: owned("a"),
            target: owned("b"),
        },
        400,
        "PGRST118",
        "A related order on 'b' is not possible",
        text("'a' and 'b' do not form a many-to-one or one-to-one relationship"),
        Null,
    );
    check(
        RestError::NotSingular(3),
        406,
        "PGRST116",
        "Cannot coerce the result to a single JSON object",
        text("The result contains 3 rows"),
        Null,
    );
    let message = "Use of aggregate functions is not allowed";
    check_bare(RestError::AggregatesDisabled, 400, "PGRST123", message);
    let error = RestError::NotImplemented("Not yet.");
    check(
        error,
        400,
        "PGRST127",
        "Feature not implemented",
        text("Not yet."),
        Null,
    );
}

#[test]
fn the_body_does_not_arrive() {
    let message = "The body is larger than 7 bytes";
    check_bare(RestError::BodyTooLarge(7), 413, "PLINTH413", message);
    let message = "The body could not be read: reset";
    let error = RestError::UnreadableBody(owned("reset"));
    check_bare(error, 400, "PGRST102", message);
}
