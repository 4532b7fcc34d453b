//! Mail servers with TLS.
//!
//! Trusted certificates are read from the environment, so tests with a trusted server run in a
//! process of their own.

use std::{
    env, fs,
    io::ErrorKind,
    net::Ipv4Addr,
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
};

use rustls::{
    ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};
use serde_json::json;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::support::{Api, AuthReply, Behaviour, MailServer, Requests};

/// The folder with the server's certificate and key.
const FOLDER: &str = "PLINTH_TEST_MAIL_TLS";
/// The host that the certificate is for.
const HOST: &str = "PLINTH_TEST_MAIL_HOST";
const IMPLICIT_TLS_PORT: u16 = 465;

fn make_certificate(folder: &Path, host: &str) {
    let pair = rcgen::generate_simple_self_signed(vec![host.to_owned()])
        .expect("a self-signed certificate");
    fs::write(folder.join("cert.pem"), pair.cert.pem()).expect("written");
    fs::write(folder.join("key.pem"), pair.signing_key.serialize_pem()).expect("written");
}

fn acceptor(folder: &Path) -> TlsAcceptor {
    let cert = CertificateDer::from_pem_file(folder.join("cert.pem")).expect("a certificate");
    let key = PrivateKeyDer::from_pem_file(folder.join("key.pem")).expect("a key");
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions that the provider has")
        .with_no_client_auth()
        .with_single_cert(vec![cert], key)
        .expect("a pair");
    TlsAcceptor::from(Arc::new(config))
}

fn behaviour(folder: &Path) -> Behaviour {
    Behaviour {
        asks_for_password: true,
        tls: Some(acceptor(folder)),
        ..Behaviour::default()
    }
}

async fn service(host: &str, server: &MailServer) -> Api {
    Api::start(&[
        ("auth.email.enable_confirmations", "true"),
        ("auth.email.smtp.enabled", "true"),
        ("auth.email.smtp.host", host),
        ("auth.email.smtp.port", &server.port.to_string()),
        ("auth.email.smtp.admin_email", "office@site.test"),
        ("auth.email.smtp.user", "me"),
        ("auth.email.smtp.pass", "geheim"),
    ])
    .await
}

#[tokio::test]
async fn an_untrusted_certificate_is_rejected() {
    let folder = tempfile::tempdir().expect("a folder");
    make_certificate(folder.path(), "localhost");
    let server = MailServer::start(behaviour(folder.path())).await;
    let api = service("localhost", &server).await;

    let body = json!({ "email": "ann@mail.dev", "password": "correct horse" });
    let reply = api.post("/signup", body).await;

    reply.expect_error(500, "unexpected_failure");
    assert!(server.received().is_empty());
    let lines = server.received_lines();
    assert!(
        lines.iter().all(|line| !line.starts_with("AUTH")),
        "{lines:?}"
    );
}

/// Runs a test of this file in a process that trusts a certificate for `host`.
fn pass_with_trust(test: &str, host: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    make_certificate(folder.path(), host);

    let test = format!("mail_tls::{test}");
    let output = Command::new(env::current_exe().expect("this program"))
        .args(["--exact", &test, "--ignored", "--nocapture"])
        .env("SSL_CERT_FILE", folder.path().join("cert.pem"))
        .env(FOLDER, folder.path())
        .env(HOST, host)
        .output()
        .expect("this program runs");

    let stdout = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(stdout.contains("1 passed"), "{stdout}\n{errors}");
}

/// The environment of [`pass_with_trust`]; `None` if ignored tests are run by hand.
fn trust_from_environment() -> Option<(PathBuf, String)> {
    let folder = env::var_os(FOLDER)?;
    Some((folder.into(), env::var(HOST).ok()?))
}

async fn check_that_mail_arrives_in_tls(host: &str, server: &MailServer) {
    let api = service(host, server).await;

    let body = json!({ "email": "ann@mail.dev", "password": "correct horse" });
    api.post("/signup", body).await.ok();

    let mails = server.received();
    assert_eq!(mails.len(), 1);
    assert!(mails[0].is_in_tls);
    assert_eq!(mails[0].to, ["ann@mail.dev"]);
    assert_eq!(mails[0].login, Some(("me".to_owned(), "geheim".to_owned())));
}

#[test]
fn a_server_that_is_trusted_gets_mails_and_the_password_in_tls() {
    pass_with_trust("with_trust", "localhost");
}

#[tokio::test]
#[ignore = "run by the test above, which says whom to trust"]
async fn with_trust() {
    let Some((folder, host)) = trust_from_environment() else {
        return;
    };
    let server = MailServer::start(behaviour(&folder)).await;
    check_that_mail_arrives_in_tls(&host, &server).await;
}

/// Needs a privileged port, and passes without one.
#[test]
fn on_port_465_there_is_nothing_before_tls() {
    // A separate address, so that two runs do not conflict.
    let [.., high, low] = std::process::id().to_be_bytes();
    let host = Ipv4Addr::new(127, 4, high, low.clamp(1, 254));
    pass_with_trust("with_trust_from_the_first_byte", &host.to_string());
}

#[tokio::test]
#[ignore = "run by the test above, which says whom to trust"]
async fn with_trust_from_the_first_byte() {
    let Some((folder, host)) = trust_from_environment() else {
        return;
    };
    let listener = match TcpListener::bind((host.as_str(), IMPLICIT_TLS_PORT)).await {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => return,
        listener => listener.expect("a free port"),
    };
    let server = MailServer::over(
        listener,
        Behaviour {
            begins_with_tls: true,
            ..behaviour(&folder)
        },
    );

    check_that_mail_arrives_in_tls(&host, &server).await;

    let lines = server.received_lines();
    assert!(
        lines.iter().all(|line| !line.starts_with("STARTTLS")),
        "{lines:?}"
    );
}
