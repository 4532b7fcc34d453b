//! What the whole program serves without an API key, and what remains when the last publishable key is
//! revoked.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Folder, Http, Instance, Response, eventually};

const TIMEOUT: Duration = Duration::from_secs(30);

fn folder() -> Folder {
    Folder::with(&[(
        "migrations/20260101000000_notes.sql",
        "create table notes (id int); grant select on notes to anon;",
    )])
}

#[track_caller]
fn expect_hosted(response: &Response, message: &str, hint: &str) {
    assert_eq!(response.status, 401, "{response:?}");
    assert_eq!(response.json(), json!({ "message": message, "hint": hint }));
}

#[track_caller]
fn expect_missing(response: &Response) {
    let hint = "No `apikey` request header or url param was found.";
    expect_hosted(response, "No API key found in request", hint);
}

#[track_caller]
fn expect_invalid(response: &Response) {
    let hint = "Double check your Supabase `anon` or `service_role` API key.";
    expect_hosted(response, "Invalid API key", hint);
}

const CLOSED: [&str; 8] = [
    "/rest/v1/notes",
    "/rest/v1/",
    "/rest/v1/rpc/graphql",
    "/auth/v1/settings",
    "/auth/v1/user",
    "/storage/v1/bucket",
    "/storage/v1/object/authenticated/b/k",
    "/realtime/v1/websocket?vsn=1.0.0",
];

#[test]
fn services_ask_for_an_api_key_where_the_hosted_one_does() {
    let folder = folder();
    let server = Instance::start(&folder, &[]);
    let open = server.http();
    let keyed = open
        .clone()
        .header("apikey", server.value("PUBLISHABLE_KEY"));
    let wrong = open.clone().header("apikey", "sb_publishable_wrong");

    for path in CLOSED {
        expect_missing(&open.get(path));
        expect_missing(&open.get(&format!("/p/default{path}")));
        expect_invalid(&wrong.get(path));
    }
    // Storage reads a key without a scheme, and realtime one in a header of its own.
    for name in ["authorization", "x-api-key"] {
        let wrong = open.clone().header(name, "sb_publishable_wrong");
        for path in ["/storage/v1/bucket", "/realtime/v1/websocket?vsn=1.0.0"] {
            expect_invalid(&wrong.get(path));
        }
    }
    let bare = open
        .clone()
        .header("authorization", server.value("PUBLISHABLE_KEY"));
    bare.get("/storage/v1/bucket").expect_status(200);
    expect_missing(&open.post("/auth/v1/signup", "{}"));
    expect_missing(&open.post("/realtime/v1/api/broadcast", "{}"));
    keyed.get("/rest/v1/notes").expect_status(200);
    keyed.get("/auth/v1/settings").expect_status(200);
    let in_query = format!("/rest/v1/notes?apikey={}", server.value("PUBLISHABLE_KEY"));
    open.get(&in_query).expect_status(200);
    let anon = open.clone().token(server.value("ANON_KEY"));
    anon.get("/rest/v1/notes").expect_status(200);

    for path in [
        "/auth/v1/health",
        "/auth/v1/.well-known/jwks.json",
        "/storage/v1/status",
        "/realtime/v1/api/ping",
    ] {
        open.get(path).expect_status(200);
    }
    assert_ne!(open.get("/sign-in").status, 401);
    let link = open.get("/auth/v1/verify?token=x&type=signup&redirect_to=http://127.0.0.1:3000");
    assert_eq!(link.status, 303, "{link:?}");
    let object = open.get("/storage/v1/object/public/none/k");
    assert_eq!(object.json()["error"], "Bucket not found", "{object:?}");
    let signed = open.get("/storage/v1/object/sign/none/k?token=x");
    assert_eq!(signed.json()["error"], "InvalidJWT", "{signed:?}");
    let s3 = open.get("/storage/v1/s3/b/k");
    assert!(s3.body.contains("<Error>"), "{s3:?}");
}

#[test]
fn revoking_the_last_publishable_key_closes_the_project_and_is_logged() {
    let folder = folder();
    let server = Instance::start(&folder, &[]);
    let keyed = server
        .http()
        .header("apikey", server.value("PUBLISHABLE_KEY"));
    keyed.get("/rest/v1/notes").expect_status(200);
    server
        .cli(&["keys", "create", "publishable", "second"])
        .expect_success();
    let first = server
        .cli(&["keys", "revoke", "publishable/second", "--yes"])
        .expect_success();
    assert!(!first.stderr.contains("Warning"), "{}", first.stderr);

    let last = server
        .cli(&["keys", "revoke", "publishable/default", "--yes"])
        .expect_success();

    last.says(&["Warning: This was the last publishable key", "keys create"]);
    eventually(TIMEOUT, "the key is rejected", || {
        (keyed.get("/rest/v1/notes").status == 401).then_some(())
    });
    expect_invalid(&keyed.get("/rest/v1/notes"));
    expect_missing(&server.http().get("/rest/v1/notes"));
    for path in ["/sign-in", "/account"] {
        let page = server.http().get(path).expect_status(503);
        assert!(page.body.contains("no publishable API key"), "{page:?}");
    }
    let check = check_named(&server, "publishable keys");
    assert_eq!(check["status"], "warning", "{check}");

    server
        .cli(&["keys", "create", "publishable", "default"])
        .expect_success();
    let page = eventually(TIMEOUT, "the pages are back", || {
        Some(server.http().get("/sign-in")).filter(|page| page.status != 503 || is_not_built(page))
    });
    assert!(!page.body.contains("no publishable API key"), "{page:?}");
    let check = check_named(&server, "publishable keys");
    assert_eq!(check["status"], "ok", "{check}");
}

/// Tests run with and without the web pages in the program.
fn is_not_built(page: &Response) -> bool {
    page.body.contains("without its web pages")
}

fn check_named(server: &Instance<'_>, name: &str) -> Value {
    let checks = server.cli_json(&["doctor"]);
    let checks = checks.as_array().expect("checks").clone();
    let found = checks.into_iter().find(|check| check["name"] == name);
    found.unwrap_or_else(|| panic!("no check {name}"))
}

/// Operators' sign-in needs a key as well: project zero has its own.
#[test]
fn operators_pages_work_with_the_key_of_project_zero() {
    let folder = Folder::new();
    let server = Instance::start(&folder, &[]);
    let http: Http = server.http();

    expect_missing(&http.get("/p/platform/auth/v1/settings"));
    let keys = server.cli_json(&["keys", "list", "--ref", "platform"]);
    let key = keys["api_keys"]
        .as_array()
        .and_then(|keys| keys.iter().find(|key| key["type"] == "publishable"))
        .and_then(|key| key["api_key"].as_str())
        .expect("a key")
        .to_owned();
    http.header("apikey", &key)
        .get("/p/platform/auth/v1/settings")
        .expect_status(200);
}
