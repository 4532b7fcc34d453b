//! Keys of projects, and tokens of operators.

use std::time::Duration;

use serde_json::Value;

use crate::support::{Ended, Folder, Instance, eventually, plinth, run_to_end};

#[test]
fn api_keys_are_made_shown_rotated_and_revoked() {
    let folder = Folder::new();
    let server = Instance::start(&folder, &[]);

    let hidden = server.cli(&["keys", "list"]).expect_success().stdout;
    assert!(!hidden.contains(server.value("SECRET_KEY")), "{hidden}");
    assert!(
        !hidden.contains(server.value("SERVICE_ROLE_KEY")),
        "{hidden}"
    );
    assert!(hidden.contains(server.value("PUBLISHABLE_KEY")), "{hidden}");
    let revealed = server
        .cli(&["keys", "list", "--reveal"])
        .expect_success()
        .stdout;
    assert!(revealed.contains(server.value("SECRET_KEY")), "{revealed}");

    let made = server.cli_json(&["keys", "create", "secret", "backend"]);
    assert!(
        made["api_key"]
            .as_str()
            .is_some_and(|key| key.starts_with("sb_secret_")),
        "{made}"
    );
    server
        .cli(&["keys", "create", "secret", "backend"])
        .expect_code(4);
    server
        .cli(&["keys", "create", "secret", "No Good"])
        .expect_code(1);
    server
        .cli(&["keys", "create", "other", "name"])
        .expect_code(2);

    let rotate = [
        "keys", "rotate", "--api", "backend", "--grace", "1h", "--yes",
    ];
    let rotated = server
        .cli(&[&rotate[..], &["-o", "json"]].concat())
        .expect_success();
    rotated.says(&["stops working in 3600 seconds"]);
    assert!(
        !rotated
            .stdout
            .contains(made["api_key"].as_str().expect("a key"))
    );
    server
        .cli(&["keys", "rotate"])
        .expect_code(2)
        .says(&["--signing"]);
    server
        .cli(&["keys", "rotate", "--signing"])
        .expect_code(2)
        .says(&["--yes"]);

    server
        .cli(&["keys", "revoke", "backend"])
        .expect_code(2)
        .says(&["--yes"]);
    server
        .cli(&["keys", "revoke", "secret/default", "--yes"])
        .expect_success();
    server
        .cli(&["keys", "revoke", "no_such_key", "--yes"])
        .expect_code(1);
    let status = server.cli_json(&["status"]);
    assert_ne!(
        status["SECRET_KEY"], server.status["SECRET_KEY"],
        "a revoked key is not offered"
    );

    server
        .cli(&["keys", "rotate", "--legacy", "--yes"])
        .expect_success();
    let after = server.cli_json(&["status"]);
    for name in ["ANON_KEY", "SERVICE_ROLE_KEY", "JWT_SECRET"] {
        assert_ne!(after[name], status[name], "{name}");
    }
}

#[test]
fn signing_keys_rotate_without_a_restart() {
    let folder = Folder::new();
    let server = Instance::start(&folder, &[]);
    let kids = || -> Vec<Value> {
        let jwks = server
            .http()
            .get("/auth/v1/.well-known/jwks.json")
            .expect_status(200)
            .json();
        let keys = jwks["keys"].as_array().expect("keys").clone();
        assert!(
            keys.iter().all(|key| key.get("d").is_none()),
            "private parts: {keys:?}"
        );
        keys.iter().map(|key| key["kid"].clone()).collect()
    };
    let before = kids();
    let listed = |status: &str| -> String {
        let keys = server.cli_json(&["keys", "list"]);
        let keys = keys["signing_keys"].as_array().expect("keys").clone();
        let found = keys.iter().find(|key| key["status"] == status);
        found.expect("a key")["id"]
            .as_str()
            .expect("an id")
            .to_owned()
    };
    let old = listed("in_use");

    server
        .cli(&["keys", "rotate", "--signing", "--yes"])
        .expect_success();
    eventually(
        Duration::from_secs(2),
        "the key set has the new key",
        || (kids() != before).then_some(()),
    );
    assert!(
        kids().contains(&old.clone().into()),
        "the old key goes on verifying"
    );
    assert_ne!(listed("in_use"), old);
    assert_eq!(listed("previously_used"), old);

    server
        .cli(&["keys", "revoke", &listed("in_use"), "--yes"])
        .expect_code(4)
        .says(&["rotate"]);
    server
        .cli(&["keys", "revoke", &old, "--yes"])
        .expect_success();
    eventually(Duration::from_secs(30), "the revoked key is gone", || {
        (!kids().contains(&old.clone().into())).then_some(())
    });
}

#[test]
fn tokens_open_the_platform_api_over_tcp() {
    let folder = Folder::new();
    let server = Instance::start(&folder, &[]);
    let made = server.cli_json(&["tokens", "create", "laptop", "--expires-in", "1h"]);
    let token = made["token"].as_str().expect("a token").to_owned();
    assert!(token.starts_with("sbp_") && token.len() == 44, "{token}");
    let list = server.cli(&["tokens", "list"]).expect_success().stdout;
    assert!(list.contains("laptop") && !list.contains(&token), "{list}");

    let http = server.http();
    for path in [
        "/platform/projects",
        "/v1/projects",
        "/platform/tokens",
        "/platform/doctor",
    ] {
        http.get(path).expect_status(401);
        http.clone()
            .token(&format!("sbp_{}", "0".repeat(40)))
            .get(path)
            .expect_status(401);
        http.clone()
            .token(server.value("SECRET_KEY"))
            .get(path)
            .expect_status(401);
        http.clone()
            .token(server.value("SERVICE_ROLE_KEY"))
            .get(path)
            .expect_status(401);
        http.clone()
            .header("Authorization", &format!("Basic {token}"))
            .get(path)
            .expect_status(401);
        http.clone().token(&token).get(path).expect_status(200);
    }
    let tokens = http.clone().token(&token);
    let failed = tokens
        .post("/platform/tokens", "{\"name\":\"child\"}")
        .expect_status(403);
    assert_eq!(failed.code(), "forbidden");
    tokens.post("/v1/projects", "{\"name\":").expect_status(400);
    tokens
        .get("/v1/projects/abcdefghijklmnopqrst")
        .expect_status(404);
    tokens.get("/v1/no/such/route").expect_status(404);

    let remote = |token: Option<&str>, args: &[&str]| -> Ended {
        let mut command = plinth();
        command
            .args(args)
            .args(["--api-url", server.api_url()])
            .current_dir("/");
        if let Some(token) = token {
            command.env("PLINTH_ACCESS_TOKEN", token);
        }
        run_to_end(&mut command, None, Duration::from_secs(20))
    };
    remote(None, &["projects", "list"])
        .expect_code(5)
        .says(&["PLINTH_ACCESS_TOKEN"]);
    remote(Some("sbp_wrong"), &["projects", "list"])
        .expect_code(5)
        .says(&["unknown"]);
    remote(Some(&token), &["tokens", "create", "child"]).expect_code(5);
    let looks = [
        "tokens",
        "create",
        "looks",
        "--scope",
        "projects_read,project_admin_read",
    ];
    let looks = server.cli_json(&[&looks[..], &["--project", "default", "--read-only"]].concat());
    let looks = looks["token"].as_str().expect("a token");
    remote(Some(looks), &["projects", "list"]).expect_success();
    remote(Some(looks), &["projects", "create", "far"])
        .expect_code(5)
        .says(&["organization_projects_create"]);
    server
        .cli(&["tokens", "create", "odd", "--scope", "project_read"])
        .expect_code(1)
        .says(&["project_admin_read"]);
    let far = remote(Some(&token), &["projects", "create", "far", "-o", "json"]);
    let far = far.expect_success().json();
    let listed = server.cli_json(&[
        "status",
        "--ref",
        far["PLINTH_REF"].as_str().expect("a ref"),
    ]);
    for (name, value) in far
        .as_object()
        .expect("values")
        .iter()
        .filter(|(name, _)| *name != "NAME")
    {
        assert_eq!(*value, listed[name], "{name}");
    }
    let list = remote(Some(&token), &["projects", "list"])
        .expect_success()
        .stdout;
    assert!(list.contains("far"), "{list}");
    let status = remote(Some(&token), &["status", "-o", "json"]).expect_success();
    assert_eq!(status.json(), server.status);
    // Project zero's keys would give a token all rights.
    assert!(!list.contains("Platform"), "{list}");
    for command in [
        &["status"][..],
        &["db", "url"],
        &["keys", "rotate", "--signing", "--yes"],
    ] {
        let failed = remote(Some(&token), &[command, &["--ref", "platform"]].concat());
        failed.expect_code(5).says(&["server's own machine"]);
    }

    server.cli(&["tokens", "revoke", "laptop"]).expect_success();
    remote(Some(&token), &["projects", "list"]).expect_code(5);
    server.cli(&["tokens", "revoke", "laptop"]).expect_code(1);
    let brief = server.cli_json(&["tokens", "create", "brief", "--expires-in", "1s"]);
    let brief = http.token(brief["token"].as_str().expect("a token"));
    eventually(Duration::from_secs(30), "the token ends by itself", || {
        (brief.get("/platform/projects").status == 401).then_some(())
    });
}

#[test]
fn mistakes_of_the_caller_are_client_errors() {
    let folder = Folder::new();
    let server = Instance::start(&folder, &[]);
    let token = server.cli_json(&["tokens", "create", "clumsy"]);
    let http = server
        .http()
        .token(token["token"].as_str().expect("a token"));
    let keys = format!("/v1/projects/{}/api-keys", server.value("PLINTH_REF"));
    let make = |name: &str| format!("{{\"type\":\"secret\",\"name\":\"{name}\"}}");
    let worker = http.post(&keys, &make("worker")).expect_status(201).json();
    http.post(&keys, &make("other")).expect_status(201);

    let taken = http.post(&keys, &make("other"));
    let path = format!("{keys}/{}", worker["id"].as_str().expect("an id"));
    let renamed = http
        .send("PATCH", &path, "{\"name\":\"other\"}")
        .expect("a response");
    let nul = "{\"type\":\"secret\",\"name\":\"third\",\"description\":\"a\\u0000b\"}";
    let nul = http.post(&keys, nul);
    let alias = http.get("/v1/projects/default/api-keys");

    assert_eq!((taken.status, renamed.status), (409, 409), "{renamed:?}");
    assert_eq!(nul.status, 400, "{nul:?}");
    assert_eq!(alias.status, 404, "/v1 takes refs only");
}

#[test]
fn a_token_is_rate_limited_with_retry_after() {
    let folder = Folder::new();
    let server = Instance::start(&folder, &[]);
    let token = server.cli_json(&["tokens", "create", "eager"]);
    let http = server
        .http()
        .token(token["token"].as_str().expect("a token"));

    let responses: Vec<_> = (0..121).map(|_| http.get("/v1/profile")).collect();

    let (good, over) = responses.split_at(120);
    assert!(good.iter().all(|response| response.status == 200));
    assert_eq!(good[0].header("x-ratelimit-limit"), Some("120"));
    assert_eq!(over[0].status, 429, "{over:?}");
    assert!(over[0].header("retry-after").is_some());
    server.cli(&["projects", "list"]).expect_success();
}
