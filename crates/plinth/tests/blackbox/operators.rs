//! The first owner of an instance, from the link that a start prints to the closed set-up.

use std::time::Duration;

use serde_json::json;

use crate::support::{Folder, Instance, eventually};

/// The token in a link to the set-up.
fn token_in(text: &str) -> Option<String> {
    let (_, rest) = text.split_once("/console/setup#token=")?;
    let end = rest.find(|c: char| c.is_whitespace() || c == '"');
    Some(rest[..end.unwrap_or(rest.len())].to_owned())
}

#[test]
fn the_link_of_a_start_makes_the_owner() {
    let folder = Folder::new();
    let server = Instance::start(&folder, &[]);
    let printed = eventually(Duration::from_secs(30), "a link", || {
        token_in(&server.stderr())
    });
    let made = server.cli_json(&["admin", "setup-link"]);
    let made = made["url"].as_str().and_then(token_in).expect("a link");
    assert_ne!(printed, made);
    let http = server.http();
    assert!(http.get("/platform/setup").body.contains("\"needed\":true"));
    let set_up = |token: &str, email: &str| {
        let body = json!({ "token": token, "email": email, "password": "correct horse battery" });
        http.post("/platform/setup", &body.to_string())
    };

    assert_eq!(set_up("guess", "eve@example.com").status, 403);
    assert_eq!(set_up(&printed, "ada@example.com").status, 201);

    assert_eq!(set_up(&made, "eve@example.com").status, 409);
    server
        .cli(&["admin", "setup-link"])
        .expect_code(4)
        .says(&["set up already"]);
    server
        .cli(&["admin", "mfa-reset", "nobody@example.com"])
        .expect_code(1);
    server
        .cli(&["admin", "mfa-reset", "ada@example.com"])
        .expect_success();
    // Nothing of it is open to the network, whatever a request says of itself.
    let local = http
        .header("X-Forwarded-For", "127.0.0.1")
        .header("X-Control-Socket", "1");
    assert_eq!(local.post("/platform/setup/link", "").status, 401);
    assert!(!server.stderr().contains(&made), "only the log's own link");
}

#[test]
fn only_a_private_server_goes_without_second_factors() {
    let folder = Folder::new();
    let optional = ["--set", "plinth.operators.mfa=optional"];
    let refused = folder.cli(&[&["serve", "--port", "auto"], &optional[..]].concat());
    refused.expect_code(2).says(&["plinth.operators.mfa"]);

    let server = Instance::start(&folder, &optional);

    let state = server.http().get("/platform/setup").body;
    assert!(state.contains("\"mfa_required\":false"), "{state}");
}
