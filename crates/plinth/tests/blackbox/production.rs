//! `plinth serve`, as systemd and containers run it.

use std::net::TcpStream;

use serde_json::Value;

use crate::support::{Folder, Instance, free_port, psql, try_rows, value};

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
    let failed = try_rows(&well_known, "select 1").expect_err("not with the well-known password");
    assert!(failed.contains("28P01"), "{failed}");

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
        "there is no listener any more (pid {pid})"
    );
    folder.expect_no_postgres();
}

/// Where the database port listens: (its address in the URL, what the log says about it).
fn database_port(args: &[&str]) -> (String, String) {
    let folder = Folder::new();
    let (port, db_port) = (free_port().to_string(), free_port().to_string());
    let ports = ["serve", "--port", &port, "--db-port", &db_port];

    let server = Instance::spawn(&folder, &[&ports, args].concat()).ready();

    assert_eq!(value(server.db_url(), "select 1"), "1");
    let listening = listening_addresses(db_port.parse().expect("a port"));
    (listening.join(" "), server.stdout())
}

/// The addresses with a listener at this port, from the kernel's table.
fn listening_addresses(port: u16) -> Vec<String> {
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap_or_default();
    let wanted = format!(":{port:04X}");
    let mut addresses: Vec<String> = table
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>())
        .filter(|fields| fields.get(3) == Some(&"0A") && fields[1].ends_with(&wanted))
        .filter_map(|fields| u32::from_str_radix(fields[1].get(..8)?, 16).ok())
        .map(|address| std::net::Ipv4Addr::from(address.swap_bytes()).to_string())
        .collect();
    addresses.sort();
    addresses
}

#[cfg(target_os = "linux")]
#[test]
fn the_database_port_is_open_to_others_only_with_a_word() {
    // The second address is for functions alone.
    let private = "127.0.0.1 127.80.76.73";

    let (closed, log) = database_port(&["--host", "0.0.0.0"]);
    assert_eq!(closed, private);
    assert!(log.contains("open to this machine only"), "{log}");
    let (closed, _) = database_port(&[]);
    assert_eq!(closed, private);

    let (open, log) = database_port(&["--host", "0.0.0.0", "--db-host", "0.0.0.0"]);
    assert_eq!(open, "0.0.0.0");
    assert!(log.contains("without TLS"), "{log}");
    let (open, _) = database_port(&["--set", "plinth.database.host=0.0.0.0"]);
    assert_eq!(open, "0.0.0.0");
}

#[cfg(target_os = "linux")]
#[test]
fn with_tls_the_database_port_is_open_to_others_and_encrypted() {
    let folder = Folder::new();
    let pair = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).expect("a pair");
    folder.write("cert.pem", &pair.cert.pem());
    folder.write("key.pem", &pair.signing_key.serialize_pem());
    let file = |key: &str, name: &str| format!("{key}={}", folder.path().join(name).display());
    let (port, db_port) = (free_port(), free_port());
    let args = [
        "serve",
        "--host",
        "0.0.0.0",
        "--port",
        &port.to_string(),
        "--db-port",
        &db_port.to_string(),
        "--set",
        &file("plinth.tls.cert_file", "cert.pem"),
        "--set",
        &file("plinth.tls.key_file", "key.pem"),
    ];

    let server = Instance::spawn(&folder, &args).ready();

    assert_eq!(listening_addresses(db_port), ["0.0.0.0"]);
    let log = server.stdout();
    assert!(!log.contains("without TLS"), "{log}");
    let mut url = url::Url::parse(server.db_url()).expect("a URL");
    url.set_query(Some("sslmode=require"));
    let target = plinth_db::Target::from_url(url.as_str()).expect("a target");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let who = runtime.block_on(async {
        let client = target.connect().await.expect("an encrypted session");
        let row = client.query_one("select current_user::text", &[]).await;
        row.expect("a row").get::<_, String>(0)
    });
    assert_eq!(who, "postgres");
    if let Some(ended) = psql(url.as_str(), &["-c", "\\conninfo"]) {
        assert!(ended.expect_success().stdout.contains("TLS"));
    }
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
    let mut response = String::new();
    slow.read_to_string(&mut response).expect("a response");

    assert!(response.starts_with("HTTP/1.1 201"), "{response}");
    _ = idle.read(&mut [0]);
    assert_eq!(server.wait().code(), Some(0));
    folder.expect_no_postgres();
}
