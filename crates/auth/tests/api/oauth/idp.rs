//! An identity provider for tests: sends configured responses and records requests.

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
use plinth_testkit::{Listener, bind_loopback};
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
    replies: HashMap<String, (u16, Value)>,
    seen: Vec<Seen>,
    key: SigningKey,
}

/// A recorded request.
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
        let (socket, address) = bind_loopback().await;
        let idp = Self {
            url: format!("http://{address}"),
            inner: Arc::new(Mutex::new(Inner {
                replies: HashMap::new(),
                seen: Vec::new(),
                key: new_key(),
            })),
        };
        let router = Router::new().fallback(handle).with_state(idp.clone());
        Listener::serve((socket, address), router).keep();
        idp
    }

    /// Sets the response of a path.
    pub(crate) fn set_response(&self, path: &str, body: Value) -> &Self {
        self.set_response_with_status(path, 200, body)
    }

    pub(crate) fn set_response_with_status(&self, path: &str, status: u16, body: Value) -> &Self {
        let mut inner = self.inner.lock().expect("no panic before");
        inner.replies.insert(path.to_owned(), (status, body));
        self
    }

    /// The requests for a path, oldest first.
    pub(crate) fn seen(&self, path: &str) -> Vec<Seen> {
        let inner = self.inner.lock().expect("no panic before");
        let seen = inner.seen.iter().filter(|seen| seen.path == path);
        seen.cloned().collect()
    }

    /// The number of requests for any path.
    pub(crate) fn count_requests(&self) -> usize {
        self.inner.lock().expect("no panic before").seen.len()
    }

    /// Publishes the discovery document and keys of the OpenID provider `issuer`.
    pub(crate) fn publish(&self, issuer: &str) -> &Self {
        let keys = self.public_key();
        self.set_response(
            "/.well-known/openid-configuration",
            json!({
                "issuer": issuer,
                "authorization_endpoint": format!("{issuer}/authorize"),
                "token_endpoint": format!("{issuer}/token"),
                "userinfo_endpoint": format!("{issuer}/userinfo"),
                "jwks_uri": format!("{issuer}/keys"),
            }),
        );
        self.set_response("/keys", json!({ "keys": [keys] }))
    }

    pub(crate) fn public_key(&self) -> Value {
        let inner = self.inner.lock().expect("no panic before");
        inner.key.public_jwk().expect("an asymmetric key").clone()
    }

    /// Replaces the signing key, and publishes only the new one.
    pub(crate) fn rotate(&self) {
        self.inner.lock().expect("no panic before").key = new_key();
        let keys = json!({ "keys": [self.public_key()] });
        self.set_response("/keys", keys);
    }

    pub(crate) fn sign(&self, claims: &Value) -> String {
        let inner = self.inner.lock().expect("no panic before");
        inner.key.sign(claims).expect("a signed token")
    }

    /// A GitHub profile with this id and address.
    pub(crate) fn github(&self, id: u64, email: &str, is_verified: bool) -> &Self {
        self.set_response(
            "/login/oauth/access_token",
            json!({ "access_token": "gho_access", "token_type": "bearer" }),
        );
        self.set_response(
            "/api/v3/user",
            json!({ "id": id, "login": "ann", "name": "Ann Lee", "avatar_url": "https://a.test/p" }),
        );
        self.set_response(
            "/api/v3/user/emails",
            json!([{ "email": email, "primary": true, "verified": is_verified }]),
        )
    }
}

fn new_key() -> SigningKey {
    SigningKey::generate(Algorithm::Es256).expect("a key")
}

/// Settings that enable a provider at this URL.
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

async fn handle(State(idp): State<Idp>, request: Request) -> Response {
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
    let (status, body) = match inner.replies.get(&path) {
        Some((status, body)) => (*status, body.clone()),
        None => (404, json!({ "error": "not_found" })),
    };
    let status = http::StatusCode::from_u16(status).expect("a status");
    match body {
        Value::String(text) => (status, text).into_response(),
        body => (status, axum::Json(body)).into_response(),
    }
}
