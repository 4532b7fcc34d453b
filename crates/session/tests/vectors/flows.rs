//! Sign-ins that leave for another page: which cookies they write, in which order, and what they
//! ask for (S52, S53, C21).
//!
//! The reference was given fixed random bytes. Ours are random; what they made is exchanged for
//! what the reference's made before anything is compared.

use std::sync::{Arc, Mutex};

use axum::extract::Request;
use axum::response::IntoResponse;
use axum::routing::post;
use axum::{Json, Router};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::HeaderMap;
use plinth_client::Http;
use plinth_client::auth::{Provider, Scope, pkce};
use plinth_session::SessionWriter;
use plinth_session::cookie::{Cookies, Limits};
use serde_json::{Value, json};

use crate::cookies::{cookie_header, cookies, operations, title};
use crate::layer::{cache_headers, layer, send_request, set_cookies};
use crate::ledger::{Field, Vectors};

pub(crate) async fn check_all(vectors: &Vectors) {
    for case in vectors.cases("pkce", 3) {
        check(vectors, &case).await;
    }
}

#[tokio::test]
async fn flows_write_what_the_reference_writes_in_its_order() {
    check_all(&Vectors::load()).await;
}

/// The SDK removes the session first; the cookies are still written in the reference's order.
#[tokio::test]
async fn c21_signing_out_through_the_sdk_removes_in_the_references_order() {
    let vectors = Vectors::load();
    let cases = vectors.cases("write", 34);
    let case = cases
        .iter()
        .find(|case| case.field("name").text() == "sign_out_with_verifiers");
    let case = case.expect("the vector");
    let request = cookies(&case.field("request_cookies"));

    let fetches = Fetches::default();
    let app = app(&vectors, case.field("storage_key").text(), &fetches, "");
    let (headers, _) = send_request(app, &request, "/sign_out", String::new()).await;

    let removed: Vec<&str> = set_cookies(&headers)
        .iter()
        .map(|cookie| cookie.split_once('=').unwrap().0)
        .collect();
    let expected = case.field("writes").items();
    let expected: Vec<&str> = expected
        .iter()
        .map(|write| write.field("name").text())
        .collect();
    assert_eq!(removed, expected);
}

type Fetches = Arc<Mutex<Vec<Value>>>;

async fn check(vectors: &Vectors, case: &Field<'_>) {
    let title = title(case);
    let key = case.field("storage_key").text();
    let request = cookies(&case.field("request_cookies"));
    let after = case.field("cookies_after").items();
    let session = after
        .iter()
        .find(|cookie| cookie.field("name").text() == key);
    let user_json = session.map_or("{}", |cookie| cookie.field("item_json").text());
    let (result_url, flow_id) = (
        case.field("result_url").maybe_text(),
        case.field("flow_id").maybe_text(),
    );
    let expected_fetches = case.field("fetches").read();

    let fetches = Fetches::default();
    let app = app(vectors, key, &fetches, user_json);
    let path = format!("/{}", case.field("name").text());
    let url = result_url.or(expected_fetches[0]["url"].as_str()).unwrap();
    let (headers, body) = send_request(app, &request, &path, redirect_in(url)).await;

    assert_eq!(
        json!(*fetches.lock().unwrap()),
        *expected_fetches,
        "{title}"
    );
    let ours = Writes::read(&headers).in_the_references_words(key, case);
    check_operations(
        key,
        &ours,
        &case.field("set_all_calls"),
        &cache_headers(&headers),
        &title,
    );
    check_jar(&request, &ours, &after, &title);
    let started: Value = serde_json::from_str(&body).unwrap();
    if let Some(url) = result_url {
        let ours = started["url"].as_str().unwrap();
        let (theirs, challenge) = (challenge_in(url), challenge_in(ours));
        assert_eq!(ours.replace(&challenge, &theirs), url, "{title}");
        assert_eq!(theirs, pkce::challenge_of(&verifier_of(&after)), "{title}");
    }
    assert_eq!(
        started.get("flow_id").is_some(),
        flow_id.is_some(),
        "{title}"
    );
    if let (Some(ours), Some(theirs)) = (started["flow_id"].as_str(), flow_id) {
        assert_eq!(ours.len(), theirs.len(), "{title}");
        assert!(set_cookies(&headers)[0].contains(ours), "{title}");
    }
}

/// Which writes go together, and with which headers the first of them goes.
fn check_operations(key: &str, ours: &Writes, calls: &Field<'_>, headers: &Value, title: &str) {
    let names = ours
        .0
        .iter()
        .map(|write| (write.name.as_str(), write.max_age == 0));
    let mut left = ours.0.iter();
    let sizes = operations(key, names);
    let calls = calls.items();
    assert_eq!(sizes.len(), calls.len(), "{title}");
    for (at, (size, call)) in sizes.into_iter().zip(&calls).enumerate() {
        let together: Vec<Value> = left.by_ref().take(size).map(Write::shown).collect();
        assert_eq!(
            json!(together),
            *call.field("writes").read(),
            "{title}, {at}"
        );
        let expected = if at == 0 { headers.clone() } else { json!({}) };
        assert_eq!(expected, *call.field("headers").read(), "{title}, {at}");
    }
}

/// What the browser holds then, and what can be read from it.
fn check_jar(request: &Cookies, ours: &Writes, after: &[Field<'_>], title: &str) {
    let mut jar: Vec<(&str, &str)> = request
        .iter()
        .map(|cookie| (cookie.name.as_str(), cookie.value.as_str()))
        .collect();
    for write in &ours.0 {
        jar.retain(|(name, _)| *name != write.name);
        if write.max_age > 0 {
            jar.push((&write.name, &write.value));
        }
    }
    let expected: Vec<(&str, &str)> = after
        .iter()
        .map(|cookie| (cookie.field("name").text(), cookie.field("value").text()))
        .collect();
    assert_eq!(jar, expected, "{title}");
    let read = Cookies::parse(&cookie_header(jar));
    for cookie in after {
        let item = read.item(cookie.field("name").text(), &Limits::default());
        assert_eq!(
            item.as_deref(),
            Some(cookie.field("item_json").text()),
            "{title}"
        );
    }
}

/// The application: one route for each flow, and an auth service that notes what it is asked.
fn app(vectors: &Vectors, key: &str, fetches: &Fetches, user_json: &str) -> Router {
    let (noted, user_json) = (Arc::clone(fetches), user_json.to_owned());
    let project = vectors.field("project_url").text().to_owned();
    let service = Router::new().fallback(move |request: Request| async move {
        let uri = request.uri().path_and_query().unwrap().to_string();
        if !uri.ends_with("jwks.json") {
            let asked =
                json!({ "method": request.method().as_str(), "url": format!("{project}{uri}") });
            noted.lock().unwrap().push(asked);
        }
        ([("content-type", "application/json")], user_json.clone()).into_response()
    });
    let layer = layer(vectors, key, Http::with_service(service));
    Router::new()
        .route("/oauth_start", post(oauth_start))
        .route("/recovery_start", post(recovery_start))
        .route("/exchange_ok", post(exchange_ok))
        .route("/sign_out", post(sign_out))
        .layer(layer.build().unwrap())
}

async fn oauth_start(writer: SessionWriter, redirect_to: String) -> Json<Value> {
    let client = writer.client().unwrap();
    let start = client.auth().sign_in_with_oauth(Provider::Github);
    let start = start.redirect_to(redirect_to).build().await.unwrap();
    Json(json!({ "url": start.url, "flow_id": start.flow_id }))
}

async fn recovery_start(writer: SessionWriter, redirect_to: String) -> Json<Value> {
    let client = writer.client().unwrap();
    let recovery = client.auth().reset_password_for_email("ada@example.com");
    recovery.redirect_to(redirect_to).send().await.unwrap();
    Json(json!({}))
}

async fn exchange_ok(headers: HeaderMap, writer: SessionWriter) -> Json<Value> {
    let flow = flow_in(headers["cookie"].to_str().unwrap()).to_owned();
    let client = writer.client().unwrap();
    let exchange = client.auth().exchange_code("code").flow_id(flow);
    exchange.send().await.unwrap();
    Json(json!({}))
}

async fn sign_out(writer: SessionWriter) {
    let client = writer.client().unwrap();
    client.auth().sign_out(Scope::Local).await.ok();
}

/// What a response wrote.
struct Writes(Vec<Write>);

struct Write {
    name: String,
    value: String,
    max_age: u64,
}

impl Write {
    fn shown(&self) -> Value {
        json!({ "name": self.name, "value": self.value, "max_age": self.max_age })
    }
}

impl Writes {
    fn read(headers: &HeaderMap) -> Self {
        let read = |cookie: &str| {
            let (pair, attributes) = cookie.split_once("; Max-Age=").unwrap();
            let (name, value) = pair.split_once('=').unwrap();
            Write {
                name: name.to_owned(),
                value: value.to_owned(),
                max_age: attributes.split(';').next().unwrap().parse().unwrap(),
            }
        };
        Self(set_cookies(headers).into_iter().map(read).collect())
    }

    /// With the reference's flow id and verifier in the place of ours.
    fn in_the_references_words(mut self, key: &str, case: &Field<'_>) -> Self {
        let calls = case.field("set_all_calls").items();
        let first = &calls[0].field("writes").items()[0];
        let (theirs, ours) = (
            (
                first.field("name").text().to_owned(),
                item_in(first.field("value").text()),
            ),
            (self.0[0].name.clone(), item_in(&self.0[0].value)),
        );
        if ours.1.is_empty() {
            return self;
        }
        let flows = (flow_in(&ours.0).to_owned(), flow_in(&theirs.0).to_owned());
        // A recovery's verifier ends in its purpose, here and there (S52).
        assert_eq!(
            ours.1.split_once('/').map(|(_, end)| end),
            theirs.1.split_once('/').map(|(_, end)| end)
        );
        assert_eq!(ours.1.len(), theirs.1.len());
        for write in self.0.iter_mut().filter(|write| write.name != key) {
            let item = item_in(&write.value);
            let item = item.replace(&ours.1, &theirs.1).replace(&flows.0, &flows.1);
            write.name = write.name.replace(&flows.0, &flows.1);
            write.value = format!("base64-{}", URL_SAFE_NO_PAD.encode(item));
        }
        self
    }
}

/// The text in a cookie's value, nothing in that of a removal.
fn item_in(value: &str) -> String {
    let payload = value.strip_prefix("base64-").unwrap_or_default();
    String::from_utf8(URL_SAFE_NO_PAD.decode(payload).unwrap()).unwrap()
}

fn flow_in(name: &str) -> &str {
    let (_, rest) = name.split_once("-flow-").unwrap();
    rest.split_once("-code-verifier").unwrap().0
}

fn challenge_in(url: &str) -> String {
    query(url, "code_challenge").unwrap()
}

fn redirect_in(url: &str) -> String {
    query(url, "redirect_to").unwrap_or_default()
}

fn query(url: &str, wanted: &str) -> Option<String> {
    let url = url::Url::parse(url).unwrap();
    let mut pairs = url.query_pairs();
    pairs.find_map(|(name, value)| (name == wanted).then(|| value.into_owned()))
}

/// The reference's own verifier, from the cookies it left.
fn verifier_of(after: &[Field<'_>]) -> String {
    let slot = after
        .iter()
        .find(|cookie| cookie.field("name").text().contains("-flow-"));
    serde_json::from_str(slot.unwrap().field("item_json").text()).unwrap()
}
