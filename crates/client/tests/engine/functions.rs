//! Calls of functions over a socket: what is sent, and how every kind of response is read.

use std::convert::Infallible;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Path, Request};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use futures_util::future::BoxFuture;
use futures_util::{StreamExt, TryStreamExt, stream};
use http::{HeaderMap, Method, StatusCode};
use http_body_util::BodyExt;
use plinth_client::functions::{Form, FunctionData, Region};
use plinth_client::{Client, FunctionError, ManualClock, MemoryStore, SessionStore};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::support::{NOW_S, session};

/// Functions that respond as theirs would, on a port.
struct Server {
    url: String,
    task: JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Server {
    async fn start() -> Self {
        let router = Router::new()
            .route("/functions/v1/echo", any(echo))
            .route("/functions/v1/echo/{*rest}", any(echo))
            .route("/functions/v1/answer/{kind}", any(respond))
            .route("/functions/v1/status/{status}", any(reject))
            .route("/functions/v1/events", any(events))
            .route("/functions/v1/slow", any(slow))
            .route("/functions/v1/stalls", any(stalls));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
            .await
            .expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let task =
            tokio::spawn(async move { axum::serve(listener, router).await.expect("served") });
        Self { url, task }
    }

    fn client(&self, key: &str) -> Client {
        Client::new(&self.url, key).expect("a client")
    }
}

/// Says what was asked.
async fn echo(request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let headers: serde_json::Map<String, Value> = parts
        .headers
        .iter()
        .map(|(name, value)| (name.to_string(), value.to_str().expect("text").into()))
        .collect();
    let body = body.collect().await.expect("a body").to_bytes();
    axum::Json(json!({
        "method": parts.method.as_str(),
        "path": parts.uri.path(),
        "query": parts.uri.query(),
        "headers": headers,
        "body": String::from_utf8_lossy(&body),
    }))
    .into_response()
}

async fn respond(Path(kind): Path<String>) -> Response {
    let (content_type, body): (&str, &[u8]) = match kind.as_str() {
        "json" => ("Application/JSON; charset=utf-8", br#"{"a":[1]}"#),
        "broken" => ("application/json", b"{"),
        "bytes" => ("application/octet-stream", &[0, 255]),
        "pdf" => ("application/pdf", b"%PDF"),
        "form" => (
            "multipart/form-data; boundary=b",
            b"--b\r\nContent-Disposition: form-data; name=\"t\"\r\n\r\nv\r\n--b--\r\n",
        ),
        "html" => ("text/html", b"<p>"),
        _ => return Response::new(Body::from("plain")),
    };
    ([("content-type", content_type)], body.to_vec()).into_response()
}

async fn reject(Path(status): Path<u16>, headers: HeaderMap) -> Response {
    let mut reply = (
        StatusCode::from_u16(status).expect("a status"),
        axum::Json(json!({ "code": "SOME_CODE", "message": "no luck" })),
    )
        .into_response();
    if let Some(mark) = headers.get("relay") {
        reply.headers_mut().insert("x-relay-error", mark.clone());
    }
    reply
}

async fn events() -> Response {
    let pieces = [
        "data: on",
        "e\n\nevent: b\ndata: two\n\nda",
        "ta: three\n\n",
    ];
    let pieces = stream::iter(pieces).then(|piece| async move {
        // So that the pieces arrive one by one.
        tokio::time::sleep(Duration::from_millis(5)).await;
        Ok::<_, Infallible>(Bytes::from(piece))
    });
    let body = Body::from_stream(pieces);
    ([("content-type", "text/event-stream")], body).into_response()
}

async fn slow() -> &'static str {
    // Longer than any timeout of these tests; no test waits for it.
    tokio::time::sleep(Duration::from_secs(30)).await;
    "late"
}

/// One piece, and then nothing for a long time.
async fn stalls() -> Response {
    let pieces = stream::iter(["data: one\n\n"]).chain(stream::pending());
    let pieces = pieces.map(|piece| Ok::<_, Infallible>(Bytes::from(piece)));
    let body = Body::from_stream(pieces);
    ([("content-type", "text/event-stream")], body).into_response()
}

#[tokio::test]
async fn every_body_says_what_it_is() {
    let server = Server::start().await;
    let functions = server.client("sb_publishable_k").functions();
    let echo = || functions.invoke("echo");
    let pieces = || stream::iter(["a", "b"].map(Ok::<_, std::io::Error>));
    let sent = async |request: plinth_client::functions::InvokeRequest| {
        let said: Value = request.send_as().await.unwrap();
        let content_type = said["headers"]["content-type"].as_str().map(str::to_owned);
        (content_type, said["body"].as_str().unwrap().to_owned())
    };
    let of = |content_type: &str, body: &str| (Some(content_type.to_owned()), body.to_owned());

    assert_eq!(sent(echo()).await, (None, String::new()));
    assert_eq!(
        sent(echo().json(&json!({ "a": 1 }))).await,
        of("application/json", r#"{"a":1}"#)
    );
    assert_eq!(sent(echo().text("hä")).await, of("text/plain", "hä"));
    assert_eq!(
        sent(echo().bytes("ab")).await,
        of("application/octet-stream", "ab")
    );
    assert_eq!(
        sent(echo().stream(pieces())).await,
        of("application/octet-stream", "ab")
    );
    let own = echo().header("Content-Type", "text/csv").text("a;b");
    assert_eq!(sent(own).await, of("text/csv", "a;b"));
    let (content_type, form) = sent(echo().multipart(&Form::new().text("t", "v"))).await;
    let content_type = content_type.unwrap();
    let boundary = content_type.strip_prefix("multipart/form-data; boundary=");
    assert!(
        form.starts_with(&format!("--{}", boundary.unwrap())),
        "{form}"
    );
    assert!(form.contains("name=\"t\"\r\n\r\nv\r\n"), "{form}");
}

#[tokio::test]
async fn method_path_query_region_and_headers_arrive() {
    let server = Server::start().await;
    let client = Client::builder(&server.url, "sb_publishable_k")
        .header("x-app", "mine")
        .build()
        .unwrap();
    let request = client
        .functions()
        .region(Region::EuWest1)
        .invoke("echo/7?x=1")
        .method(Method::GET)
        .header("x-app", "call");

    let said: Value = request.send_as().await.unwrap();

    assert_eq!(said["method"], "GET");
    assert_eq!(said["path"], "/functions/v1/echo/7");
    assert_eq!(said["query"], "x=1&forceFunctionRegion=eu-west-1");
    let headers = &said["headers"];
    assert_eq!(headers["x-region"], "eu-west-1");
    assert_eq!(headers["x-app"], "call");
    assert_eq!(headers["apikey"], "sb_publishable_k");
    assert!(
        headers["x-client-info"]
            .as_str()
            .unwrap()
            .starts_with("plinth-client/")
    );
    assert_eq!(headers["authorization"], Value::Null);
}

#[tokio::test]
async fn a_call_carries_the_signed_in_users_token() {
    let server = Server::start().await;
    let store = MemoryStore::new();
    let end = time::OffsetDateTime::now_utc().unix_timestamp() + 3600;
    let ann = session("ann", end);
    store.set("sb-127-auth-token", ann.to_json()).await.unwrap();
    let client = Client::builder(&server.url, "legacy.jwt.key")
        .session_store(store)
        .build()
        .unwrap();
    let bearer = async |request: plinth_client::functions::InvokeRequest| {
        let said: Value = request.send_as().await.unwrap();
        said["headers"]["authorization"].as_str().map(str::to_owned)
    };
    let functions = client.functions();

    let of_ann = format!("Bearer {}", ann.access_token());
    assert_eq!(bearer(functions.invoke("echo")).await, Some(of_ann));
    let other = bearer(functions.clone().auth("other").invoke("echo")).await;
    assert_eq!(other.as_deref(), Some("Bearer other"));
    let own = functions.invoke("echo").header("authorization", "Basic x");
    assert_eq!(bearer(own).await.as_deref(), Some("Basic x"));
    let anonymous = server.client("legacy.jwt.key").functions().invoke("echo");
    assert_eq!(
        bearer(anonymous).await.as_deref(),
        Some("Bearer legacy.jwt.key")
    );
}

#[tokio::test]
async fn responses_are_decoded_by_their_content_type() {
    let server = Server::start().await;
    let functions = server.client("k").functions();
    let fetch = async |kind: &str| functions.invoke(&format!("answer/{kind}")).send().await;

    let FunctionData::Json(value) = fetch("json").await.unwrap().data else {
        panic!("no JSON");
    };
    assert_eq!(value, json!({ "a": [1] }));
    assert_eq!(
        fetch("bytes").await.unwrap().bytes().unwrap(),
        &[0, 255][..]
    );
    assert_eq!(fetch("pdf").await.unwrap().bytes().unwrap(), "%PDF");
    let FunctionData::Form(form) = fetch("form").await.unwrap().data else {
        panic!("no form");
    };
    assert_eq!(form.get("t").unwrap().text(), "v");
    let html = fetch("html").await.unwrap();
    assert_eq!(html.header("content-type"), Some("text/html"));
    assert_eq!(html.text().unwrap(), "<p>");
    assert_eq!(fetch("none").await.unwrap().text().unwrap(), "plain");
    assert!(matches!(
        fetch("broken").await,
        Err(FunctionError::Unreadable(_))
    ));
    let typed = functions.invoke("answer/html").send_as::<Value>().await;
    assert!(
        typed
            .unwrap_err()
            .to_string()
            .contains("it is text, not JSON")
    );
}

#[tokio::test]
async fn failures_name_who_rejected() {
    let server = Server::start().await;
    let functions = server.client("k").functions();

    let error = functions.invoke("status/418").send().await.unwrap_err();
    assert!(matches!(&error, FunctionError::Http(response) if response.status == 418));
    assert_eq!(
        error.response().unwrap().code().as_deref(),
        Some("SOME_CODE")
    );
    assert!(!error.is_retryable());

    for status in [200, 503] {
        let request = functions.invoke(&format!("status/{status}"));
        let error = request.header("relay", "true").send().await.unwrap_err();
        assert!(matches!(&error, FunctionError::Relay(_)), "{error:?}");
        assert!(error.is_retryable());
    }

    let anonymous = Client::new("http://127.0.0.1:1", "k").unwrap();
    let error = anonymous.functions().invoke("x").send().await.unwrap_err();
    assert!(matches!(error, FunctionError::Fetch(_)), "{error:?}");
    assert!(error.is_retryable());
    let header = functions.invoke("echo").header("a b", "c").send().await;
    assert!(matches!(header, Err(FunctionError::InvalidInput(_))));
    let broken = stream::iter([Ok("a"), Err("the disk is gone")]);
    let error = functions.invoke("echo").stream(broken).send().await;
    let Err(FunctionError::Body(why)) = error else {
        panic!("{error:?}");
    };
    assert_eq!(why, "the disk is gone");
}

#[tokio::test]
async fn a_call_takes_no_longer_than_it_may() {
    let server = Server::start().await;
    let clock = ManualClock::at(NOW_S * 1000);
    let builder = Client::builder(&server.url, "k").clock(clock.clone());
    let functions = builder.auto_refresh(false).build().unwrap().functions();
    let limit = Duration::from_secs(5);
    // Lets time pass until the work is over.
    let hurried = async |work: BoxFuture<'_, FunctionError>| {
        let auto_advancing = async {
            loop {
                tokio::time::sleep(Duration::from_millis(5)).await;
                clock.advance(limit);
            }
        };
        tokio::select! {
            error = work => error,
            () = auto_advancing => unreachable!("it goes on"),
        }
    };

    let call = functions.invoke("slow").timeout(limit).send();
    let error = hurried(Box::pin(async { call.await.unwrap_err() })).await;
    assert!(matches!(&error, FunctionError::Fetch(error) if error.is_timeout()));

    let stalling = functions.invoke("stalls").timeout(limit).send_stream();
    let mut events = stalling.await.unwrap().events();
    assert_eq!(events.try_next().await.unwrap().unwrap().data, "one");
    let waiting = Box::pin(async { events.try_next().await.unwrap_err() });
    let error = hurried(waiting).await;
    assert!(matches!(&error, FunctionError::Fetch(error) if error.is_timeout()));
    assert_eq!(events.try_next().await.unwrap(), None);
}

#[tokio::test]
async fn events_come_while_the_function_still_runs() {
    let server = Server::start().await;
    let functions = server.client("k").functions();

    let FunctionData::Stream(stream) = functions.invoke("events").send().await.unwrap().data else {
        panic!("no stream");
    };
    assert_eq!(stream.content_type(), Some("text/event-stream"));
    let events: Vec<_> = stream.events().try_collect().await.unwrap();
    let reported: Vec<_> = events
        .iter()
        .map(|event| (event.event.as_str(), event.data.as_str()))
        .collect();
    assert_eq!(
        reported,
        [("message", "one"), ("b", "two"), ("message", "three")]
    );

    let pieces = functions.invoke("events").send_stream().await.unwrap();
    assert_eq!(pieces.status(), 200);
    let pieces: Vec<Bytes> = pieces.try_collect().await.unwrap();
    assert_eq!(
        pieces.concat(),
        b"data: one\n\nevent: b\ndata: two\n\ndata: three\n\n"
    );

    // The first event is there although the function never ends.
    let endless = functions.invoke("stalls").send_stream().await.unwrap();
    let first = endless.events().try_next().await.unwrap();
    assert_eq!(first.unwrap().data, "one");
}
