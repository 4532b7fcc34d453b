//! The database proxy in front of a real server.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

mod support;

use std::net::{IpAddr, SocketAddr};
use std::process::Command;
use std::sync::Arc;

use plinth_postgres::{
    ConnectionLimit, DatabaseProxy, ErrorResponse, Route, Routed, Server, Sqlstate,
};
use support::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::{JoinHandle, JoinSet};
use tokio_postgres::{
    NoTls,
    config::{SslMode, SslNegotiation},
};
use tokio_rustls::rustls::{self, pki_types::PrivateKeyDer};
use tokio_util::sync::CancellationToken;

const REF: &str = "abcdefghijklmnopqrst";

/// Routes as the console contract says, for one project.
struct OneProject;

impl Route for OneProject {
    fn route(&self, user: &str, database: &str) -> Result<Routed, ErrorResponse> {
        let (user, database) = match user {
            "stranger" => {
                return Err(ErrorResponse::new(
                    Sqlstate::InvalidAuthorization,
                    "strangers do not pass",
                ));
            }
            _ if user == format!("postgres.{REF}") => (&*format!("owner_{REF}"), REF),
            _ => (user, database),
        };
        Ok(Routed {
            user: user.to_owned(),
            database: database.to_owned(),
        })
    }
}

struct TestProxy {
    address: SocketAddr,
    shutdown: CancellationToken,
    task: JoinHandle<()>,
}

impl TestProxy {
    async fn new(socket: std::path::PathBuf, max_connections: u32) -> Self {
        let proxy = DatabaseProxy::bind("127.0.0.1:0".parse().unwrap());
        Self::serve(proxy.await.unwrap(), socket, max_connections)
    }

    fn serve(proxy: DatabaseProxy, socket: std::path::PathBuf, max_connections: u32) -> Self {
        let proxy = proxy.with_limit(ConnectionLimit::new(max_connections));
        let (address, shutdown) = (proxy.local_addr().unwrap(), CancellationToken::new());
        let task = tokio::spawn(proxy.serve(Arc::new(OneProject), socket, shutdown.clone()));
        Self {
            address,
            shutdown,
            task,
        }
    }

    async fn close(self) {
        self.shutdown.cancel();
        tokio::time::timeout(TEST_TIMEOUT, self.task)
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
    async fn exchange(&self, bytes: &[u8]) -> Vec<u8> {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(bytes).await.unwrap();
        let mut reply = Vec::new();
        tokio::time::timeout(TEST_TIMEOUT, stream.read_to_end(&mut reply))
            .await
            .unwrap()
            .unwrap();
        reply
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
    let proxy = TestProxy::new(server.connection().socket(), 10).await;

    let port = proxy.address.port().to_string();
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
    proxy.close().await;
    server.stop(TEST_TIMEOUT).await;
}

/// Code of users on this machine, which has an address of its own to connect to.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn untrusted_clients_without_a_password_leave_connections_to_others() {
    const MAX_CONNECTIONS: u32 = 20;
    let project = project_folder();
    let server = server_with_project(project.path()).await;
    let untrusted: IpAddr = "127.80.76.73".parse().unwrap();
    let proxy = DatabaseProxy::bind("0.0.0.0:0".parse().unwrap());
    let proxy = proxy.await.unwrap().with_untrusted_address(Some(untrusted));
    let proxy = TestProxy::serve(proxy, server.connection().socket(), MAX_CONNECTIONS);
    let mut startup = b"\0\x03\0\0user\0postgres.".to_vec();
    startup.extend_from_slice(REF.as_bytes());
    startup.extend_from_slice(b"\0database\0postgres\0\0");
    let length = u32::try_from(startup.len() + 4).unwrap();
    let startup = [&length.to_be_bytes(), &startup[..]].concat();

    let (asked, mut asked_for_password) = tokio::sync::mpsc::unbounded_channel();
    let mut pending = JoinSet::new();
    for _ in 0..2 * MAX_CONNECTIONS {
        let (startup, asked) = (startup.clone(), asked.clone());
        let mut client = TcpStream::connect((untrusted, proxy.address.port()))
            .await
            .unwrap();
        pending.spawn(async move {
            client.write_all(&startup).await.unwrap();
            asked.send(client.read_u8().await).unwrap();
            // It never sends one.
            std::future::pending::<()>().await;
        });
    }
    // As many as may log in at a time.
    for _ in 0..16 {
        let reply = asked_for_password.recv().await.unwrap();
        assert_eq!(reply.unwrap(), b'R');
    }

    let user = format!("postgres.{REF}");
    let config = proxy.config(&user, "open sesame");
    let (client, connection) = config.connect(NoTls).await.unwrap();
    tokio::spawn(connection);
    client.batch_execute("select 1").await.unwrap();
    pending.shutdown().await;
    proxy.close().await;
    server.stop(TEST_TIMEOUT).await;
}

#[tokio::test]
async fn sessions_cancel_requests_and_limits_work_through_the_proxy() {
    let project = project_folder();
    let server = server_with_project(project.path()).await;
    let proxy = TestProxy::new(server.connection().socket(), 2).await;
    let user = format!("postgres.{REF}");
    let connect = async || proxy.config(&user, "open sesame").connect(NoTls).await;

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
    proxy.close().await;
    server.stop(TEST_TIMEOUT).await;
}

#[tokio::test]
async fn a_wrong_password_is_rejected_by_the_server() {
    let project = project_folder();
    let server = server_with_project(project.path()).await;
    let proxy = TestProxy::new(server.connection().socket(), 10).await;

    let error = proxy
        .config(&format!("postgres.{REF}"), "guess")
        .connect(NoTls)
        .await;

    assert_eq!(error.err().unwrap().code().unwrap().code(), "28P01");
    proxy.close().await;
    server.stop(TEST_TIMEOUT).await;
}

#[tokio::test]
async fn wrong_passwords_are_reported_later_and_later() {
    let project = project_folder();
    let server = server_with_project(project.path()).await;
    let proxy = TestProxy::new(server.connection().socket(), 10).await;
    let user = format!("postgres.{REF}");
    let mut took = Vec::new();

    for _ in 0..3 {
        let began = std::time::Instant::now();
        let error = proxy.config(&user, "guess").connect(NoTls).await;
        assert_eq!(error.err().unwrap().code().unwrap().code(), "28P01");
        took.push(began.elapsed().as_millis());
    }
    let began = std::time::Instant::now();
    let (_client, _connection) = proxy
        .config(&user, "open sesame")
        .connect(NoTls)
        .await
        .unwrap();

    assert!(
        took[0] >= 500 && took[1] >= 1_000 && took[2] >= 2_000,
        "{took:?}"
    );
    assert!(
        began.elapsed().as_millis() < 4_000,
        "a valid password waits"
    );
    proxy.close().await;
    server.stop(TEST_TIMEOUT).await;
}

#[tokio::test]
async fn a_session_can_be_encrypted() {
    let project = project_folder();
    let server = server_with_project(project.path()).await;
    let certificate = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).unwrap();
    let (server_config, client_config) = tls_configs(&certificate);
    let proxy = DatabaseProxy::bind("127.0.0.1:0".parse().unwrap())
        .await
        .unwrap()
        .with_tls(server_config);
    let (address, shutdown) = (proxy.local_addr().unwrap(), CancellationToken::new());
    let socket = server.connection().socket();
    let task = tokio::spawn(proxy.serve(Arc::new(OneProject), socket, shutdown.clone()));
    let proxy = TestProxy {
        address,
        shutdown,
        task,
    };
    let tls = tokio_postgres_rustls::MakeRustlsConnect::new(client_config);
    let mut config = proxy.config(&format!("postgres.{REF}"), "open sesame");

    for (negotiation, mode) in [
        (SslNegotiation::Postgres, SslMode::Require),
        (SslNegotiation::Direct, SslMode::Require),
    ] {
        config.ssl_negotiation(negotiation).ssl_mode(mode);
        let (client, connection) = config.connect(tls.clone()).await.unwrap();
        tokio::spawn(connection);
        let who = text(&client, "select current_user::text").await;
        assert_eq!(who, format!("owner_{REF}"), "{negotiation:?}");
    }
    // On this machine also without.
    let config = proxy.config(&format!("postgres.{REF}"), "open sesame");
    assert!(config.connect(NoTls).await.is_ok());
    proxy.close().await;
    server.stop(TEST_TIMEOUT).await;
}

fn tls_configs(
    certificate: &rcgen::CertifiedKey<rcgen::KeyPair>,
) -> (Arc<rustls::ServerConfig>, rustls::ClientConfig) {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let key = PrivateKeyDer::try_from(certificate.signing_key.serialize_der()).unwrap();
    let mut server = rustls::ServerConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.cert.der().clone()], key)
        .unwrap();
    server.alpn_protocols = vec![b"postgresql".to_vec()];
    let mut roots = rustls::RootCertStore::empty();
    roots.add(certificate.cert.der().clone()).unwrap();
    let mut client = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    client.alpn_protocols = vec![b"postgresql".to_vec()];
    (Arc::new(server), client)
}

#[tokio::test]
async fn unrouted_requests_get_the_reason() {
    let folder = project_folder();
    let proxy = TestProxy::new(folder.path().join("no-socket"), 10).await;

    let error = proxy.config("stranger", "x").connect(NoTls).await;

    let error = error.err().unwrap();
    let error = error.as_db_error().unwrap();
    assert_eq!(error.code().code(), "28000");
    assert_eq!(error.message(), "strangers do not pass");
    proxy.close().await;
}

#[tokio::test]
async fn an_unreachable_server_is_reported_as_starting_up() {
    let folder = project_folder();
    let proxy = TestProxy::new(folder.path().join("no-socket"), 10).await;

    let error = proxy
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
    proxy.close().await;
}

#[tokio::test]
async fn nonsense_gets_an_error_and_is_closed() {
    let folder = project_folder();
    let proxy = TestProxy::new(folder.path().join("no-socket"), 10).await;

    for nonsense in [
        &b"GET / HTTP/1.1\r\n\r\n"[..],
        b"\x16\x03\x01\x02\x00\x01\x00",
        b"\0\0\0\x08\0\x02\0\0",
    ] {
        let reply = proxy.exchange(nonsense).await;
        assert_eq!(reply.first(), Some(&b'E'), "{nonsense:?}");
    }
    // Encryption is declined, and what comes then counts.
    let mut requests = b"\0\0\0\x08\x04\xd2\x16\x2f\0\0\0\x08\x04\xd2\x16\x30".to_vec();
    requests.extend(b"\0\0\0\x08\0\x02\0\0");
    assert!(proxy.exchange(&requests).await.starts_with(b"NNE"));
    proxy.close().await;
}

#[tokio::test]
async fn a_busy_port_is_named() {
    let taken = DatabaseProxy::bind("127.0.0.1:0".parse().unwrap())
        .await
        .unwrap();
    let address = taken.local_addr().unwrap();

    let sentence = DatabaseProxy::bind(address).await.unwrap_err().to_string();

    assert!(
        sentence.starts_with(&format!("Port {} is already in use", address.port())),
        "{sentence}"
    );
}

#[tokio::test]
async fn closing_the_proxy_ends_open_sessions() {
    let project = project_folder();
    let server = server_with_project(project.path()).await;
    let proxy = TestProxy::new(server.connection().socket(), 10).await;
    let config = proxy.config(&format!("postgres.{REF}"), "open sesame");
    let (client, work) = config.connect(NoTls).await.unwrap();
    tokio::spawn(work);

    proxy.close().await;

    assert!(client.batch_execute("select 1").await.is_err());
    server.stop(TEST_TIMEOUT).await;
}
