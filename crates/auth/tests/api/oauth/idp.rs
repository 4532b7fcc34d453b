//! A provider that runs beside the test: it answers what it was told to, and remembers who asked.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use axum::{
    Router,
    extract::{Request, State},
    response::{IntoResponse, Response},
};
use http_body_util::BodyExt;
use plinth_token::{Algorithm, SigningKey};
use serde_json::{Value, json};
use url::form_urlencoded::parse;

pub(crate) const CLIENT_ID: &str = "our-client";
pub(crate) const CLIENT_SECRET: &str = "our secret & more";

/// A running provider.
#[derive(Clone)]
pub(crate) struct Idp {
    pub(crate) url: String,
    inner: Arc<Mutex<Inner>>,
}

struct Inner {
    answers: HashMap<String, (u16, Value)>,
    seen: Vec<Seen>,
    key: SigningKey,
}

/// One request that it got.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) path: String,
    pub(crate) query: Vec<(String, String)>,
    pub(crate) authorization: String,
    pub(crate) headers: http::HeaderMap,
    pub(crate) form: Vec<(String, String)>,
}

impl Seen {
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        let mut pairs = self.form.iter().chain(&self.query);
        let pair = pairs.find(|(known, _)| known == name)?;
        Some(&pair.1)
    }
}

impl Idp {
    pub(crate) async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await;
        let listener = listener.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let idp = Self {
            url: format!("http://{address}"),
            inner: Arc::new(Mutex::new(Inner {
                answers: HashMap::new(),
                seen: Vec::new(),
                key: new_key(),
            })),
        };
        let router = Router::new().fallback(answer).with_state(idp.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        idp
    }

    /// What a path answers from now on.
    pub(crate) fn answer(&self, path: &str, body: Value) -> &Self {
        self.answer_with(path, 200, body)
    }

    pub(crate) fn answer_with(&self, path: &str, status: u16, body: Value) -> &Self {
        let mut inner = self.inner.lock().expect("no panic before");
        inner.answers.insert(path.to_owned(), (status, body));
        self
    }

    /// The requests for a path, oldest first.
    pub(crate) fn seen(&self, path: &str) -> Vec<Seen> {
        let inner = self.inner.lock().expect("no panic before");
        let seen = inner.seen.iter().filter(|seen| seen.path == path);
        seen.cloned().collect()
    }

    /// Publishes discovery document and keys of an OpenID provider that calls itself `issuer`.
    pub(crate) fn publish(&self, issuer: &str) -> &Self {
        let keys = self.public_key();
        self.answer(
            "/.well-known/openid-configuration",
            json!({
                "issuer": issuer,
                "authorization_endpoint": format!("{issuer}/authorize"),
                "token_endpoint": format!("{issuer}/token"),
                "userinfo_endpoint": format!("{issuer}/userinfo"),
                "jwks_uri": format!("{issuer}/keys"),
            }),
        );
        self.answer("/keys", json!({ "keys": [keys] }))
    }

    pub(crate) fn public_key(&self) -> Value {
        let inner = self.inner.lock().expect("no panic before");
        inner.key.public_jwk().expect("an asymmetric key").clone()
    }

    /// Signs with a new key from now on, and publishes it alone.
    pub(crate) fn rotate(&self) {
        self.inner.lock().expect("no panic before").key = new_key();
        let keys = json!({ "keys": [self.public_key()] });
        self.answer("/keys", keys);
    }

    pub(crate) fn sign(&self, claims: &Value) -> String {
        let inner = self.inner.lock().expect("no panic before");
        inner.key.sign(claims).expect("a signed token")
    }

    /// GitHub's profile of somebody with this number and address.
    pub(crate) fn github(&self, id: u64, email: &str, is_verified: bool) -> &Self {
        self.answer(
            "/login/oauth/access_token",
            json!({ "access_token": "gho_access", "token_type": "bearer" }),
        );
        self.answer(
            "/api/v3/user",
            json!({ "id": id, "login": "ann", "name": "Ann Lee", "avatar_url": "https://a.test/p" }),
        );
        self.answer(
            "/api/v3/user/emails",
            json!([{ "email": email, "primary": true, "verified": is_verified }]),
        )
    }
}

fn new_key() -> SigningKey {
    SigningKey::generate(Algorithm::Es256).expect("a key")
}

/// Settings that switch a provider on and lead it to this machine.
pub(crate) fn settings(name: &str, url: &str) -> Vec<(String, String)> {
    [
        ("enabled", "true"),
        ("client_id", CLIENT_ID),
        ("secret", CLIENT_SECRET),
        ("url", url),
    ]
    .into_iter()
    .map(|(key, value)| (format!("auth.external.{name}.{key}"), value.to_owned()))
    .collect()
}

async fn answer(State(idp): State<Idp>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body = body.collect().await.expect("a whole body").to_bytes();
    let path = parts.uri.path().to_owned();
    let authorization = parts.headers.get("authorization");
    let authorization = authorization.map_or("", |value| value.to_str().expect("ASCII"));
    let seen = Seen {
        path: path.clone(),
        query: parse(parts.uri.query().unwrap_or_default().as_bytes())
            .into_owned()
            .collect(),
        authorization: authorization.to_owned(),
        headers: parts.headers.clone(),
        form: parse(&body).into_owned().collect(),
    };
    let mut inner = idp.inner.lock().expect("no panic before");
    inner.seen.push(seen);
    let (status, body) = match inner.answers.get(&path) {
        Some((status, body)) => (*status, body.clone()),
        None => (404, json!({ "error": "not_found" })),
    };
    let status = http::StatusCode::from_u16(status).expect("a status");
    match body {
        Value::String(text) => (status, text).into_response(),
        body => (status, axum::Json(body)).into_response(),
    }
}
