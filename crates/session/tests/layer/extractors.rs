//! Extractors and their rejections (client contract A2, A3).

use plinth_session::SessionRuntime;
use serde_json::json;

use crate::support::{App, Browser, NOW_S, USER, Upstream, claims, routes, session_json};

fn holding(app: &App, change: &serde_json::Value) -> Browser {
    let mut claims = claims(3600);
    for (name, value) in change.as_object().unwrap() {
        claims[name] = value.clone();
    }
    let token = app.upstream.tokens().sign(&claims);
    app.browser()
        .holding(&session_json(&token, "r", NOW_S + 3600))
}

#[tokio::test]
async fn a_second_factor_is_asked_for() {
    let app = App::new();

    let reply = holding(&app, &json!({})).get("/aal2").await;
    assert_eq!(
        (reply.status.as_u16(), reply.code()),
        (403, "insufficient_aal".to_owned())
    );
    let reply = holding(&app, &json!({ "aal": "aal2" })).get("/aal2").await;
    assert_eq!(reply.short(), (200, USER));
    assert_eq!(app.browser().get("/aal2").await.status.as_u16(), 401);
}

#[tokio::test]
async fn a_role_must_be_let_in_and_be_the_right_one() {
    let strict = App::new();
    let app = App::with(Upstream::new(), |builder| builder.allow_role("editor"));

    let reply = holding(&app, &json!({ "role": "editor" }))
        .get("/editor")
        .await;
    assert_eq!(reply.short(), (200, "editor"));
    let reply = holding(&app, &json!({})).get("/editor").await;
    assert_eq!(
        (reply.status.as_u16(), reply.code()),
        (403, "insufficient_role".to_owned())
    );
    assert_eq!(
        holding(&strict, &json!({ "role": "editor" }))
            .get("/editor")
            .await
            .status
            .as_u16(),
        401
    );
}

#[tokio::test]
async fn layers_of_one_process_share_no_acceptance() {
    let upstream = Upstream::new();
    let runtime = SessionRuntime::new();
    let strict = App::with(upstream.clone(), |builder| builder.runtime(runtime.clone()));
    let open = App::with(upstream, |builder| {
        builder.runtime(runtime).allow_role("editor")
    });
    let role = json!({ "role": "editor" });
    let status = async |app: &App| {
        let reply = holding(app, &role).get("/editor").await;
        reply.status.as_u16()
    };

    assert_eq!(status(&strict).await, 401);
    assert_eq!(status(&open).await, 200);
    assert_eq!(
        status(&strict).await,
        401,
        "also when the other has taken it"
    );
}

#[tokio::test]
async fn browsers_are_redirected_and_programs_get_errors() {
    let app = App::with(Upstream::new(), |builder| {
        builder
            .sign_in_path("/sign-in")
            .mfa_path("/sign-in/mfa?from=app")
    });
    let page = "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8";

    let reply = app
        .browser()
        .with("accept", Some(page))
        .get("/private?a=b&c")
        .await;
    assert_eq!(reply.status.as_u16(), 303);
    assert_eq!(
        reply.header("location"),
        Some("/sign-in?next=%2Fprivate%3Fa%3Db%26c")
    );
    assert_eq!(reply.header("cache-control"), Some("private, no-store"));
    let reply = holding(&app, &json!({}))
        .with("accept", Some(page))
        .get("/aal2")
        .await;
    assert_eq!(
        reply.header("location"),
        Some("/sign-in/mfa?from=app&next=%2Faal2")
    );

    let reply = app
        .browser()
        .with("accept", Some("application/json"))
        .get("/private")
        .await;
    assert_eq!(reply.status.as_u16(), 401);
    let reply = app
        .browser()
        .with("accept", Some(page))
        .post("/private", "")
        .await;
    assert_eq!(reply.status.as_u16(), 401);
}

#[tokio::test]
async fn the_sdk_asks_with_the_users_token() {
    let app = App::new();
    let mut browser = app.signed_in_for(3600);

    let reply = browser.get("/rows").await;

    let stored: serde_json::Value =
        serde_json::from_str(&browser.item(crate::support::KEY).unwrap()).unwrap();
    let bearer = format!("Bearer {}", stored["access_token"].as_str().unwrap());
    assert_eq!(reply.body, json!([{ "authorization": bearer }]).to_string());
    assert_eq!(app.browser().get("/rows").await.status.as_u16(), 401);
}

#[tokio::test]
async fn a_route_without_the_layer_says_so() {
    let mut browser = Browser::new(routes());

    for path in ["/private", "/maybe", "/state", "/aal2"] {
        let reply = browser.get(path).await;
        assert_eq!(
            (reply.status.as_u16(), reply.code()),
            (500, "unexpected_failure".to_owned())
        );
    }
}

#[tokio::test]
async fn a_nested_route_returns_to_its_whole_path() {
    let app = App::with(Upstream::new(), |builder| builder.sign_in_path("/sign-in"));
    let outer = axum::Router::new().nest("/p/abc", app.router());
    let mut browser = Browser::new(outer).with("accept", Some("text/html"));

    let reply = browser.get("/p/abc/private").await;

    assert_eq!(
        reply.header("location"),
        Some("/sign-in?next=%2Fp%2Fabc%2Fprivate")
    );
}

#[tokio::test]
async fn any_tower_service_can_be_inside() {
    use http::{Request, Response};
    use tower::{Layer as _, ServiceExt as _, service_fn};

    async fn inside(_: Request<()>) -> Result<Response<String>, std::convert::Infallible> {
        Ok(Response::new("inside".to_owned()))
    }
    let upstream = Upstream::new();
    let layer = plinth_session::SessionLayer::builder("http://auth.test", "anon")
        .http(upstream.http())
        .runtime(plinth_session::SessionRuntime::new())
        .build()
        .unwrap();
    let response = layer
        .layer(service_fn(inside))
        .oneshot(Request::new(()))
        .await
        .unwrap();

    assert_eq!(response.into_body(), "inside");
}
