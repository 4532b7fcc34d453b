//! Whole requests, and the order of checks.

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method};

use super::*;
use crate::error::RestError;

mod harmless;
mod parameters;

struct Request {
    method: Method,
    path: &'static str,
    query: &'static str,
    headers: &'static [(&'static str, &'static str)],
    body: &'static str,
}

const GET: Request = Request {
    method: Method::GET,
    path: "/users",
    query: "",
    headers: &[],
    body: "",
};

fn schemas() -> Vec<String> {
    vec!["public".to_owned(), "other".to_owned()]
}

fn parse_at_root(request: &Request, root: RootMode<'_>) -> Result<ApiRequest, RestError> {
    let headers = request.headers.iter().map(|(name, value)| {
        let name = HeaderName::from_static(name);
        (name, HeaderValue::from_static(value))
    });
    let headers: HeaderMap = headers.collect();
    let parts = RequestParts {
        method: &request.method,
        path: request.path,
        query: request.query,
        headers: &headers,
    };
    let rules = RequestRules {
        schemas: &schemas(),
        root,
        allows_tx_override: true,
    };
    ApiRequest::parse(&parts, Bytes::from_static(request.body.as_bytes()), &rules)
}

fn parse(request: &Request) -> Result<ApiRequest, RestError> {
    parse_at_root(request, RootMode::Document)
}

fn code(outcome: Result<ApiRequest, RestError>) -> String {
    match outcome {
        Ok(_) => "fine".to_owned(),
        Err(error) => error.render().code,
    }
}

fn action(method: Method, path: &'static str) -> Result<Action, String> {
    let request = Request {
        method,
        path,
        body: "{}",
        ..GET
    };
    parse(&request)
        .map(|request| request.action)
        .map_err(|error| error.render().code)
}

#[test]
fn paths_and_methods_make_actions() {
    let relation = || "users".to_owned();
    let function = || "f".to_owned();
    let read = |is_head| Action::Read {
        relation: relation(),
        is_head,
    };
    let mutate = |mutation| Action::Mutate {
        relation: relation(),
        mutation,
    };
    let call = |method| Action::Call {
        function: function(),
        method,
    };
    for (method, on_relation, on_function, on_root) in [
        (
            Method::GET,
            Ok(read(false)),
            Ok(call(CallMethod::Get)),
            Ok(Action::OpenApi { is_head: false }),
        ),
        (
            Method::HEAD,
            Ok(read(true)),
            Ok(call(CallMethod::Head)),
            Ok(Action::OpenApi { is_head: true }),
        ),
        (
            Method::POST,
            Ok(mutate(Mutation::Insert)),
            Ok(call(CallMethod::Post)),
            Err("PGRST117"),
        ),
        (
            Method::PATCH,
            Ok(mutate(Mutation::Update)),
            Err("PGRST101"),
            Err("PGRST117"),
        ),
        (
            Method::PUT,
            Ok(mutate(Mutation::Upsert)),
            Err("PGRST101"),
            Err("PGRST117"),
        ),
        (
            Method::DELETE,
            Ok(mutate(Mutation::Delete)),
            Err("PGRST101"),
            Err("PGRST117"),
        ),
        (
            Method::TRACE,
            Err("PGRST117"),
            Err("PGRST101"),
            Err("PGRST117"),
        ),
        (
            Method::OPTIONS,
            Ok(Action::RelationInfo {
                relation: relation(),
            }),
            Ok(Action::FunctionInfo {
                function: function(),
            }),
            Ok(Action::SchemaInfo),
        ),
    ] {
        assert_eq!(
            action(method.clone(), "/users"),
            on_relation.map_err(str::to_owned)
        );
        assert_eq!(
            action(method.clone(), "/rpc/f"),
            on_function.map_err(str::to_owned)
        );
        assert_eq!(action(method, "/"), on_root.map_err(str::to_owned));
    }
}

#[test]
fn path_segments_are_names_once_decoded() {
    let check = |path, relation: &str| {
        let expected = Action::Read {
            relation: relation.to_owned(),
            is_head: false,
        };
        assert_eq!(action(Method::GET, path), Ok(expected), "{path}");
    };
    check("/rpc", "rpc");
    check("/Server%20Today", "Server Today");
    check("/a+b", "a+b");
    check("/a%2Fb", "a/b");
    check("/%E6%B1%89", "汉");
    check("/%plan%", "%plan%");
    check("users", "users");
    for path in ["/users/", "/users/1", "//", "/rpc/f/x", "/rpc/f/", "/a/b/c"] {
        assert_eq!(
            action(Method::GET, path),
            Err("PGRST125".to_owned()),
            "{path}"
        );
    }
    for path in ["/%ff", "/rpc/%ff"] {
        let rejected = Err("PGRST100".to_owned());
        assert_eq!(action(Method::GET, path), rejected, "{path}");
    }
    assert!(matches!(
        action(Method::GET, ""),
        Ok(Action::OpenApi { .. })
    ));
}

#[test]
fn the_root_may_be_a_function_or_nothing() {
    let at_root = |method, root| {
        let request = Request {
            method,
            path: "/",
            ..GET
        };
        parse_at_root(&request, root)
    };
    let called = at_root(Method::POST, RootMode::Function("spec")).expect("a call");
    let method = CallMethod::Post;
    assert_eq!(
        called.action,
        Action::Call {
            function: "spec".to_owned(),
            method
        }
    );
    assert_eq!(code(at_root(Method::GET, RootMode::Disabled)), "PGRST126");
}

#[test]
fn profiles_choose_schemas() {
    let check = |method: Method, headers, expected: Result<(&str, bool), &str>| {
        let request = Request {
            method,
            headers,
            body: "{}",
            ..GET
        };
        let found = parse(&request);
        let found = found.map(|request| (request.schema, request.is_profile_negotiated));
        let expected = expected.map(|(schema, is)| (schema.to_owned(), is));
        let found = found.map_err(|error| error.render().code);
        assert_eq!(found, expected.map_err(str::to_owned));
    };
    check(Method::GET, &[], Ok(("public", true)));
    check(
        Method::GET,
        &[("accept-profile", "other")],
        Ok(("other", true)),
    );
    check(
        Method::GET,
        &[("content-profile", "other")],
        Ok(("public", true)),
    );
    check(
        Method::POST,
        &[("content-profile", "other")],
        Ok(("other", true)),
    );
    check(
        Method::DELETE,
        &[("accept-profile", "other")],
        Ok(("public", true)),
    );
    check(
        Method::GET,
        &[("accept-profile", "secret")],
        Err("PGRST106"),
    );
    check(Method::GET, &[("accept-profile", "")], Err("PGRST106"));
}

#[test]
fn the_first_wrong_step_is_the_error() {
    let check = |request: Request, expected: &str| assert_eq!(code(parse(&request)), expected);
    let profile: &'static [(&str, &str)] = &[("content-profile", "secret")];
    let wrong = || Request {
        method: Method::PUT,
        path: "/a/b",
        query: "limit=5&id=0",
        headers: profile,
        body: "nonsense",
    };
    check(wrong(), "PGRST125");
    check(
        Request {
            path: "/rpc/f",
            ..wrong()
        },
        "PGRST106",
    );
    check(
        Request {
            path: "/rpc/f",
            headers: &[],
            ..wrong()
        },
        "PGRST101",
    );
    check(
        Request {
            path: "/a",
            headers: &[],
            ..wrong()
        },
        "PGRST100",
    );
    let put = || Request {
        path: "/a",
        headers: &[],
        query: "limit=5&id=eq.0",
        ..wrong()
    };
    check(put(), "PGRST114");
    check(
        Request {
            query: "limit=-5&id=eq.0",
            ..put()
        },
        "PGRST103",
    );
    check(
        Request {
            query: "id=eq.0",
            ..put()
        },
        "PGRST102",
    );
    check(
        Request {
            query: "id=eq.0",
            body: "{}",
            ..put()
        },
        "fine",
    );
}

#[test]
fn bodies_are_read_where_they_are_used() {
    let check = |method: Method, path, reads: bool| {
        assert_eq!(
            ApiRequest::reads_body(&method, path),
            reads,
            "{method} {path}"
        );
    };
    for method in [Method::POST, Method::PATCH, Method::PUT] {
        check(method, "/users", true);
    }
    for method in [Method::GET, Method::HEAD, Method::DELETE, Method::OPTIONS] {
        check(method.clone(), "/users", false);
        check(method, "/rpc/f", false);
    }
    check(Method::POST, "/rpc/f", true);
    check(Method::POST, "/", true);
    check(Method::PATCH, "/rpc/f", false);
    check(Method::POST, "/a/b", false);
    let deleted = Request {
        method: Method::DELETE,
        body: "nonsense",
        ..GET
    };
    assert_eq!(parse(&deleted).expect("a request").payload, None);
}

#[test]
fn columns_count_for_inserts_updates_and_calls_only() {
    let keys = |method, path| {
        let request = Request {
            method,
            path,
            query: "columns=a",
            body: "{\"b\":1}",
            ..GET
        };
        match parse(&request).expect("a request").payload {
            Some(Payload::Json { keys, .. }) => keys.into_iter().collect::<Vec<_>>(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(keys(Method::POST, "/users"), ["a"]);
    assert_eq!(keys(Method::PATCH, "/users"), ["a"]);
    assert_eq!(keys(Method::POST, "/rpc/f"), ["a"]);
    assert_eq!(keys(Method::PUT, "/users"), ["b"]);
}
