//! Requests over real sockets, and sessions in real files.

use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::response::Redirect;
use axum::routing::get;
use plinth_client::auth::{AuthApi, FlowType};
use plinth_client::{AuthError, Client, FileStore, Http, ManualClock, ProjectUrl, TraceContext};
use serde_json::json;

use crate::support::{Bench, NOW_S, Reply, token_response};

/// Serves on a port of its own until the test ends.
async fn serve(router: Router) -> SocketAddr {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move { axum::serve(listener, router).await });
    address
}

fn api(address: SocketAddr, http: Http) -> AuthApi {
    let url = ProjectUrl::parse(&format!("http://{address}")).expect("a URL");
    AuthApi::new(&url, "key", http)
}

const USER: &str = "/auth/v1/user";

#[tokio::test]
async fn a_reply_from_another_host_is_ignored() {
    let elsewhere = serve(Router::new().route(USER, get(async || r#"{"id":"eve"}"#))).await;
    let away = format!("http://{elsewhere}{USER}");
    let here =
        serve(Router::new().route(USER, get(async move || Redirect::temporary(&away)))).await;

    // Ours follows nothing; one that follows is not believed.
    let error = api(here, Http::new()).user("token").await.unwrap_err();
    assert!(
        matches!(error, AuthError::Unknown { status: 307, .. }),
        "{error:?}"
    );
    let following = Http::with_reqwest(reqwest::Client::new());
    let error = api(here, following).user("token").await.unwrap_err();
    assert!(error.to_string().contains("another host"), "{error}");
}

#[tokio::test]
async fn a_response_that_is_too_large_is_not_read_to_its_end() {
    let large = "x".repeat(300 * 1024);
    let route = "/auth/v1/.well-known/jwks.json";
    let here = serve(Router::new().route(route, get(async move || large))).await;

    let error = api(here, Http::new()).jwks().await.unwrap_err();

    assert!(error.to_string().contains("larger than 262144"), "{error}");
}

#[tokio::test]
async fn an_unreachable_server_is_a_transient_error_and_shows_no_secret() {
    let gone = {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        listener.local_addr().unwrap()
    };

    let error = api(gone, Http::new())
        .user("very-secret")
        .await
        .unwrap_err();

    assert!(matches!(error, AuthError::Retryable { status: 0, .. }));
    assert!(error.to_string().starts_with("cannot connect"), "{error}");
    assert!(!format!("{error:?}").contains("very-secret"));
}

#[tokio::test]
async fn a_server_that_does_not_respond_times_out() {
    let route = get(async || std::future::pending::<&str>().await);
    let here = serve(Router::new().route(USER, route)).await;
    let api = api(here, Http::new()).with_timeout(Duration::from_millis(50));

    let error = api.user("token").await.unwrap_err();

    assert!(
        error.is_retryable() && error.to_string().contains("timed out"),
        "{error}"
    );
}

#[tokio::test]
async fn a_session_in_a_folder_is_there_in_the_next_run() {
    let bench = Bench::new();
    let reply = Reply::json(200, token_response("new", NOW_S + 3600));
    bench.server.on("POST /auth/v1/token", [reply]);
    bench
        .server
        .on("POST /auth/v1/logout", [Reply::text(204, "")]);
    let folder = tempfile::tempdir().unwrap();
    let run = || {
        let store = FileStore::new(folder.path().join("session"));
        bench
            .builder()
            .session_store(store)
            .auto_refresh(false)
            .build()
            .unwrap()
    };

    let sign_in = run()
        .auth()
        .sign_in_with_password()
        .email("a@b.c")
        .password("p");
    let signed_in = sign_in.send().await.unwrap();

    assert_eq!(
        run().auth().session().await.unwrap(),
        Some(signed_in.session)
    );
    run()
        .auth()
        .sign_out(plinth_client::auth::Scope::Local)
        .await
        .unwrap();
    assert_eq!(run().auth().session().await.unwrap(), None);
}

#[tokio::test]
async fn a_router_in_this_process_needs_no_socket() {
    let router = Router::new().route("/rest/v1/t", get(async || axum::Json(json!([1]))));
    let clock = ManualClock::at(NOW_S * 1000);
    let client = Client::builder("http://test", "key")
        .http_service(router)
        .clock(clock);

    let rows = client
        .build()
        .unwrap()
        .from("t")
        .select("*")
        .execute()
        .await
        .unwrap();

    assert_eq!(rows.data, json!([1]));
}

#[tokio::test]
async fn r6_every_request_to_the_project_carries_the_trace_under_way() {
    let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let bench = Bench::new();
    bench.store_session(3600).await;
    bench.server.on(
        "GET /auth/v1/user",
        [Reply::json(200, json!({ "id": "u" }))],
    );
    bench
        .server
        .on("GET /rest/v1/t", [Reply::json(200, json!([]))]);
    let file = "GET /storage/v1/object/b/f";
    bench.server.on(file, [Reply::text(200, "x")]);
    let builder = bench.builder().auto_refresh(false).flow(FlowType::Pkce);
    let builder = builder.trace_propagation(move || {
        Some(TraceContext {
            traceparent: trace.to_owned(),
            tracestate: Some("vendor=1".to_owned()),
            baggage: None,
        })
    });
    let client = builder.build().unwrap();

    client.auth().user().await.unwrap();
    client.from("t").select("*").execute().await.unwrap();
    client
        .storage()
        .from("b")
        .download("f")
        .send()
        .await
        .unwrap();

    let asked = bench.server.asked();
    assert_eq!(asked.len(), 3);
    for request in asked {
        let headers = ["traceparent", "tracestate", "baggage"].map(|name| request.header(name));
        assert_eq!(
            headers,
            [Some(trace), Some("vendor=1"), None],
            "{}",
            request.route
        );
    }
}
