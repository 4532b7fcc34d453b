//! Functions on the real runtime: every form of a call, and what comes back.

use std::time::{Duration, Instant};

use futures_util::{StreamExt, stream};
use http::Method;
use plinth_client::FunctionError;
use plinth_client::functions::{Form, FunctionData, Region};
use serde_json::{Value, json};

use crate::support::Live;

/// Says what arrived.
const ECHO: &str = r#"
    Deno.serve(async (req) => Response.json({
      method: req.method,
      url: req.url.replace(/^https?:..[^/]*/, ''),
      type: req.headers.get('content-type'),
      region: req.headers.get('x-region'),
      custom: req.headers.get('x-custom'),
      user: JSON.parse(atob((req.headers.get('authorization') ?? '').split('.')[1] ?? btoa('{}'))).email ?? null,
      body: await req.text(),
    }));
"#;

async fn echo(request: plinth_client::functions::InvokeRequest) -> Value {
    request.send_as().await.expect("a response")
}

#[tokio::test]
async fn every_form_of_a_call_arrives() {
    let live = Live::start().await;
    live.function("echo", ECHO);
    let client = live.signed_up("ada@example.com").await;
    let call = || client.functions().invoke("echo");

    let plain = echo(call()).await;
    assert_eq!(
        (&plain["method"], &plain["body"]),
        (&json!("POST"), &json!(""))
    );
    assert_eq!(plain["user"], "ada@example.com");
    let typed = echo(call().json(&json!({ "a": [1, "ü"] }))).await;
    assert_eq!(typed["type"], "application/json");
    assert_eq!(typed["body"], r#"{"a":[1,"ü"]}"#);
    let text = echo(call().text("words")).await;
    assert_eq!(
        (&text["type"], &text["body"]),
        (&json!("text/plain"), &json!("words"))
    );
    let bytes = echo(call().bytes(&b"abc"[..])).await;
    assert_eq!(bytes["type"], "application/octet-stream");
    let pieces = stream::iter(["a", "b", "c"].map(Ok::<_, std::io::Error>));
    assert_eq!(echo(call().stream(pieces)).await["body"], "abc");
    let got = echo(
        client
            .functions()
            .invoke("echo/deep?x=1")
            .method(Method::GET),
    )
    .await;
    assert_eq!(
        (&got["method"], &got["url"]),
        (&json!("GET"), &json!("/echo/deep?x=1"))
    );
    let far = echo(call().region(Region::EuWest1).header("x-custom", "yes")).await;
    assert_eq!(
        (&far["region"], &far["custom"]),
        (&json!("eu-west-1"), &json!("yes"))
    );
    assert!(
        far["url"]
            .as_str()
            .unwrap()
            .ends_with("forceFunctionRegion=eu-west-1")
    );
    let form = Form::new()
        .text("name", "Ada")
        .file("photo", "a.png", "image/png", &b"png"[..]);
    let form = echo(call().multipart(&form)).await;
    assert!(
        form["type"]
            .as_str()
            .unwrap()
            .starts_with("multipart/form-data; boundary=")
    );
    assert!(
        form["body"]
            .as_str()
            .unwrap()
            .contains("filename=\"a.png\"")
    );
}

#[tokio::test]
async fn a_response_is_decoded_by_its_content_type() {
    let live = Live::start().await;
    live.function(
        "kinds",
        r#"Deno.serve((req) => {
            const kind = new URL(req.url).searchParams.get('kind')!;
            if (kind === 'form') { const form = new FormData(); form.set('a', 'b'); return new Response(form); }
            return new Response('{"a":1}', { headers: { 'content-type': kind } });
        });"#,
    );
    let functions = live.client().functions();
    let data = async |kind: &str| {
        let reply = functions.invoke(&format!("kinds?kind={kind}")).send().await;
        reply.expect("a response").data
    };

    assert!(matches!(data("application/json").await, FunctionData::Json(value) if value["a"] == 1));
    assert!(matches!(
        data("application/pdf").await,
        FunctionData::Bytes(_)
    ));
    assert!(matches!(
        data("application/octet-stream").await,
        FunctionData::Bytes(_)
    ));
    assert!(matches!(data("text/html").await, FunctionData::Text(_)));
    let FunctionData::Form(form) = data("form").await else {
        panic!("no form");
    };
    assert_eq!(form.get("a").map(|part| part.text()).as_deref(), Some("b"));
}

#[tokio::test]
async fn failures_are_distinguished() {
    let live = Live::start().await;
    live.function(
        "refuses",
        "Deno.serve(() => Response.json({ code: 'full' }, { status: 418 }));",
    );
    live.function("throws", "throw new Error('never');");
    live.function("waits", "Deno.serve(() => new Promise(() => {}));");
    let functions = live.client().functions();
    let failure = async |name: &str| functions.invoke(name).send().await.expect_err("a failure");

    let rejected = failure("refuses").await;
    assert_eq!(rejected.status(), Some(418));
    assert_eq!(
        rejected
            .response()
            .and_then(|response| response.code())
            .as_deref(),
        Some("full")
    );
    assert!(!rejected.is_retryable());
    let broken = failure("throws").await;
    assert_eq!(broken.status(), Some(503));
    let code = broken.response().and_then(|response| response.code());
    assert_eq!(code.as_deref(), Some("BOOT_ERROR"));
    assert!(broken.is_retryable());
    assert_eq!(failure("missing").await.status(), Some(404));
    let began = Instant::now();
    let late = functions
        .invoke("waits")
        .timeout(Duration::from_millis(300))
        .send()
        .await;
    assert!(matches!(late, Err(FunctionError::Fetch(_))), "{late:?}");
    assert!(began.elapsed() < Duration::from_secs(10));
}

#[tokio::test]
async fn events_arrive_while_the_function_goes_on() {
    let live = Live::start().await;
    live.function(
        "events",
        r#"Deno.serve(() => {
            const encoder = new TextEncoder();
            let count = 0;
            const body = new ReadableStream({
              async pull(controller) {
                count += 1;
                controller.enqueue(encoder.encode(`event: tick\ndata: ${count}\n\n`));
                await new Promise((resolve) => setTimeout(resolve, 20));
              },
            });
            return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
        });"#,
    );
    let functions = live.client().functions();

    let stream = functions
        .invoke("events")
        .send_stream()
        .await
        .expect("a stream");
    assert_eq!(stream.content_type(), Some("text/event-stream"));
    let events: Vec<_> = stream.events().take(3).collect().await;

    let data: Vec<String> = events
        .into_iter()
        .map(|event| event.expect("an event").data)
        .collect();
    assert_eq!(data, ["1", "2", "3"]);
}
