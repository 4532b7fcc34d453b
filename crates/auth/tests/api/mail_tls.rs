//! Mail servers with TLS.
//!
//! Whom to trust is the system's business and read from the environment, so the case in which the
//! server is trusted runs in a process of its own.

use std::{env, fs, path::Path, process::Command, sync::Arc};

use rustls::{
    ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};
use serde_json::json;
use tokio_rustls::TlsAcceptor;

use crate::support::{Api, Behaviour, MailServer};

/// The folder with the server's certificate and key.
const FOLDER: &str = "PLINTH_TEST_MAIL_TLS";

fn make_certificate(folder: &Path) {
    let pair = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()])
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

async fn server(folder: &Path) -> MailServer {
    MailServer::start(Behaviour {
        asks_for_password: true,
        tls: Some(acceptor(folder)),
        ..Behaviour::default()
    })
    .await
}

async fn service(server: &MailServer) -> Api {
    Api::start(&[
        ("auth.email.enable_confirmations", "true"),
        ("auth.email.smtp.enabled", "true"),
        ("auth.email.smtp.host", "localhost"),
        ("auth.email.smtp.port", &server.port.to_string()),
        ("auth.email.smtp.admin_email", "office@site.test"),
        ("auth.email.smtp.user", "me"),
        ("auth.email.smtp.pass", "geheim"),
    ])
    .await
}

#[tokio::test]
async fn a_certificate_that_nobody_vouches_for_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    make_certificate(folder.path());
    let server = server(folder.path()).await;
    let api = service(&server).await;

    let body = json!({ "email": "ann@mail.dev", "password": "correct horse" });
    let reply = api.post("/signup", body).await;

    reply.refuses(500, "unexpected_failure");
    assert!(server.received().is_empty());
    let heard = server.heard();
    assert!(
        heard.iter().all(|line| !line.starts_with("AUTH")),
        "{heard:?}"
    );
}

#[test]
fn a_server_that_is_trusted_gets_mails_and_the_password_in_tls() {
    let folder = tempfile::tempdir().expect("a folder");
    make_certificate(folder.path());

    let output = Command::new(env::current_exe().expect("this program"))
        .args([
            "--exact",
            "mail_tls::with_trust",
            "--ignored",
            "--nocapture",
        ])
        .env("SSL_CERT_FILE", folder.path().join("cert.pem"))
        .env(FOLDER, folder.path())
        .output()
        .expect("this program runs");

    let told = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("1 passed"), "{told}\n{errors}");
}

#[tokio::test]
#[ignore = "run by the test above, which says whom to trust"]
async fn with_trust() {
    let Some(folder) = env::var_os(FOLDER) else {
        return;
    };
    let server = server(Path::new(&folder)).await;
    let api = service(&server).await;

    let body = json!({ "email": "ann@mail.dev", "password": "correct horse" });
    api.post("/signup", body).await.ok();

    let mails = server.received();
    assert_eq!(mails.len(), 1);
    assert!(mails[0].is_in_tls);
    assert_eq!(mails[0].to, ["ann@mail.dev"]);
    assert_eq!(mails[0].login, Some(("me".to_owned(), "geheim".to_owned())));
}
