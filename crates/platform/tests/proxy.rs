//! A project's services, called by operators: what they get, who may call them, and as whom.

mod support;

use std::sync::{Arc, Mutex};

use axum::{Extension, Json, Router, body::Body, extract::Request};
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use http::{Method, StatusCode, Uri};
use plinth_auth::AuthService;
use plinth_gateway::{InternalCalls, Mount, Mounts};
use plinth_log::Source;
use plinth_platform::{
    TokenLimits,
    api::{self, ControlSocket},
};
use plinth_project::{Credentials, ProjectName, PublicUrl};
use plinth_rest::RestService;
use plinth_testkit::{Call, Reply};
use serde_json::{Value, json};
use support::TestPlatform;
use tower::ServiceExt as _;

const PASSWORD: &str = "correct horse";

/// A platform whose storage and functions return what they get, beside the real REST and auth.
struct App {
    test: TestPlatform,
    reference: String,
    received: Arc<Mutex<Vec<Value>>>,
}

impl App {
    async fn start() -> Self {
        let test = TestPlatform::start().await;
        let received = Arc::new(Mutex::new(Vec::new()));
        let echo = echo(received.clone());
        let auth = AuthService::new();
        let mounts = Mounts::new(Router::new(), Router::new())
            .service(Mount::new(
                "/auth/v1",
                Source::Auth,
                plinth_auth::routes(auth.clone()),
            ))
            .service(Mount::new(
                "/rest/v1",
                Source::Rest,
                plinth_rest::routes(RestService::new()),
            ))
            .service(Mount::new("/storage/v1", Source::Storage, echo.clone()))
            .service(Mount::new("/functions/v1", Source::Functions, echo).without_timeout());
        test.platform
            .attach_services(Arc::new(InternalCalls::new(&mounts)));
        test.platform.attach_users(Arc::new(auth));
        let row = test.platform.load_project(&ProjectName::Default).await;
        Self {
            reference: row.expect("a project").reference.to_string(),
            test,
            received,
        }
    }

    /// A request of the owner below the proxy.
    fn call(&self, method: Method, path: &str) -> Call {
        self.call_in(&self.reference, method, path)
    }

    fn call_in(&self, reference: &str, method: Method, path: &str) -> Call {
        self.anonymous_call(reference, method, path)
            .with(|request| {
                request.extensions_mut().insert(ControlSocket);
            })
    }

    fn anonymous_call(&self, reference: &str, method: Method, path: &str) -> Call {
        let path = format!("/platform/projects/{reference}/proxy{path}");
        Call::new(api::routes(self.test.platform.clone()), method, &path)
    }

    async fn token(&self, scopes: &[&str], read_only: bool) -> String {
        let limits = TokenLimits {
            scopes: (!scopes.is_empty())
                .then(|| scopes.iter().map(|scope| (*scope).to_owned()).collect()),
            projects: None,
            read_only,
        };
        let (_, secret) = self.test.token_with("t", limits).await;
        secret.expose().to_owned()
    }

    fn last_received(&self) -> Value {
        let received = self.received.lock().expect("no panic");
        received.last().expect("a call").clone()
    }

    fn calls(&self) -> usize {
        self.received.lock().expect("no panic").len()
    }

    async fn sql(&self, sql: &str) {
        let project = self.test.open(&ProjectName::Default).await;
        let owner = project.db.as_owner().await.expect("a session");
        owner.batch_execute(sql).await.expect(sql);
    }

    /// A user of the project, made through the proxy.
    async fn user(&self, email: &str) -> String {
        let body = json!({ "email": email, "password": PASSWORD, "email_confirm": true });
        let made = self.call(Method::POST, "/auth/v1/admin/users").json(&body);
        let made = made.await.ok();
        made["id"].as_str().expect("an id").to_owned()
    }

    /// The platform's audit log, oldest first.
    async fn audit(&self) -> Vec<Value> {
        let project = self.test.open(&ProjectName::Platform).await;
        let admin = project.db.as_admin().await.expect("a session");
        let sql = "select jsonb_build_object('action', action, 'project', project,
                     'details', details) from platform.audit order by id";
        let rows = admin.query(sql, &[]).await.expect("the audit log");
        rows.iter().map(|row| row.get(0)).collect()
    }

    async fn proxy_audit(&self) -> Vec<Value> {
        let all = self.audit().await.into_iter();
        all.filter(|entry| {
            let action = entry["action"].as_str().unwrap_or_default();
            action.starts_with("proxy.")
        })
        .collect()
    }
}

/// Records the head of each request, and returns its body as it arrives.
fn echo(received: Arc<Mutex<Vec<Value>>>) -> Router {
    let record = async move |request: Request| {
        let headers: Vec<(String, String)> = request
            .headers()
            .iter()
            .map(|(name, value)| {
                (
                    name.to_string(),
                    String::from_utf8_lossy(value.as_bytes()).into(),
                )
            })
            .collect();
        let credentials = request.extensions().get::<Credentials>();
        let caller = credentials.expect("credentials").caller();
        let caller = caller.expect("a caller");
        let claims: Value = serde_json::from_str(caller.claims()).expect("JSON");
        let public_url = request.extensions().get::<PublicUrl>();
        received.lock().expect("no panic").push(json!({
            "method": request.method().as_str(),
            "uri": request.uri().to_string(),
            "headers": headers,
            "role": caller.role(),
            "claims": claims,
            "public_url": public_url.expect("a URL").as_str(),
        }));
        let response = http::Response::builder()
            .header("content-type", "text/html")
            .header("set-cookie", "sb-platform-auth-token=x; Path=/")
            .header("clear-site-data", "\"cookies\"")
            .header("service-worker-allowed", "/")
            .header("access-control-allow-origin", "*")
            .header("x-own", "kept")
            .body(request.into_body());
        response.expect("a response")
    };
    Router::new()
        .route("/extracts/{one}", axum::routing::any(extracts_one_segment))
        .fallback(record)
}

/// Fails if parameters of the outer route were still there.
async fn extracts_one_segment(
    axum::extract::Path(one): axum::extract::Path<String>,
    Extension(original): Extension<axum::extract::OriginalUri>,
) -> Json<Value> {
    Json(json!({ "one": one, "original": original.0.to_string() }))
}

fn header_names(received: &Value) -> Vec<String> {
    let headers = received["headers"].as_array().expect("a list");
    let mut names: Vec<String> = headers
        .iter()
        .map(|pair| pair[0].as_str().expect("a name").to_owned())
        .collect();
    names.sort();
    names
}

fn encoded(claims: &Value) -> String {
    format!(
        "claims:{}",
        BASE64_URL_SAFE_NO_PAD.encode(claims.to_string())
    )
}

#[track_caller]
fn expect_error(reply: &Reply, status: u16, code: &str) {
    assert_eq!(reply.status, status, "{reply:?}");
    let body = reply.json();
    assert_eq!(body["code"], code, "{reply:?}");
    assert!(body["message"].is_string(), "{reply:?}");
}

#[tokio::test]
async fn a_service_gets_nothing_of_the_operator() {
    let app = App::start().await;
    let token = app.token(&[], false).await;

    let call = app.anonymous_call(
        &app.reference,
        Method::POST,
        "/storage/v1//a%2Fb?x=%2F&apikey=k&y",
    );
    let reply = call
        .bearer(&token)
        .header("cookie", "sb-platform-auth-token=secret; a=b")
        .header("apikey", "k")
        .header("x-api-key", "k")
        .header("proxy-authorization", "Basic x")
        .header("referer", "https://console.test/users")
        .header("origin", "https://console.test")
        .header("connection", "keep-alive, x-hop, content-type")
        .header("x-hop", "1")
        .header("te", "trailers")
        .header("upgrade", "h2c")
        .header("x-upsert", "true")
        .bytes(b"abc")
        .await;

    reply.expect_text(200, "abc");
    let received = app.last_received();
    assert_eq!(received["method"], "POST");
    assert_eq!(received["uri"], "//a%2Fb?x=%2F&y");
    assert_eq!(header_names(&received), ["content-length", "x-upsert"]);
    assert!(!received.to_string().contains(&token), "{received}");
    assert_eq!(received["role"], "service_role");
    assert_eq!(received["claims"], json!({ "role": "service_role" }));
}

#[tokio::test]
async fn a_response_does_not_act_on_the_platforms_origin() {
    let app = App::start().await;

    let reply = app
        .call(Method::GET, "/storage/v1/object/b/page.html")
        .await;

    reply.expect_header("x-own", "kept");
    reply.expect_header("content-type", "text/html");
    for name in [
        "set-cookie",
        "clear-site-data",
        "service-worker-allowed",
        "access-control-allow-origin",
    ] {
        reply.expect_no_header(name);
    }

    let page = app.call(Method::POST, "/storage/v1/object/b/page.html");
    let page = page.bytes(b"<script>").await;
    page.expect_header(
        "content-security-policy",
        "sandbox allow-scripts allow-forms allow-popups",
    );
}

#[tokio::test]
async fn services_do_not_see_the_outer_route() {
    let app = App::start().await;

    let reply = app
        .call(Method::GET, "/functions/v1/extracts/a%20b?c=d")
        .await;

    reply.expect_json(
        200,
        json!({ "one": "a b", "original": "/functions/v1/extracts/a%20b?c=d" }),
    );
}

#[tokio::test]
async fn the_header_says_as_whom() {
    let app = App::start().await;
    let user = app.user("ada@mail.dev").await;
    let call = async |subject: &str| {
        let call = app.call(Method::GET, "/storage/v1/bucket");
        call.header("x-plinth-as", subject).await.expect_status(200);
        app.last_received()
    };

    assert_eq!(call("anon").await["role"], "anon");
    assert_eq!(call("service").await["role"], "service_role");
    let received = call(&format!("user:{user}")).await;
    assert_eq!(received["role"], "authenticated");
    assert_eq!(received["claims"]["sub"], user);
    assert_eq!(received["claims"]["email"], "ada@mail.dev");
    assert_eq!(
        received["claims"]["plinth_impersonated_by"],
        "control socket"
    );
    assert!(received["claims"].get("session_id").is_none(), "{received}");
    assert!(!header_names(&received).contains(&"authorization".to_owned()));

    let claims =
        json!({ "role": "authenticated", "sub": "x", "team": [1], "exp": 9_999_999_999_i64 });
    let received = call(&encoded(&claims)).await;
    assert_eq!(received["role"], "authenticated");
    assert_eq!(received["claims"]["team"], json!([1]));
    assert_eq!(
        received["claims"]["plinth_impersonated_by"],
        "control socket"
    );
    let lifetime = received["claims"]["exp"].as_i64().expect("a time") - plinth_testkit::now();
    assert!((200..=300).contains(&lifetime), "{lifetime}");
}

#[tokio::test]
async fn functions_get_a_token_that_is_not_the_operators() {
    let app = App::start().await;
    let token = app.token(&[], false).await;

    let call = app.anonymous_call(&app.reference, Method::POST, "/functions/v1/hello");
    call.bearer(&token).await.expect_status(200);

    let received = app.last_received();
    let headers = received["headers"].as_array().expect("a list");
    let authorization = headers.iter().find(|pair| pair[0] == "authorization");
    let text = authorization.expect("a token")[1].as_str().expect("text");
    let bearer = text.strip_prefix("Bearer ").expect("a bearer token");
    assert_ne!(bearer, token);
    let project = app.test.open(&ProjectName::Default).await;
    let caller = TestPlatform::caller(&project, bearer).expect("a token of the project");
    assert_eq!(caller.role(), "service_role");
}

#[tokio::test]
async fn a_wrong_subject_is_rejected_after_the_access_was_checked() {
    let app = App::start().await;
    let reading = app.token(&[], true).await;
    let unknown = "user:00000000-0000-4000-8000-000000000000";
    let odd_role = encoded(&json!({ "role": 7 }));
    let before = app.calls();

    for subject in ["root", "user:1", "claims:%", "claims:W10", &odd_role] {
        let call = app.call(Method::GET, "/storage/v1/bucket");
        let reply = call.header("x-plinth-as", subject).await;
        expect_error(&reply, 400, "invalid_request");
        let call = app.anonymous_call(&app.reference, Method::POST, "/storage/v1/bucket");
        let reply = call.bearer(&reading).header("x-plinth-as", subject).await;
        expect_error(&reply, 403, "forbidden");
    }
    let twice = app.call(Method::GET, "/storage/v1/bucket");
    let twice = twice
        .header("x-plinth-as", "anon")
        .add_header("x-plinth-as", "anon");
    expect_error(&twice.await, 400, "invalid_request");
    let nobody = app.call(Method::GET, "/storage/v1/bucket");
    expect_error(
        &nobody.header("x-plinth-as", unknown).await,
        404,
        "not_found",
    );

    assert_eq!(app.calls(), before, "no service was called");
}

#[tokio::test]
async fn project_zero_and_what_is_not_offered_cannot_be_called() {
    let app = App::start().await;
    let zero = app.test.platform.references().platform.to_string();
    let before = app.calls();

    for reference in ["platform", &zero] {
        let call = app.call_in(reference, Method::GET, "/storage/v1/bucket");
        expect_error(&call.await, 403, "forbidden");
    }
    for path in [
        "/storage/v1/s3/b/k",
        "/realtime/v1/api/broadcast",
        "/graphql/v1/x",
        "/storage/v2/bucket",
        "/storage/v1x",
        "/realtime/v1/websocket",
    ] {
        expect_error(&app.call(Method::GET, path).await, 404, "not_found");
    }
    let unknown = app.call_in("abcdefghijklmnopqrst", Method::GET, "/rest/v1/");
    expect_error(&unknown.await, 404, "not_found");
    let anonymous = app.anonymous_call(&app.reference, Method::GET, "/rest/v1/");
    expect_error(&anonymous.await, 401, "unauthorized");
    let query = app.anonymous_call(&app.reference, Method::GET, "/rest/v1/?apikey=sbp_x");
    expect_error(&query.await, 401, "unauthorized");

    assert_eq!(app.calls(), before, "no service was called");
}

#[tokio::test]
async fn scopes_follow_service_and_method() {
    let app = App::start().await;
    let call = async |token: &str, method: Method, path: &str| {
        let call = app.anonymous_call(&app.reference, method, path);
        call.bearer(token).await.status.as_u16()
    };
    let reading = app.token(&[], true).await;
    let files = app.token(&["storage_read"], false).await;
    let users = app
        .token(&["auth_config_read", "auth_config_write"], false)
        .await;

    assert_eq!(call(&reading, Method::GET, "/storage/v1/bucket").await, 200);
    assert_eq!(
        call(&reading, Method::POST, "/storage/v1/object/list/b").await,
        200
    );
    assert_eq!(
        call(&reading, Method::POST, "/storage/v1/object/list/b/k").await,
        403
    );
    assert_eq!(
        call(&reading, Method::DELETE, "/storage/v1/bucket/b").await,
        403
    );
    assert_eq!(
        call(&reading, Method::GET, "/functions/v1/hello").await,
        403
    );
    assert_eq!(
        call(&reading, Method::GET, "/auth/v1/admin/users").await,
        200
    );
    assert_eq!(
        call(&reading, Method::GET, "/auth/v1/admin/oauth/clients").await,
        403
    );
    assert_eq!(
        call(&reading, Method::GET, "/auth/v1/reauthenticate").await,
        403
    );

    assert_eq!(call(&files, Method::GET, "/storage/v1/bucket").await, 200);
    assert_eq!(call(&files, Method::GET, "/rest/v1/").await, 403);
    assert_eq!(call(&files, Method::POST, "/storage/v1/bucket").await, 403);

    assert_eq!(call(&users, Method::GET, "/auth/v1/admin/users").await, 200);
    assert_eq!(call(&users, Method::GET, "/storage/v1/bucket").await, 403);
}

#[tokio::test]
async fn a_token_for_another_project_is_rejected() {
    let app = App::start().await;
    let other = app.test.project("Other").await;
    let ProjectName::Ref(other) = other else {
        panic!("a ref");
    };
    let limits = TokenLimits {
        projects: Some(vec![other]),
        ..TokenLimits::default()
    };
    let (_, secret) = app.test.token_with("bound", limits).await;

    let call = app.anonymous_call(&app.reference, Method::GET, "/storage/v1/bucket");
    let reply = call.bearer(secret.expose()).await;

    expect_error(&reply, 403, "forbidden");
    assert_eq!(app.calls(), 0);
}

#[tokio::test]
async fn rows_are_read_and_written_as_the_subject() {
    let app = App::start().await;
    let ada = app.user("ada@mail.dev").await;
    let eve = app.user("eve@mail.dev").await;
    app.sql(
        "create table public.notes (id int primary key, owner uuid, \"we\"\"ird 🎈.name\" text);
         alter table public.notes enable row level security;
         create policy own on public.notes to authenticated using (owner = auth.uid());
         grant all on public.notes to anon, authenticated, service_role;",
    )
    .await;

    let row = json!({ "id": 1, "owner": ada, "we\"ird 🎈.name": "x" });
    let made = app.call(Method::POST, "/rest/v1/notes").json(&row);
    made.await.expect_status(201);
    let read = async |subject: &str| {
        let call = app.call(Method::GET, "/rest/v1/notes?select=id");
        call.header("x-plinth-as", subject).await.ok()
    };

    assert_eq!(read("service").await, json!([{ "id": 1 }]));
    assert_eq!(read("anon").await, json!([]));
    assert_eq!(read(&format!("user:{ada}")).await, json!([{ "id": 1 }]));
    assert_eq!(read(&format!("user:{eve}")).await, json!([]));
    let claims = json!({ "role": "authenticated", "sub": ada });
    assert_eq!(read(&encoded(&claims)).await, json!([{ "id": 1 }]));
    // Roles that `authenticator` may not assume stay out of reach.
    let admin = app.call(Method::GET, "/rest/v1/notes");
    let admin = admin.header(
        "x-plinth-as",
        &encoded(&json!({ "role": "supabase_admin" })),
    );
    assert!(admin.await.status.is_client_error());
}

/// What a database function can see of the request is no credential.
#[tokio::test]
async fn no_credential_can_be_read_in_the_database() {
    let app = App::start().await;
    let token = app.token(&[], false).await;
    app.sql(
        "create function public.seen() returns json language sql stable as
           $$ select json_build_object('headers', current_setting('request.headers', true),
                'cookies', current_setting('request.cookies', true),
                'claims', current_setting('request.jwt.claims', true)) $$;",
    )
    .await;

    let call = app.anonymous_call(&app.reference, Method::GET, "/rest/v1/rpc/seen");
    let reply = call.bearer(&token).header("cookie", "sb-a=secret").await;

    let text = reply.ok().to_string();
    assert!(text.contains("service_role"), "{text}");
    for secret in [token.as_str(), "secret", "Bearer", "eyJ"] {
        assert!(!text.contains(secret), "{secret} in {text}");
    }
}

#[tokio::test]
async fn a_user_who_is_impersonated_is_not_changed() {
    let app = App::start().await;
    let ada = app.user("ada@mail.dev").await;
    let call = async |method: Method, path: &str, body: Value| {
        let call = app.call(method, path).json(&body);
        let call = call.header("x-supabase-api-version", "2024-01-01");
        call.header("x-plinth-as", &format!("user:{ada}")).await
    };

    let user = call(Method::GET, "/auth/v1/user", json!({})).await.ok();
    assert_eq!(user["id"], ada.as_str());
    for (method, path, body) in [
        (
            Method::PUT,
            "/auth/v1/user",
            json!({ "password": "another horse" }),
        ),
        (
            Method::POST,
            "/auth/v1/factors",
            json!({ "factor_type": "totp" }),
        ),
        (Method::POST, "/auth/v1/logout", json!({})),
        (
            Method::POST,
            "/auth/v1/passkeys/registration/options",
            json!({}),
        ),
        (Method::GET, "/auth/v1/reauthenticate", json!({})),
        (
            Method::GET,
            "/auth/v1/user/identities/authorize?provider=google",
            json!({}),
        ),
        (Method::DELETE, "/auth/v1/user", json!({})),
    ] {
        let reply = call(method, path, body).await;
        assert_eq!(reply.status, 403, "{path}: {reply:?}");
        assert_eq!(reply.json()["code"], "no_authorization", "{path}");
    }
}

#[tokio::test]
async fn writes_are_in_the_audit_log() {
    let app = App::start().await;
    let user = app.user("ada@mail.dev").await;
    app.call(Method::GET, "/storage/v1/bucket")
        .await
        .expect_status(200);
    app.call(Method::POST, "/storage/v1/object/list/b")
        .await
        .expect_status(200);
    app.call(Method::PATCH, "/storage/v1/upload/resumable/abc")
        .await
        .expect_status(200);
    let delete = app.call(Method::DELETE, "/rest/v1/nothing?id=eq.7");
    let delete = delete.header("x-plinth-as", &format!("user:{user}"));
    assert_eq!(delete.await.status, StatusCode::NOT_FOUND);

    let entries = app.proxy_audit().await;

    let details = |method: &str, path: &str, subject: &str, status: u16| json!({ "method": method, "path": path, "as": subject, "status": status });
    let expected = [
        (
            "proxy.auth",
            details("POST", "/auth/v1/admin/users", "service_role", 200),
        ),
        (
            "proxy.rest",
            details(
                "DELETE",
                "/rest/v1/nothing?id=eq.7",
                &format!("user:{user}"),
                404,
            ),
        ),
    ];
    let expected: Vec<Value> = expected
        .into_iter()
        .map(|(action, details)| {
            json!({ "action": action, "project": app.reference, "details": details })
        })
        .collect();
    assert_eq!(entries, expected);
}

#[tokio::test]
async fn bodies_pass_while_they_arrive() {
    let app = App::start().await;
    let (sender, receiver) =
        tokio::sync::mpsc::unbounded_channel::<Result<Bytes, std::io::Error>>();
    let receiver = stream::unfold(receiver, async |mut receiver| {
        let chunk = receiver.recv().await?;
        Some((chunk, receiver))
    });
    let path = format!(
        "/platform/projects/{}/proxy/storage/v1/upload",
        app.reference
    );
    let mut request = Request::builder()
        .method(Method::POST)
        .uri(path.parse::<Uri>().expect("a path"))
        .body(Body::from_stream(receiver))
        .expect("a request");
    request.extensions_mut().insert(ControlSocket);

    let response = api::routes(app.test.platform.clone())
        .oneshot(request)
        .await;
    let mut body = response.expect("infallible").into_body().into_data_stream();

    // Each chunk comes back before the next one is sent.
    for chunk in ["one", "two"] {
        sender.send(Ok(Bytes::from(chunk))).expect("open");
        let received = body.next().await.expect("a chunk").expect("no error");
        assert_eq!(received, chunk);
    }
    drop(sender);
    assert!(body.next().await.is_none());
}

#[tokio::test]
async fn a_broken_upload_ends_the_call() {
    let app = App::start().await;
    let broken = stream::iter([
        Ok(Bytes::from_static(b"abc")),
        Err(std::io::Error::other("the client is gone")),
    ]);
    let call = app.call(Method::POST, "/rest/v1/notes");
    let call = call.header("content-type", "application/json");

    let reply = call
        .with(|request| *request.body_mut() = Body::from_stream(broken))
        .await;

    assert!(reply.status.is_client_error(), "{reply:?}");
}

#[tokio::test]
async fn urls_of_uploads_lead_to_the_proxy_and_others_to_the_project() {
    let app = App::start().await;
    let instance = PublicUrl::new("https://plinth.test/base");
    let call = app.call(Method::POST, "/storage/v1/upload/resumable");
    let call = call.with(|request| {
        request.extensions_mut().insert(instance);
    });

    call.await.expect_status(200);
    let expected = format!(
        "https://plinth.test/base/platform/projects/{}/proxy",
        app.reference
    );
    assert_eq!(app.last_received()["public_url"], expected);

    app.call(Method::GET, "/functions/v1/hello")
        .await
        .expect_status(200);
    assert_eq!(app.last_received()["public_url"], "http://127.0.0.1:54321");
}

#[tokio::test]
async fn many_calls_are_no_excess() {
    let app = App::start().await;
    let token = app.token(&[], false).await;

    for _ in 0..130 {
        let call = app.anonymous_call(&app.reference, Method::GET, "/storage/v1/bucket");
        let reply = call.bearer(&token).await;
        reply
            .expect_status(200)
            .expect_no_header("x-ratelimit-limit");
    }
}

#[tokio::test]
async fn a_paused_project_is_not_called() {
    let app = App::start().await;
    let other = app.test.project("Other").await;
    app.test
        .platform
        .pause_project(&other)
        .await
        .expect("paused");
    let row = app.test.platform.load_project(&other).await.expect("a row");

    let call = app.call_in(row.reference.as_str(), Method::GET, "/storage/v1/bucket");

    expect_error(&call.await, 409, "conflict");
    assert_eq!(app.calls(), 0);
}
