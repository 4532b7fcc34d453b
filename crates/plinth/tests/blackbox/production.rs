//! `plinth serve`, as systemd and containers run it.

use std::net::TcpStream;

use serde_json::Value;

use crate::support::{Folder, Instance, free_port, try_rows, value};

#[test]
fn the_production_form_logs_json_makes_its_own_password_and_stops_gracefully() {
    let folder = Folder::new();
    let (port, db_port) = (free_port().to_string(), free_port().to_string());
    let args = [
        "serve",
        "--host",
        "127.0.0.1",
        "--port",
        &port,
        "--db-port",
        &db_port,
    ];

    let server = Instance::spawn(&folder, &args).ready();

    assert_eq!(server.api_url(), format!("http://127.0.0.1:{port}"));
    server.http().get("/ready").expect_status(200);
    let metrics = server.http().get("/metrics").expect_status(401);
    assert_eq!(metrics.code(), "metrics_token_needed");
    let url = server.db_url();
    assert!(
        url.contains(&format!("@127.0.0.1:{db_port}/postgres")),
        "{url}"
    );
    assert!(
        !url.contains(":postgres@"),
        "the password is not the well-known one"
    );
    assert_eq!(value(url, "select 1"), "1");
    let well_known = format!("postgresql://postgres:postgres@127.0.0.1:{db_port}/postgres");
    let refused = try_rows(&well_known, "select 1").expect_err("not with the well-known password");
    assert!(refused.contains("28P01"), "{refused}");

    let url = server.api_url().to_owned();
    let address = url.strip_prefix("http://").expect("an address").to_owned();
    let pid = server.pid();
    let (stdout, stderr) = (server.stdout(), server.stderr());
    let lines: Vec<Value> = stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("no JSON: {line}")))
        .collect();
    assert!(
        lines.iter().any(|line| line["fields"]["message"]
            .as_str()
            .is_some_and(|text| text.starts_with("serving"))),
        "{stdout}"
    );
    assert!(stderr.is_empty(), "{stderr}");
    for secret in ["SECRET_KEY", "SERVICE_ROLE_KEY", "JWT_SECRET", "DB_URL"] {
        assert!(!stdout.contains(server.value(secret)), "{secret} is logged");
    }

    assert_eq!(server.stop().code(), Some(0));
    assert!(
        TcpStream::connect(&address).is_err(),
        "nobody listens any more (pid {pid})"
    );
    folder.expect_no_postgres();
}

#[test]
fn a_request_that_is_under_way_is_finished_before_the_stop() {
    use std::io::{Read, Write};
    let folder = Folder::new();
    let server = Instance::start(&folder, &[]);
    let address = server
        .api_url()
        .strip_prefix("http://")
        .expect("an address")
        .to_owned();
    let mut slow = TcpStream::connect(&address).expect("a connection");
    let mut idle = TcpStream::connect(&address).expect("a connection");
    let token = server.cli_json(&["tokens", "create", "slow"]);
    let token = token["token"].as_str().expect("a token");
    // The body is not whole yet, so the request is under way when the signal comes.
    let head = format!(
        "POST /v1/projects HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\
         Content-Type: application/json\r\nContent-Length: 15\r\n\r\n"
    );
    slow.write_all(head.as_bytes()).expect("written");
    server.http().get("/health").expect_status(200);

    crate::support::kill(server.pid(), rustix::process::Signal::TERM);
    crate::support::eventually(
        std::time::Duration::from_secs(10),
        "the port closes",
        || TcpStream::connect(&address).is_err().then_some(()),
    );
    slow.write_all(b"{\"name\":\"last\"}").expect("written");
    let mut answer = String::new();
    slow.read_to_string(&mut answer).expect("an answer");

    assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
    _ = idle.read(&mut [0]);
    assert_eq!(server.wait().code(), Some(0));
    folder.expect_no_postgres();
}
