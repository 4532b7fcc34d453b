//! Signing in to another application through us (auth contract §2.16).

use std::time::Duration;

use data_encoding::{BASE64, BASE64URL_NOPAD};
use plinth_token::{Algorithm, KeySet, KeyStatus, SigningKey};
use serde_json::{Value, json};
use url::{Url, form_urlencoded};

use crate::support::{Api, Reply, SECRET, claims};

const URI: &str = "https://app.example/callback?kept=1";
/// The vector of RFC 7636, appendix B.
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
const SETTINGS: [(&str, &str); 2] = [
    ("auth.oauth_server.enabled", "true"),
    ("auth.oauth_server.authorization_url_path", "/consent"),
];

/// A project with one user and one application.
struct World {
    api: Api,
    user: Value,
    client: Value,
}

impl World {
    async fn new() -> Self {
        let key = SigningKey::generate(Algorithm::Es256).expect("a key");
        let keys = KeySet::builder()
            .legacy_secret(SECRET)
            .signing_key(key, KeyStatus::InUse);
        let keys = keys.build().expect("a key set");
        Self::over(Api::with_keys(&SETTINGS, keys).await).await
    }

    /// Signs with the shared secret.
    async fn symmetric() -> Self {
        Self::over(Api::start(&SETTINGS).await).await
    }

    async fn over(api: Api) -> Self {
        let user = api.sign_up("ann@mail.dev", "correct horse").await;
        let client = register(
            &api,
            json!({ "client_name": "App", "redirect_uris": [URI] }),
        )
        .await;
        Self { api, user, client }
    }

    fn client_id(&self) -> &str {
        self.client["client_id"].as_str().expect("an id")
    }

    fn basic(&self) -> String {
        let secret = self.client["client_secret"].as_str().expect("a secret");
        let pair = format!("{}:{secret}", self.client_id());
        format!("Basic {}", BASE64.encode(pair.as_bytes()))
    }

    /// `GET /oauth/authorize` with these parameters on top of good ones; empty ones are left out.
    async fn authorize(&self, changes: &[(&str, &str)]) -> Reply {
        let mut params = vec![
            ("client_id", self.client_id()),
            ("redirect_uri", URI),
            ("response_type", "code"),
            ("state", "st&te"),
            ("code_challenge", CHALLENGE),
            ("code_challenge_method", "S256"),
        ];
        params.retain(|(name, _)| changes.iter().all(|(changed, _)| changed != name));
        params.extend(changes.iter().filter(|(_, value)| !value.is_empty()));
        let query = form_urlencoded::Serializer::new(String::new())
            .extend_pairs(params)
            .finish();
        let path = format!("/oauth/authorize?{query}");
        self.api.get(&path).without_key().await
    }

    /// The name of a request for this scope.
    async fn ask(&self, scope: &str) -> String {
        let reply = self.authorize(&[("scope", scope)]).await;
        assert_eq!(reply.status, 302, "{reply:?}");
        let (page, id) = reply.location().split_once('=').expect("an id");
        assert_eq!(page, "http://localhost:3000/consent?authorization_id");
        assert_eq!(id.len(), 32);
        id.to_owned()
    }

    async fn show(&self, id: &str) -> Reply {
        let path = format!("/oauth/authorizations/{id}");
        self.api.get(&path).session(&self.user).await
    }

    async fn decide(&self, id: &str, action: &str) -> Reply {
        let path = format!("/oauth/authorizations/{id}/consent");
        let call = self.api.post(&path, json!({ "action": action }));
        call.session(&self.user).await
    }

    /// A code that the user agreed to.
    async fn code(&self, scope: &str) -> String {
        let id = self.ask(scope).await;
        self.show(&id).await.ok();
        let answer = self.decide(&id, "approve").await.ok();
        parameter(&answer["redirect_url"], "code").expect("a code")
    }

    /// `POST /oauth/token` as the application.
    async fn token(&self, form: &[(&str, &str)]) -> Reply {
        let body = form_urlencoded::Serializer::new(String::new())
            .extend_pairs(form)
            .finish();
        let call = self.api.post("/oauth/token", Value::Null).form(&body);
        let call = call.without_key().header("authorization", &self.basic());
        call.await
    }

    async fn exchange(&self, code: &str) -> Reply {
        self.token(&[
            ("grant_type", "authorization_code"),
            ("code", code),
            ("code_verifier", VERIFIER),
            ("redirect_uri", URI),
        ])
        .await
    }
}

async fn register(api: &Api, body: Value) -> Value {
    let reply = api.post("/admin/oauth/clients", body).service_role().await;
    assert_eq!(reply.status, 201, "{reply:?}");
    reply.json()
}

fn parameter(url: &Value, name: &str) -> Option<String> {
    let url = Url::parse(url.as_str().expect("a text")).expect("a URL");
    let mut pairs = url.query_pairs();
    pairs.find_map(|(key, value)| (key == name).then(|| value.into_owned()))
}

/// An OAuth error of the token endpoint.
#[track_caller]
fn fails(reply: &Reply, error: &str) {
    assert_eq!(reply.status, 400, "{reply:?}");
    assert_eq!(reply.json()["error"], error, "{reply:?}");
}

#[tokio::test]
async fn an_application_signs_its_user_in() {
    let world = World::new().await;
    let user = &world.user["user"];

    let id = world.ask("openid email").await;
    let question = world.show(&id).await.ok();
    assert_eq!(
        question,
        json!({
            "authorization_id": id, "redirect_uri": URI,
            "client": { "id": world.client["client_id"], "name": "App" },
            "user": { "id": user["id"], "email": "ann@mail.dev" }, "scope": "openid email",
        })
    );
    let answer = world.decide(&id, "approve").await.ok();
    let url = &answer["redirect_url"];
    assert_eq!(parameter(url, "state").as_deref(), Some("st&te"));
    assert_eq!(parameter(url, "kept").as_deref(), Some("1"));
    let code = parameter(url, "code").expect("a code");
    let reply = world.exchange(&code).await;
    let tokens = reply.ok();

    let mut names: Vec<&String> = tokens.as_object().expect("one").keys().collect();
    names.sort();
    let expected = [
        "access_token",
        "expires_in",
        "id_token",
        "refresh_token",
        "token_type",
    ];
    assert_eq!(names, expected);
    assert_eq!(reply.header("cache-control"), Some("no-store"));
    let access = claims(tokens["access_token"].as_str().expect("a token"));
    assert_eq!(access["sub"], user["id"]);
    assert_eq!(access["client_id"], world.client["client_id"]);
    assert_eq!(access["scope"], "openid email");
    assert_eq!(
        access["amr"][0]["method"],
        "oauth_provider/authorization_code"
    );
    assert_eq!(access["role"], "authenticated");
    let audit = world.api.audit().await;
    assert_eq!(audit.last().map(String::as_str), Some("login"));
    // The application is the user's from now on.
    assert_eq!(
        world.api.get("/user").session(&tokens).await.ok()["id"],
        user["id"]
    );
}

#[tokio::test]
async fn an_id_token_says_what_the_scopes_allow() {
    let world = World::new().await;
    world
        .api
        .execute(
            "update auth.users set phone = '15550001',
               raw_user_meta_data = '{\"name\":\"Ann\",\"avatar_url\":\"http://a/b\"}'",
        )
        .await;
    let id_token = async |scope: &str| {
        let changes = [("scope", scope), ("nonce", "n-1")];
        let reply = world.authorize(&changes).await;
        let (_, id) = reply.location().split_once('=').expect("an id");
        let shown = world.show(id).await.ok();
        let url = match shown.get("redirect_url") {
            Some(url) => url.clone(),
            None => world.decide(id, "approve").await.ok()["redirect_url"].clone(),
        };
        let code = parameter(&url, "code").expect("a code");
        let tokens = world.exchange(&code).await.ok();
        claims(tokens["id_token"].as_str().expect("an ID token"))
    };

    let all = id_token("openid email phone profile").await;
    let bare = id_token("openid").await;

    let now = world.api.now().unix_timestamp();
    assert_eq!(bare["iss"], "http://api.test/auth/v1");
    assert_eq!(bare["sub"], world.user["user"]["id"]);
    assert_eq!(bare["aud"], world.client["client_id"]);
    assert_eq!(bare["client_id"], world.client["client_id"]);
    assert_eq!(bare["nonce"], "n-1");
    let (iat, exp) = (bare["iat"].as_i64(), bare["exp"].as_i64());
    assert!(iat.is_some_and(|iat| (now - 60..=now).contains(&iat)));
    assert_eq!(exp, iat.map(|iat| iat + 3600));
    assert!(bare["auth_time"].is_i64());
    for absent in ["email", "phone_number", "name", "picture", "updated_at"] {
        assert_eq!(bare.get(absent), None, "{absent}");
    }
    assert_eq!(all["email"], "ann@mail.dev");
    assert_eq!(all["email_verified"], true);
    assert_eq!(all["phone_number"], "15550001");
    assert_eq!(all["phone_number_verified"], false);
    assert_eq!(all["name"], "Ann");
    assert_eq!(all["picture"], "http://a/b");
    assert_eq!(all["updated_at"].is_i64(), true);
}

#[tokio::test]
async fn without_an_asymmetric_key_there_is_no_id_token() {
    let world = World::symmetric().await;

    let code = world.code("openid").await;
    let reply = world.exchange(&code).await;
    fails(&reply, "invalid_request");
    let sql = "select count(*) from auth.sessions where oauth_client_id is not null";
    assert_eq!(world.api.count(sql).await, 0);

    // Everything else works.
    let code = world.code("email").await;
    let tokens = world.exchange(&code).await.ok();
    assert_eq!(tokens.get("id_token"), None);
}

#[tokio::test]
async fn who_cannot_be_trusted_is_told_here() {
    let world = World::new().await;
    let refuses = async |changes: &[(&str, &str)], code: &str| {
        world.authorize(changes).await.refuses(400, code);
    };
    refuses(&[("client_id", "")], "validation_failed").await;
    refuses(&[("redirect_uri", "")], "validation_failed").await;
    refuses(&[("client_id", "x")], "oauth_client_not_found").await;
    let unknown = "5b0c8f3e-1111-4222-8333-444455556666";
    refuses(&[("client_id", unknown)], "oauth_client_not_found").await;
    for uri in [
        "https://evil.test/callback",
        "https://app.example/callback",
        "https://app.example/callback?kept=1&more=1",
        "https://app.example/callback?kept=1#x",
        "HTTPS://app.example/callback?kept=1",
    ] {
        refuses(&[("redirect_uri", uri)], "validation_failed").await;
    }
}

#[tokio::test]
async fn other_mistakes_are_told_to_the_application() {
    let world = World::new().await;
    let long = "x".repeat(5000);
    for changes in [
        vec![("code_challenge", "")],
        vec![("code_challenge_method", "")],
        vec![("code_challenge", ""), ("code_challenge_method", "")],
        vec![("code_challenge_method", "md5")],
        vec![("code_challenge", "short")],
        vec![("response_type", "token")],
        vec![("scope", "email admin")],
        vec![("resource", "/relative")],
        vec![("nonce", long.as_str())],
        vec![("resource", "https://a.test\0")],
    ] {
        let reply = world.authorize(&changes).await;
        assert_eq!(reply.status, 302, "{changes:?}: {reply:?}");
        let location = Value::from(reply.location());
        assert!(reply.location().starts_with(URI), "{location}");
        let error = parameter(&location, "error");
        assert_eq!(error.as_deref(), Some("invalid_request"), "{changes:?}");
        assert!(parameter(&location, "error_description").is_some());
        let state = parameter(&location, "state");
        assert_eq!(state.as_deref(), Some("st&te"), "{changes:?}");
    }
    let sql = "select count(*) from auth.oauth_authorizations";
    assert_eq!(world.api.count(sql).await, 0);
}

#[tokio::test]
async fn the_default_scope_is_the_address() {
    let world = World::new().await;
    let reply = world.authorize(&[]).await;
    let (_, id) = reply.location().split_once('=').expect("an id");

    assert_eq!(world.show(id).await.ok()["scope"], "email");
}

#[tokio::test]
async fn a_no_is_told_to_the_application() {
    let world = World::new().await;
    let id = world.ask("email").await;
    world.show(&id).await.ok();

    let answer = world.decide(&id, "deny").await.ok();

    let url = &answer["redirect_url"];
    assert_eq!(parameter(url, "error").as_deref(), Some("access_denied"));
    assert_eq!(parameter(url, "state").as_deref(), Some("st&te"));
    assert_eq!(parameter(url, "code"), None);
    world.show(&id).await.refuses(400, "validation_failed");
    let reply = world.decide(&id, "approve").await;
    reply.refuses(400, "validation_failed");
    assert_eq!(
        world
            .api
            .count("select count(*) from auth.oauth_consents")
            .await,
        0
    );
}

#[tokio::test]
async fn a_question_belongs_to_whoever_saw_it_first() {
    let world = World::new().await;
    let eve = world.api.sign_up("eve@mail.dev", "correct horse").await;
    let id = world.ask("email").await;
    let path = format!("/oauth/authorizations/{id}");

    let unseen = world.decide(&id, "approve").await;
    unseen.refuses(404, "oauth_authorization_not_found");
    world.show(&id).await.ok();
    let reply = world.api.get(&path).session(&eve).await;
    reply.refuses(404, "oauth_authorization_not_found");
    let consent = json!({ "action": "approve" });
    let reply = world.api.post(&format!("{path}/consent"), consent);
    let reply = reply.session(&eve).await;
    reply.refuses(404, "oauth_authorization_not_found");
    world.api.get(&path).await.refuses(401, "no_authorization");
    world
        .show("unknown")
        .await
        .refuses(404, "oauth_authorization_not_found");
    world
        .show("%ff")
        .await
        .refuses(404, "oauth_authorization_not_found");
    let reply = world.decide(&id, "perhaps").await;
    reply.refuses(400, "validation_failed");
}

#[tokio::test]
async fn pages_of_other_sites_cannot_answer() {
    let world = World::new().await;
    let id = world.ask("email").await;
    let path = format!("/oauth/authorizations/{id}");

    let call = world.api.get(&path).session(&world.user);
    let reply = call.header("origin", "https://evil.test").await;
    reply.refuses(400, "validation_failed");
    let call = world.api.get(&path).session(&world.user);
    call.header("origin", "http://localhost:3000").await.ok();
}

#[tokio::test]
async fn an_application_cannot_answer_for_its_user() {
    let world = World::new().await;
    let code = world.code("email").await;
    let tokens = world.exchange(&code).await.ok();
    let id = world.ask("email phone").await;

    let path = format!("/oauth/authorizations/{id}");
    let reply = world.api.get(&path).session(&tokens).await;
    reply.refuses(403, "no_authorization");
    world.show(&id).await.ok();
    let consent = json!({ "action": "approve" });
    let call = world.api.post(&format!("{path}/consent"), consent);
    call.session(&tokens).await.refuses(403, "no_authorization");
}

#[tokio::test]
async fn a_question_waits_ten_minutes() {
    let world = World::new().await;
    let id = world.ask("email").await;
    let code = world.code("email phone").await;
    world.api.advance(Duration::from_secs(601));

    world
        .show(&id)
        .await
        .refuses(404, "oauth_authorization_not_found");
    fails(&world.exchange(&code).await, "invalid_grant");
}

#[tokio::test]
async fn what_was_granted_is_not_asked_again() {
    let world = World::new().await;
    world.code("email profile").await;

    let id = world.ask("email").await;
    let answered = world.show(&id).await.ok();
    let code = parameter(&answered["redirect_url"], "code").expect("a code");
    world.exchange(&code).await.ok();

    let id = world.ask("email phone").await;
    assert_eq!(world.show(&id).await.ok()["scope"], "email phone");
}

#[tokio::test]
async fn a_code_is_good_once_and_for_its_own_application() {
    let world = World::new().await;
    let code = world.code("email").await;
    let with = async |changes: &[(&str, &str)]| {
        let mut form = vec![
            ("grant_type", "authorization_code"),
            ("code", code.as_str()),
            ("code_verifier", VERIFIER),
        ];
        form.retain(|(name, _)| changes.iter().all(|(changed, _)| changed != name));
        form.extend(changes.iter().filter(|(_, value)| !value.is_empty()));
        world.token(&form).await
    };

    fails(&with(&[("code_verifier", "")]).await, "invalid_grant");
    fails(
        &with(&[("code_verifier", CHALLENGE)]).await,
        "invalid_grant",
    );
    fails(
        &with(&[("redirect_uri", "https://evil.test")]).await,
        "invalid_grant",
    );
    fails(
        &with(&[("resource", "https://api.test")]).await,
        "invalid_grant",
    );
    fails(&with(&[("code", "x")]).await, "invalid_grant");
    fails(&with(&[("code", "")]).await, "invalid_request");
    fails(&with(&[("grant_type", "")]).await, "invalid_request");
    fails(
        &with(&[("grant_type", "password")]).await,
        "unsupported_grant_type",
    );
    let other = register(&world.api, json!({ "redirect_uris": [URI] })).await;
    let stranger = World {
        client: other,
        user: Value::Null,
        api: world.api,
    };
    fails(&stranger.exchange(&code).await, "invalid_grant");
    let world = World {
        client: world.client,
        user: world.user,
        api: stranger.api,
    };
    world.exchange(&code).await.ok();
    fails(&world.exchange(&code).await, "invalid_grant");
}

#[tokio::test]
async fn of_many_exchanges_of_one_code_one_succeeds() {
    let world = World::new().await;
    let code = world.code("email").await;

    let all = (0..10).map(|_| world.exchange(&code));
    let replies = futures_util::future::join_all(all).await;

    let good = replies.iter().filter(|reply| reply.status == 200).count();
    assert_eq!(good, 1);
    let sql = "select count(*) from auth.sessions where oauth_client_id is not null";
    assert_eq!(world.api.count(sql).await, 1);
}

#[tokio::test]
async fn applications_prove_themselves_the_way_they_registered() {
    let world = World::new().await;
    let code = world.code("email").await;
    let (id, secret) = (world.client_id(), &world.client["client_secret"]);
    let secret = secret.as_str().expect("a secret");
    let send = async |body: Value| {
        let call = world.api.post("/oauth/token", body).without_key();
        call.await
    };
    let refuses = |reply: Reply| {
        reply.refuses(400, "invalid_credentials");
    };

    refuses(send(json!({})).await);
    refuses(send(json!({ "client_id": "x" })).await);
    refuses(send(json!({ "client_id": id })).await);
    refuses(send(json!({ "client_id": id, "client_secret": secret })).await);
    let call = world.api.post("/oauth/token", json!({}));
    let wrong = format!("Basic {}", BASE64.encode(format!("{id}:wrong").as_bytes()));
    refuses(call.header("authorization", &wrong).await);
    let call = world.api.post("/oauth/token", json!({}));
    refuses(call.header("authorization", "Basic ???").await);

    let path = format!("/admin/oauth/clients/{id}");
    let body = json!({ "token_endpoint_auth_method": "client_secret_post" });
    world.api.put(&path, body).service_role().await.ok();
    let body = json!({
        "client_id": id, "client_secret": secret, "grant_type": "authorization_code",
        "code": code, "code_verifier": VERIFIER,
    });
    send(body).await.ok();
}

#[tokio::test]
async fn a_new_secret_takes_the_place_of_the_old() {
    let world = World::new().await;
    let path = format!(
        "/admin/oauth/clients/{}/regenerate_secret",
        world.client_id()
    );

    let call = world.api.call(http::Method::POST, &path).service_role();
    let renewed = call.await.ok();

    let form = [
        ("grant_type", "refresh_token"),
        ("refresh_token", "aaaaaaaaaaaa"),
    ];
    let old = world.token(&form).await;
    old.refuses(400, "invalid_credentials");
    let world = World {
        client: renewed,
        ..world
    };
    world
        .token(&form)
        .await
        .refuses(400, "refresh_token_not_found");
}

#[tokio::test]
async fn a_public_application_has_its_challenge_alone() {
    let world = World::new().await;
    let body = json!({ "redirect_uris": [URI], "token_endpoint_auth_method": "none" });
    let client = register(&world.api, body).await;
    let world = World { client, ..world };
    let code = world.code("email").await;
    let body = |verifier: &str| {
        json!({
            "client_id": world.client["client_id"], "grant_type": "authorization_code",
            "code": code, "code_verifier": verifier,
        })
    };

    let reply = world.api.post("/oauth/token", body("wrong")).without_key();
    fails(&reply.await, "invalid_grant");
    let reply = world.api.post("/oauth/token", body(VERIFIER)).without_key();
    reply.await.ok();
}

#[tokio::test]
async fn a_session_is_refreshed_by_its_own_application_only() {
    let world = World::new().await;
    let code = world.code("email").await;
    let tokens = world.exchange(&code).await.ok();
    let refresh_token = tokens["refresh_token"].as_str().expect("a token");
    let form = [
        ("grant_type", "refresh_token"),
        ("refresh_token", refresh_token),
    ];

    let body = json!({ "refresh_token": refresh_token });
    let reply = world
        .api
        .post("/token?grant_type=refresh_token", body)
        .await;
    fails(&reply, "invalid_client");
    let own = world.user["refresh_token"].as_str().expect("a token");
    let reply = world
        .token(&[("grant_type", "refresh_token"), ("refresh_token", own)])
        .await;
    fails(&reply, "invalid_client");

    let next = world.token(&form).await.ok();
    assert_ne!(next["refresh_token"], tokens["refresh_token"]);
    assert_eq!(next.get("user"), None);
    let access = claims(next["access_token"].as_str().expect("a token"));
    assert_eq!(access["client_id"], world.client["client_id"]);
    assert_eq!(access["scope"], "email");
    fails(
        &world.token(&[("grant_type", "refresh_token")]).await,
        "invalid_request",
    );
}

#[tokio::test]
async fn a_banned_user_is_let_in_nowhere() {
    let world = World::new().await;
    let code = world.code("email").await;
    world
        .api
        .execute("update auth.users set banned_until = now() + interval '1 day'")
        .await;

    fails(&world.exchange(&code).await, "access_denied");
}

#[tokio::test]
async fn userinfo_says_what_the_scopes_allow() {
    let world = World::new().await;
    let info = async |tokens: &Value| {
        let reply = world.api.get("/oauth/userinfo").session(tokens).await;
        reply.ok()
    };
    let id = &world.user["user"]["id"];

    assert_eq!(info(&world.user).await, json!({ "sub": id }));
    let code = world.code("email").await;
    let tokens = world.exchange(&code).await.ok();
    let expected = json!({ "sub": id, "email": "ann@mail.dev", "email_verified": true });
    assert_eq!(info(&tokens).await, expected);
    let code = world.code("profile phone").await;
    let tokens = world.exchange(&code).await.ok();
    let profile = info(&tokens).await;
    assert_eq!(profile["name"], "ann@mail.dev");
    assert!(profile["user_metadata"].is_object() && profile["updated_at"].is_i64());
    assert_eq!(profile.get("email"), None);
    assert_eq!(profile.get("phone"), None);
    let reply = world.api.get("/oauth/userinfo").await;
    reply.refuses(401, "no_authorization");
}

#[tokio::test]
async fn a_user_sees_and_revokes_grants() {
    let world = World::new().await;
    let code = world.code("email phone").await;
    let tokens = world.exchange(&code).await.ok();
    let grants = async || {
        world
            .api
            .get("/user/oauth/grants")
            .session(&world.user)
            .await
    };
    let revoke = async |query: &str| {
        let path = format!("/user/oauth/grants{query}");
        world.api.delete(&path).session(&world.user).await
    };

    let listed = grants().await.ok();
    assert_eq!(listed.as_array().map(Vec::len), Some(1));
    assert_eq!(listed[0]["client"]["name"], "App");
    assert_eq!(listed[0]["scopes"], json!(["email", "phone"]));
    assert!(listed[0]["granted_at"].is_string());

    revoke("").await.refuses(400, "validation_failed");
    revoke("?client_id=x")
        .await
        .refuses(400, "validation_failed");
    let query = format!("?client_id={}", world.client_id());
    let reply = revoke(&query).await;
    assert_eq!((reply.status.as_u16(), reply.body.len()), (204, 0));
    assert_eq!(grants().await.ok(), json!([]));
    let audit = world.api.audit().await;
    assert_eq!(audit.last().map(String::as_str), Some("token_revoked"));
    let reply = world.api.get("/user").session(&tokens).await;
    reply.refuses(403, "session_not_found");
    world.api.get("/user").session(&world.user).await.ok();
    revoke(&query).await.refuses(404, "oauth_consent_not_found");

    // Next time the user is asked again.
    let id = world.ask("email").await;
    assert_eq!(world.show(&id).await.ok()["scope"], "email");
}

#[tokio::test]
async fn a_form_that_is_none_is_refused() {
    let world = World::new().await;
    let call = world.api.post("/oauth/token", Value::Null);
    let call = call.body("application/json", "{").without_key();
    fails(&call.await, "invalid_request");
    let noise = BASE64URL_NOPAD.encode(&[0xff; 64]);
    let call = world.api.post("/oauth/token", Value::Null).form(&noise);
    call.without_key().await.refuses(400, "invalid_credentials");
}
