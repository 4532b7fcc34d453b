//! The database port in front of a real server.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

mod support;

use std::net::SocketAddr;
use std::process::Command;
use std::sync::Arc;

use plinth_postgres::{FrontDoor, Route, Routed, Server};
use support::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio_postgres::NoTls;
use tokio_util::sync::CancellationToken;

const REF: &str = "abcdefghijklmnopqrst";

/// Routes as the console contract says, for one project.
struct OneProject;

impl Route for OneProject {
    fn route(&self, user: &str, database: &str) -> Routed {
        if user == format!("postgres.{REF}") {
            return Routed {
                user: format!("owner_{REF}"),
                database: REF.to_owned(),
            };
        }
        Routed {
            user: user.to_owned(),
            database: database.to_owned(),
        }
    }
}

struct Open {
    address: SocketAddr,
    shutdown: CancellationToken,
    task: JoinHandle<()>,
}

impl Open {
    async fn new(socket: std::path::PathBuf, max_connections: usize) -> Self {
        let door = FrontDoor::bind("127.0.0.1:0".parse().unwrap())
            .await
            .unwrap();
        let door = door.with_max_connections(max_connections);
        let (address, shutdown) = (door.local_addr().unwrap(), CancellationToken::new());
        let task = tokio::spawn(door.serve(Arc::new(OneProject), socket, shutdown.clone()));
        Self {
            address,
            shutdown,
            task,
        }
    }

    async fn close(self) {
        self.shutdown.cancel();
        tokio::time::timeout(PATIENCE, self.task)
            .await
            .unwrap()
            .unwrap();
    }

    fn config(&self, user: &str, password: &str) -> tokio_postgres::Config {
        let mut config = tokio_postgres::Config::new();
        config
            .host("127.0.0.1")
            .port(self.address.port())
            .user(user)
            .password(password);
        config.dbname("postgres");
        config
    }

    /// Sends bytes and returns everything that comes back until the end.
    async fn say(&self, bytes: &[u8]) -> Vec<u8> {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(bytes).await.unwrap();
        let mut answer = Vec::new();
        tokio::time::timeout(PATIENCE, stream.read_to_end(&mut answer))
            .await
            .unwrap()
            .unwrap();
        answer
    }
}

async fn server_with_project(project: &std::path::Path) -> Server {
    let server = start(options(project, installation())).await;
    let client = connect(server.connection()).await;
    client
        .batch_execute(&format!(
            "create role owner_{REF} login password 'open sesame'"
        ))
        .await
        .unwrap();
    client
        .batch_execute(&format!("create database {REF} owner owner_{REF}"))
        .await
        .unwrap();
    server
}

#[tokio::test]
async fn psql_reaches_a_project_by_its_suffix() {
    if Command::new("psql").arg("--version").output().is_err() {
        eprintln!("skipped: there is no psql here");
        return;
    }
    let project = project_folder();
    let server = server_with_project(project.path()).await;
    let open = Open::new(server.connection().socket(), 10).await;

    let port = open.address.port().to_string();
    let psql = tokio::task::spawn_blocking(move || {
        Command::new("psql")
            .args([
                "-h",
                "127.0.0.1",
                "-p",
                &port,
                "-U",
                &format!("postgres.{REF}"),
            ])
            .args(["-d", "postgres", "-XAtc"])
            .arg("select current_user, current_database(), current_setting('application_name')")
            .env("PGPASSWORD", "open sesame")
            .env("PGAPPNAME", "my psql")
            .output()
            .unwrap()
    });
    let output = psql.await.unwrap();

    let printed = String::from_utf8_lossy(&output.stdout);
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert_eq!(
        printed.trim(),
        format!("owner_{REF}|{REF}|my psql"),
        "{complaint}"
    );
    open.close().await;
    server.stop(PATIENCE).await;
}

#[tokio::test]
async fn sessions_cancel_requests_and_limits_work_through_the_door() {
    let project = project_folder();
    let server = server_with_project(project.path()).await;
    let open = Open::new(server.connection().socket(), 2).await;
    let user = format!("postgres.{REF}");
    let connect = async || open.config(&user, "open sesame").connect(NoTls).await;

    let (first, work) = connect().await.unwrap();
    tokio::spawn(work);
    let (second, work) = connect().await.unwrap();
    tokio::spawn(work);
    assert_eq!(
        text(&first, "select current_user::text").await,
        format!("owner_{REF}")
    );

    let error = connect().await.err().unwrap();
    assert_eq!(error.code().unwrap().code(), "53300");

    let token = second.cancel_token();
    let sleeping = tokio::spawn(async move { second.batch_execute("select pg_sleep(600)").await });
    let asleep = "select count(*)::text from pg_stat_activity \
                  where query like '%pg_sleep(600)' and wait_event = 'PgSleep'";
    while text(&first, asleep).await == "0" {
        tokio::task::yield_now().await;
    }
    // It goes through although all places are taken.
    token.cancel_query(NoTls).await.unwrap();
    let error = sleeping.await.unwrap().unwrap_err();
    assert_eq!(error.code().unwrap().code(), "57014");
    open.close().await;
    server.stop(PATIENCE).await;
}

#[tokio::test]
async fn a_wrong_password_is_refused_by_the_server() {
    let project = project_folder();
    let server = server_with_project(project.path()).await;
    let open = Open::new(server.connection().socket(), 10).await;

    let error = open
        .config(&format!("postgres.{REF}"), "guess")
        .connect(NoTls)
        .await;

    assert_eq!(error.err().unwrap().code().unwrap().code(), "28P01");
    open.close().await;
    server.stop(PATIENCE).await;
}

#[tokio::test]
async fn an_unreachable_server_asks_for_patience() {
    let folder = project_folder();
    let open = Open::new(folder.path().join("no-socket"), 10).await;

    let error = open
        .config("postgres", "x")
        .connect(NoTls)
        .await
        .err()
        .unwrap();

    let error = error.as_db_error().unwrap();
    assert_eq!(error.code().code(), "57P03");
    assert_eq!(
        error.message(),
        "the database is restarting, try again in a moment"
    );
    open.close().await;
}

#[tokio::test]
async fn nonsense_is_answered_with_an_error_and_closed() {
    let folder = project_folder();
    let open = Open::new(folder.path().join("no-socket"), 10).await;

    for nonsense in [
        &b"GET / HTTP/1.1\r\n\r\n"[..],
        b"\x16\x03\x01\x02\x00\x01\x00",
        b"\0\0\0\x08\0\x02\0\0",
    ] {
        let answer = open.say(nonsense).await;
        assert_eq!(answer.first(), Some(&b'E'), "{nonsense:?}");
    }
    // Encryption is declined, and what comes then counts.
    let mut requests = b"\0\0\0\x08\x04\xd2\x16\x2f\0\0\0\x08\x04\xd2\x16\x30".to_vec();
    requests.extend(b"\0\0\0\x08\0\x02\0\0");
    assert!(open.say(&requests).await.starts_with(b"NNE"));
    open.close().await;
}

#[tokio::test]
async fn a_busy_port_is_named() {
    let taken = FrontDoor::bind("127.0.0.1:0".parse().unwrap())
        .await
        .unwrap();
    let address = taken.local_addr().unwrap();

    let sentence = FrontDoor::bind(address).await.unwrap_err().to_string();

    assert!(
        sentence.starts_with(&format!("Port {} is already in use", address.port())),
        "{sentence}"
    );
}

#[tokio::test]
async fn closing_the_door_ends_open_sessions() {
    let project = project_folder();
    let server = server_with_project(project.path()).await;
    let open = Open::new(server.connection().socket(), 10).await;
    let config = open.config(&format!("postgres.{REF}"), "open sesame");
    let (client, work) = config.connect(NoTls).await.unwrap();
    tokio::spawn(work);

    open.close().await;

    assert!(client.batch_execute("select 1").await.is_err());
    server.stop(PATIENCE).await;
}
