//! Sizes, times, panics and compression.

mod support;

use std::time::Duration;

use axum::{
    Extension, Json, Router,
    body::{Body, Bytes},
    extract::rejection::BytesRejection,
    response::{IntoResponse, Response},
    routing::{get, post},
};
use http::{Method, StatusCode};
use plinth_log::Level;
use plinth_project::BodyLimit;
use support::{Client, Setup, exchange};
use tokio::net::TcpStream;

async fn length(body: Bytes) -> String {
    body.len().to_string()
}

async fn length_without_limit(Extension(limit): Extension<BodyLimit>, body: Body) -> String {
    limit.lift();
    let body = axum::body::to_bytes(body, usize::MAX)
        .await
        .expect("no limit");
    body.len().to_string()
}

/// Rejects in its own format, as services do.
async fn own_words(body: Result<Bytes, BytesRejection>) -> Response {
    match body {
        Ok(_) => StatusCode::OK.into_response(),
        Err(rejection) => (rejection.status(), Json("my own words")).into_response(),
    }
}

fn setup() -> Setup {
    let router = Router::new()
        .route("/length", post(length))
        .route("/unlimited", post(length_without_limit))
        .route("/own-words", post(own_words))
        .route("/never", get(std::future::pending::<()>))
        .route("/upload", post(length))
        .route(
            "/panic",
            get(async || -> String { panic!("a mistake in a handler") }),
        )
        .route("/panic-later", get(async || Body::new(PanickingBody)))
        .route("/json", get(async || Json("x".repeat(4000))))
        .route("/ok", get(async || "ok"));
    let mut setup = Setup::new(router);
    setup.config.max_body_bytes = 1000;
    setup.config.max_header_bytes = 8 << 10;
    setup
}

struct PanickingBody;

impl hyper::body::Body for PanickingBody {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<hyper::body::Frame<Bytes>, Self::Error>>> {
        panic!("a mistake in a stream")
    }
}

#[tokio::test]
async fn large_headers_are_rejected_with_a_reason_and_the_connection_lives_on() {
    let server = setup().start().await;
    let mut client = server.client().await;

    let response = client.get("/ok", &[("x-large", &"x".repeat(9000))]).await;

    assert_eq!(
        response.error(),
        (431, "request_headers_too_large".to_owned())
    );
    assert_eq!(client.get("/ok", &[]).await.text(), "ok");
}

#[tokio::test]
async fn enormous_headers_are_rejected_too() {
    let server = setup().start().await;

    let head = format!(
        "GET /ok HTTP/1.1\r\nhost: a\r\nx-huge: {}\r\n\r\n",
        "x".repeat(600 << 10)
    );
    let response = exchange(server.address, head.as_bytes()).await;

    assert!(
        response.is_empty() || response.starts_with("HTTP/1.1 431 "),
        "{response}"
    );
    assert_eq!(server.get("/ok").await.text(), "ok");
}

#[tokio::test]
async fn large_headers_are_rejected_over_http2_as_well() {
    let server = setup().start().await;
    let stream = TcpStream::connect(server.address)
        .await
        .expect("a connection");
    let mut client = Client::http2_on(stream).await;

    let response = client.get("/ok", &[("x-large", &"x".repeat(9000))]).await;

    assert_eq!(
        response.error(),
        (431, "request_headers_too_large".to_owned())
    );
    assert_eq!(client.get("/ok", &[]).await.text(), "ok");
}

#[tokio::test]
async fn a_large_body_is_rejected_whether_or_not_its_length_is_declared() {
    let server = setup().start().await;
    let chunked = || {
        Body::from_stream(futures_util::stream::iter(
            (0..11).map(|_| Ok::<_, std::io::Error>(Bytes::from(vec![b'x'; 100]))),
        ))
    };

    for body in [Body::from(vec![b'x'; 1001]), chunked()] {
        let mut client = server.client().await;
        let response = client.send(Method::POST, "/length", &[], body).await;
        assert_eq!(
            response.error(),
            (413, "request_entity_too_large".to_owned())
        );
        assert_eq!(
            response.json()["message"],
            "The request's body is larger than 1000 bytes"
        );
        assert_eq!(
            client.get("/ok", &[]).await.text(),
            "ok",
            "the connection lives on"
        );
    }
    let mut client = server.client().await;
    let response = client
        .send(Method::POST, "/length", &[], Body::from(vec![b'x'; 1000]))
        .await;
    assert_eq!(response.text(), "1000");
}

#[tokio::test]
async fn a_service_changes_the_limit_for_its_own_routes() {
    let server = setup().start().await;
    let mut client = server.client().await;

    let large = Body::from(vec![b'x'; 5 << 20]);
    let response = client.send(Method::POST, "/unlimited", &[], large).await;
    assert_eq!(response.text(), (5 << 20).to_string());

    let large = Body::from(vec![b'x'; 2000]);
    let response = client.send(Method::POST, "/own-words", &[], large).await;
    assert_eq!(
        (response.status.as_u16(), response.text()),
        (413, "\"my own words\"")
    );
}

#[tokio::test]
async fn axums_own_limit_of_two_megabytes_does_not_apply() {
    let mut setup = setup();
    setup.config.max_body_bytes = 10 << 20;
    let server = setup.start().await;

    let body = Body::from(vec![b'x'; 3 << 20]);
    let response = server
        .client()
        .await
        .send(Method::POST, "/length", &[], body)
        .await;

    assert_eq!(response.text(), (3 << 20).to_string());
}

#[tokio::test]
async fn a_handler_that_never_responds_times_out() {
    let mut setup = setup();
    setup.config.request_timeout = Duration::from_millis(50);
    let server = setup.start().await;
    let mut client = server.client().await;

    let response = client.get("/never", &[]).await;

    assert_eq!(response.error(), (504, "request_timeout".to_owned()));
    assert_eq!(client.get("/ok", &[]).await.text(), "ok");
}

#[tokio::test]
async fn a_long_upload_is_no_slow_response() {
    let mut setup = setup();
    setup.config.request_timeout = Duration::from_secs(1);
    let server = setup.start().await;
    let pieces = futures_util::stream::unfold(0, async |sent| {
        // In all longer than the limit, but never silent for as long, also on a busy machine.
        tokio::time::sleep(Duration::from_millis(100)).await;
        (sent < 20).then_some((
            Ok::<_, std::io::Error>(Bytes::from_static(b"piece")),
            sent + 1,
        ))
    });

    let body = Body::from_stream(pieces);
    let response = server
        .client()
        .await
        .send(Method::POST, "/upload", &[], body)
        .await;

    assert_eq!(response.text(), "100");
}

#[tokio::test]
async fn a_panic_costs_only_its_own_request() {
    let mut server = setup().start().await;
    let mut client = server.client().await;

    let response = client.get("/panic", &[]).await;

    assert_eq!(response.error(), (500, "unexpected_failure".to_owned()));
    assert_eq!(
        response.json()["request_id"],
        response.header("x-request-id")
    );
    assert!(!response.text().contains("mistake"));
    let fault = server.next_record().await;
    assert_eq!(fault.level, Level::Error);
    assert!(
        fault.message.contains("a mistake in a handler"),
        "{}",
        fault.message
    );
    assert_eq!(
        fault.request_id.as_deref(),
        Some(response.header("x-request-id"))
    );
    assert_eq!(client.get("/ok", &[]).await.text(), "ok");
}

#[tokio::test]
async fn a_stream_that_panics_breaks_off_and_is_recorded() {
    let mut server = setup().start().await;

    let request = b"GET /panic-later HTTP/1.1\r\nhost: a\r\n\r\n";
    let response = exchange(server.address, request).await;

    assert!(
        !response.ends_with("0\r\n\r\n"),
        "the client must not take it for complete: {response}"
    );
    assert!(
        server
            .next_record()
            .await
            .message
            .contains("a mistake in a stream")
    );
    assert_eq!(server.get("/ok").await.text(), "ok");
}

#[tokio::test]
async fn responses_are_compressed_for_clients_that_accept_it() {
    let server = setup().start().await;
    let mut client = server.client().await;

    let plain = client.get("/json", &[]).await;
    assert_eq!(
        (plain.header("content-encoding"), plain.body.len()),
        ("", 4002)
    );
    assert_eq!(plain.header("vary"), "Accept-Encoding");

    let gzip = client.get("/json", &[("accept-encoding", "gzip")]).await;
    assert_eq!(gzip.header("content-encoding"), "gzip");
    assert!(gzip.body.starts_with(&[0x1f, 0x8b]) && gzip.body.len() < 400);

    let brotli = client
        .get("/json", &[("accept-encoding", "gzip, br")])
        .await;
    assert_eq!(brotli.header("content-encoding"), "br");

    let head = client.send(
        Method::HEAD,
        "/json",
        &[("accept-encoding", "gzip")],
        Body::empty(),
    );
    let head = head.await;
    assert_eq!(
        (
            head.header("content-encoding"),
            head.header("content-length")
        ),
        ("", "4002")
    );
}

#[tokio::test]
async fn compression_can_be_switched_off() {
    let mut setup = setup();
    setup.config.compression = false;
    let server = setup.start().await;

    let response = server
        .client()
        .await
        .get("/json", &[("accept-encoding", "gzip")])
        .await;

    assert_eq!(
        (response.header("content-encoding"), response.header("vary")),
        ("", "")
    );
}
