//! Sign-in of applications through the OAuth server (auth contract §2.16).

mod application_tokens;
mod client_authentication;
mod consent;
mod grants;
mod tokens;

use data_encoding::BASE64;
use plinth_token::{Algorithm, KeySet, KeyStatus, SigningKey};
use serde_json::{Value, json};
use url::{Url, form_urlencoded};

use crate::support::{Api, AuthCall, AuthReply, Reply, Requests, SECRET};

const URI: &str = "https://app.example/callback?kept=1";
/// The vector of RFC 7636, appendix B.
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
const SETTINGS: [(&str, &str); 2] = [
    ("auth.oauth_server.enabled", "true"),
    ("auth.oauth_server.authorization_url_path", "/consent"),
];

/// A project with one user and one application.
struct Fixture {
    api: Api,
    user: Value,
    client: Value,
}

impl Fixture {
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

    /// `GET /oauth/authorize` with changed parameters; empty ones are omitted.
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

    /// Starts an authorization for this scope; returns its id.
    async fn begin(&self, scope: &str) -> String {
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

    /// A code after the user's consent.
    async fn code(&self, scope: &str) -> String {
        let id = self.begin(scope).await;
        self.show(&id).await.ok();
        let response = self.decide(&id, "approve").await.ok();
        parameter(&response["redirect_url"], "code").expect("a code")
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
fn expect_oauth_error(reply: &Reply, error: &str) {
    assert_eq!(reply.status, 400, "{reply:?}");
    assert_eq!(reply.json()["error"], error, "{reply:?}");
}
