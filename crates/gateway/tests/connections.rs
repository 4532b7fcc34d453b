//! Protocols, TLS, upgrades, invalid input, and graceful shutdown.

mod support;

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::Request,
    response::{IntoResponse, Response},
    routing::get,
};
use http::{Method, StatusCode, Version, header};
use hyper_util::rt::TokioIo;
use plinth_gateway::{Tls, TlsFiles};
use rustls::pki_types::{CertificateDer, ServerName};
use support::{Client, Setup, exchange};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    sync::Notify,
};
use tokio_rustls::{TlsConnector, client::TlsStream};

fn router() -> Router {
    Router::new()
        .route("/ok", get(async || "ok"))
        .route("/echo", get(echo))
}

/// Switches to a protocol that sends everything back.
async fn echo(request: Request) -> Response {
    let upgrade = hyper::upgrade::on(request);
    tokio::spawn(async move {
        let mut stream = TokioIo::new(upgrade.await.expect("an upgrade"));
        let mut buffer = [0; 64];
        while let Ok(read @ 1..) = stream.read(&mut buffer).await {
            stream.write_all(&buffer[..read]).await.expect("sent");
        }
    });
    let headers = [(header::CONNECTION, "upgrade"), (header::UPGRADE, "echo")];
    (StatusCode::SWITCHING_PROTOCOLS, headers).into_response()
}

async fn connect(server: &support::TestServer) -> TcpStream {
    TcpStream::connect(server.address)
        .await
        .expect("a connection")
}

#[tokio::test]
async fn one_port_speaks_http1_and_http2() {
    let server = Setup::new(router()).start().await;

    let response = server.get("/ok").await;
    assert_eq!(
        (response.version, response.text()),
        (Version::HTTP_11, "ok")
    );
    assert_eq!(response.header("server"), "");

    let mut client = Client::http2_on(connect(&server).await).await;
    for _ in 0..2 {
        let response = client.get("/ok", &[]).await;
        assert_eq!((response.version, response.text()), (Version::HTTP_2, "ok"));
    }
}

/// A server with a certificate of its own making, and that certificate.
async fn start_tls() -> (support::TestServer, CertificateDer<'static>) {
    let pair = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()])
        .expect("a self-signed certificate");
    let folder = tempfile::tempdir().expect("a folder");
    let files = TlsFiles {
        cert_file: folder.path().join("cert.pem"),
        key_file: folder.path().join("key.pem"),
    };
    std::fs::write(&files.cert_file, pair.cert.pem()).expect("written");
    std::fs::write(&files.key_file, pair.signing_key.serialize_pem()).expect("written");
    let mut setup = Setup::new(router());
    setup.tls = Some(Tls::load(files).expect("a good pair"));
    (setup.start().await, pair.cert.der().clone())
}

async fn connect_tls(
    server: &support::TestServer,
    certificate: &CertificateDer<'static>,
    alpn: &[u8],
) -> TlsStream<TcpStream> {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(certificate.clone()).expect("a root");
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("protocols")
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![alpn.to_vec()];
    let name = ServerName::try_from("localhost").expect("a name");
    let connector = TlsConnector::from(Arc::new(config));
    connector
        .connect(name, connect(server).await)
        .await
        .expect("a handshake")
}

#[tokio::test]
async fn tls_speaks_both_protocols_as_the_client_chooses() {
    let (server, certificate) = start_tls().await;

    let stream = connect_tls(&server, &certificate, b"h2").await;
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
    let response = Client::http2_on(stream).await.get("/ok", &[]).await;
    assert_eq!((response.version, response.text()), (Version::HTTP_2, "ok"));

    let stream = connect_tls(&server, &certificate, b"http/1.1").await;
    let response = Client::http1_on(stream).await.get("/ok", &[]).await;
    assert_eq!(
        (response.version, response.text()),
        (Version::HTTP_11, "ok")
    );
}

#[tokio::test]
async fn plain_http_on_a_tls_port_does_no_harm() {
    let (server, certificate) = start_tls().await;

    exchange(server.address, b"GET /ok HTTP/1.1\r\nhost: a\r\n\r\n").await;

    let stream = connect_tls(&server, &certificate, b"http/1.1").await;
    assert_eq!(
        Client::http1_on(stream).await.get("/ok", &[]).await.text(),
        "ok"
    );
}

#[tokio::test]
async fn garbage_does_no_harm() {
    let server = Setup::new(router()).start().await;

    for garbage in [
        &b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"[..],
        b"\0\0\0\0\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
        b"GET /ok HTTP/1.1\r\nhost: \xff\xfe\r\ncontent-length: nonsense\r\n\r\n",
        b"CONNECT a.example:443 HTTP/1.1\r\nconnection: close\r\n\r\n",
        b"OPTIONS * HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n",
        b"GET http://user@evil.example/ok HTTP/1.0\r\n\r\n",
    ] {
        let mut stream = connect(&server).await;
        stream.write_all(garbage).await.expect("sent");
        stream.shutdown().await.expect("nothing more");
        let mut response = Vec::new();
        let _ = stream.read_to_end(&mut response).await;
    }

    assert_eq!(server.get("/ok").await.text(), "ok");
}

#[tokio::test]
async fn silent_clients_and_slow_heads_time_out() {
    let mut setup = Setup::new(router());
    setup.config.header_timeout = Duration::from_millis(50);
    let server = setup.start().await;

    for opening in [
        &b""[..],
        b"PRI * HT",
        b"GET /ok HTTP/1.1\r\nhost: a\r\nx-slow: ",
    ] {
        // Ends only because the server closes.
        let response = exchange(server.address, opening).await;
        assert!(!response.contains("200 OK"), "{response}");
    }
}

#[tokio::test]
async fn connections_beyond_the_limit_wait_for_a_permit() {
    let mut setup = Setup::new(router());
    setup.config.max_connections = 1;
    let server = setup.start().await;
    let mut first = server.client().await;
    assert_eq!(first.get("/ok", &[]).await.text(), "ok");

    let mut second = server.client().await;
    let mut waiting = std::pin::pin!(second.get("/ok", &[]));
    let early = tokio::time::timeout(Duration::from_millis(50), &mut waiting).await;
    assert!(early.is_err(), "there is only one permit");

    drop(first);
    assert_eq!(waiting.await.text(), "ok");
}

#[tokio::test]
async fn an_upgraded_connection_is_left_alone() {
    let mut setup = Setup::new(router());
    setup.config.request_timeout = Duration::from_millis(50);
    setup.config.header_timeout = Duration::from_millis(50);
    let server = setup.start().await;
    let mut stream = connect(&server).await;
    let request = b"GET /echo HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\n";
    stream.write_all(request).await.expect("sent");
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.expect("a response"));
    }
    let head = String::from_utf8(head).expect("text");
    assert!(head.starts_with("HTTP/1.1 101 "), "{head}");
    assert!(head.contains("x-request-id: "), "{head}");

    // Longer than every time limit.
    tokio::time::sleep(Duration::from_millis(150)).await;
    stream.write_all(b"still there?").await.expect("sent");

    let mut echoed = [0; 12];
    stream.read_exact(&mut echoed).await.expect("an echo");
    assert_eq!(&echoed, b"still there?");
}

/// A handler that notifies `begun` and blocks until `permitted` is notified.
fn blocking_router(begun: &Arc<Notify>, permitted: &Arc<Notify>) -> Router {
    let (begun, permitted) = (Arc::clone(begun), Arc::clone(permitted));
    let handler = async move || {
        begun.notify_one();
        permitted.notified().await;
        "finished"
    };
    Router::new().route("/blocking", get(handler))
}

#[tokio::test]
async fn a_shutdown_lets_open_requests_finish_and_takes_no_new_ones() {
    let (begun, permitted) = (Arc::default(), Arc::default());
    let server = Setup::new(blocking_router(&begun, &permitted))
        .start()
        .await;
    let mut idle = server.client().await;
    assert_eq!(idle.get("/nonsense", &[]).await.status, 404);
    let mut client = server.client().await;
    let open = tokio::spawn(async move { client.get("/blocking", &[]).await });
    begun.notified().await;

    let address = server.address;
    let stopped = tokio::spawn(server.stop());
    // The listener closes; only then may the request end.
    while TcpStream::connect(address).await.is_ok() {
        tokio::task::yield_now().await;
    }
    permitted.notify_one();

    assert_eq!(open.await.expect("a response").text(), "finished");
    assert_eq!(stopped.await.expect("the end").aborted, 0);
}

#[tokio::test]
async fn what_does_not_finish_in_time_is_aborted_and_counted() {
    let (begun, permitted) = (Arc::default(), Arc::<Notify>::default());
    let mut setup = Setup::new(blocking_router(&begun, &permitted));
    setup.drain = Duration::from_millis(50);
    let server = setup.start().await;
    let mut stream = connect(&server).await;
    stream
        .write_all(b"GET /blocking HTTP/1.1\r\nhost: a\r\n\r\n")
        .await
        .expect("sent");
    begun.notified().await;

    let drained = server.stop().await;

    assert_eq!(drained.aborted, 1);
    let mut response = Vec::new();
    let _ = stream.read_to_end(&mut response).await;
    assert!(response.is_empty());
}

#[tokio::test]
async fn a_client_that_leaves_early_is_recorded() {
    let (begun, permitted) = (Arc::default(), Arc::<Notify>::default());
    let mut server = Setup::new(blocking_router(&begun, &permitted))
        .start()
        .await;
    let mut stream = connect(&server).await;
    stream
        .write_all(b"GET /blocking HTTP/1.1\r\nhost: a\r\n\r\n")
        .await
        .expect("sent");
    begun.notified().await;

    drop(stream);

    assert_eq!(server.next_record().await.fields["status"], 499);
}

#[tokio::test]
async fn a_body_is_streamed_in_both_directions_at_once() {
    let router = Router::new().route("/mirror", axum::routing::post(async |body: Body| body));
    let server = Setup::new(router).start().await;
    let mut client = Client::http2_on(connect(&server).await).await;
    let pieces = (0..50).map(|_| Ok::<_, std::io::Error>(Bytes::from(vec![b'x'; 10_000])));

    let body = Body::from_stream(futures_util::stream::iter(pieces));
    let response = client.send(Method::POST, "/mirror", &[], body).await;

    assert_eq!(response.body.len(), 500_000);
}

/// Sends everything before it reads, as many clients do.
#[tokio::test]
async fn a_client_rejected_early_can_finish_sending_and_reads_the_response() {
    let mut setup = Setup::new(
        Router::new()
            .route(
                "/unread",
                axum::routing::post(async || StatusCode::CONFLICT),
            )
            .route("/begun", axum::routing::post(begin_to_read))
            .route("/large", axum::routing::post(async |_: Bytes| "taken")),
    );
    setup.config.max_body_bytes = 20 << 20;
    let server = setup.start().await;

    for (path, megabytes, status, more) in [
        ("/unread", 30, "409", ""),
        ("/begun", 20, "418", ""),
        ("/large", 30, "413", ""),
        // Some offer HTTP/2 in this way with every request.
        (
            "/unread",
            30,
            "409",
            "connection: upgrade\r\nupgrade: h2c\r\n",
        ),
    ] {
        let mut stream = connect(&server).await;
        let length = megabytes << 20;
        let head =
            format!("POST {path} HTTP/1.1\r\nhost: a\r\n{more}content-length: {length}\r\n\r\n");
        stream.write_all(head.as_bytes()).await.expect("sent");
        stream.write_all(&vec![0; length]).await.expect("all of it");
        let mut response = String::new();
        stream
            .read_to_string(&mut response)
            .await
            .expect("a response");

        assert!(
            response.starts_with(&format!("HTTP/1.1 {status} ")),
            "{response}"
        );
    }
}

async fn begin_to_read(body: Body) -> StatusCode {
    let mut pieces = body.into_data_stream();
    futures_util::StreamExt::next(&mut pieces).await;
    StatusCode::IM_A_TEAPOT
}

/// Who is in front may have taken the other one.
#[tokio::test]
async fn a_request_has_exactly_one_host() {
    let server = Setup::new(router()).start().await;
    for (head, status) in [
        ("GET /ok HTTP/1.1\r\nhost: a\r\n", "200"),
        ("GET /ok HTTP/1.1\r\nhost:\r\n", "200"),
        ("GET http://a/ok HTTP/1.1\r\nhost: a\r\n", "200"),
        ("GET /ok HTTP/1.0\r\n", "200"),
        ("GET /ok HTTP/1.1\r\n", "400"),
        ("GET /health HTTP/1.1\r\n", "400"),
        ("GET http://a/ok HTTP/1.1\r\n", "400"),
        ("GET /ok HTTP/1.1\r\nhost: a\r\nhost: b\r\n", "400"),
        ("GET /ok HTTP/1.1\r\nhost: a\r\nhost: a\r\n", "400"),
        ("GET /ok HTTP/1.0\r\nhost: a\r\nhost: b\r\n", "400"),
    ] {
        let request = format!("{head}connection: close\r\n\r\n");

        let response = exchange(server.address, request.as_bytes()).await;

        let line = response.lines().next().unwrap_or_default();
        assert!(
            line.contains(&format!(" {status} ")),
            "{head:?}: {response}"
        );
        assert_eq!(
            response.contains("invalid_host"),
            status == "400",
            "{response}"
        );
    }
}
