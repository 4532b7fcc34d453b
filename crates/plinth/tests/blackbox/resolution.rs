//! Which project a request reaches, and requests that reach none.

use std::time::Duration;

use crate::support::{Folder, Instance};

#[test]
fn projects_are_reached_by_path_alias_and_host() {
    let folder = Folder::new();
    let server = Instance::start(&folder, &["--set", "plinth.domain=plinth.test"]);
    let http = server.http();
    let shop = server.cli_json(&["projects", "create", "shop"]);
    let shop = shop["PLINTH_REF"].as_str().expect("a ref").to_owned();
    let jwks = |path: &str| {
        let path = format!("{path}/auth/v1/.well-known/jwks.json");
        server.http().get(&path).expect_status(200).body
    };

    let default_ref = server.value("PLINTH_REF");
    assert_eq!(jwks(""), jwks("/p/default"));
    assert_eq!(jwks(""), jwks(&format!("/p/{default_ref}")));
    let distinct = [jwks(""), jwks("/p/platform"), jwks(&format!("/p/{shop}"))];
    assert!(
        distinct[0] != distinct[1] && distinct[1] != distinct[2],
        "{distinct:?}"
    );
    assert_ne!(distinct[0], distinct[2]);

    let of_host = |host: &str| {
        let http = server.http().header("Host", host);
        http.get("/auth/v1/.well-known/jwks.json")
    };
    assert_eq!(of_host(&format!("{shop}.plinth.test")).body, distinct[2]);
    let upper = format!("{}.Plinth.Test:54321", shop.to_uppercase());
    assert_eq!(of_host(&upper).body, distinct[2]);
    assert_eq!(of_host("www.plinth.test").body, distinct[0]);
    let unknown = of_host("abcdefghijklmnopqrst.plinth.test").expect_status(404);
    assert_eq!(unknown.code(), "project_not_found");

    for name in [
        "abcdefghijklmnopqrst",
        "nonsense",
        "",
        "..",
        "DEFAULT",
        "default%2f",
    ] {
        let response = http
            .get(&format!("/p/{name}/auth/v1/health"))
            .expect_status(404);
        assert_eq!(response.code(), "project_not_found", "{name}");
    }
    for path in ["/nowhere", "/auth/v2/health", "/rest", "/p"] {
        http.get(path).expect_status(404);
    }
}

#[test]
fn malformed_requests_do_no_harm() {
    let folder = Folder::new();
    let server = Instance::start(&folder, &[]);
    let http = server.http();

    let large = http
        .clone()
        .header("X-Large", &"x".repeat(100 << 10))
        .get("/auth/v1/health");
    assert_eq!(large.status, 431, "{large:?}");
    for path in [
        "/p/%zz/auth/v1/health",
        "/p/%00/auth/v1/health",
        "/auth/v1/%ff%fe",
        "/auth/v1/%",
        "/auth/v1/health?x=%zz&y=%",
        "/platform/projects/%2e%2e%2fdefault",
        "/v1/projects/%F0%9F",
        "//////",
        "/p/default/../../etc/passwd",
        "*",
    ] {
        let response = http.get(path);
        assert!(response.status < 500, "{path}: {response:?}");
    }
    for request in [
        "\r\n\r\n",
        "GET\r\n\r\n",
        "GET / HTTP/9.9\r\n\r\n",
        "GET / HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: \u{1}\r\nConnection: close\r\n\r\n",
        "POST /v1/projects HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        "POST /v1/projects HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: \
         chunked\r\nConnection: close\r\n\r\n0\r\n\r\n",
        "POST /v1/projects HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    ] {
        if let Ok(response) = http.exchange(request, Duration::from_millis(300)) {
            assert!(response.status < 500, "{request:?}: {response:?}");
        }
    }

    for head in [
        "GET /auth/v1/health HTTP/1.1\r\n",
        "GET /auth/v1/health HTTP/1.1\r\nHost: a\r\nHost: b\r\n",
    ] {
        let request = format!("{head}Connection: close\r\n\r\n");
        let response = http.exchange(&request, Duration::from_secs(30));
        let response = response.expect("a response").expect_status(400);
        assert_eq!(response.code(), "invalid_host");
    }
    http.get("/auth/v1/health").expect_status(200);
    assert!(!server.stderr().contains("panicked"), "{}", server.stderr());
}
