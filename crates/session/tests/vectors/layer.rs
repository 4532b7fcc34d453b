//! What is written, by the layer: whole `Set-Cookie` fields, and the headers beside them (C23).

use axum::Router;
use axum::body::Body;
use axum::routing::post;
use http::{HeaderMap, Request, StatusCode, header};
use plinth_client::{Http, SessionStore as _};
use plinth_session::cookie::Cookies;
use plinth_session::{SessionEncoding, SessionLayer, SessionLayerBuilder, SessionWriter};
use serde_json::{Map, Value};
use tower::ServiceExt as _;

use crate::cookies::{cookie_header, cookies, encoding, options, title};
use crate::ledger::{Field, Vectors};

const APP_URL: &str = "http://localhost:3000";

pub(crate) async fn check_all(vectors: &Vectors) {
    for case in vectors.cases("write", 34) {
        check(vectors, &case).await;
    }
}

#[tokio::test]
async fn the_layer_responds_with_the_headers_of_the_reference() {
    check_all(&Vectors::load()).await;
}

/// A layer with the reference's cookie options, around this application.
pub(crate) fn layer(vectors: &Vectors, key: &str, http: Http) -> SessionLayerBuilder {
    let project = vectors.field("project_url").text();
    assert_eq!(
        plinth_client::storage_key(project).unwrap(),
        "sb-plinthref-auth-token"
    );
    SessionLayer::builder(project, "anon")
        .cookie_name(key)
        .cookie_options(options(&Value::Null))
        .public_url(APP_URL)
        .http(http)
}

/// Sends a request with these cookies to the application.
pub(crate) async fn send_request(
    app: Router,
    request: &Cookies,
    path: &str,
    body: String,
) -> (HeaderMap, String) {
    let jar = request
        .iter()
        .map(|cookie| (cookie.name.as_str(), cookie.value.as_str()));
    let request = Request::post(path)
        .header(header::ORIGIN, APP_URL)
        .header(header::COOKIE, cookie_header(jar))
        .body(Body::from(body));
    let response = app.oneshot(request.unwrap()).await.unwrap();
    let (parts, body) = response.into_parts();
    let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
    let body = String::from_utf8(body.to_vec()).unwrap();
    assert_eq!(parts.status, StatusCode::OK, "{body}");
    (parts.headers, body)
}

/// Those of a response's headers that keep session cookies out of caches.
pub(crate) fn cache_headers(headers: &HeaderMap) -> Value {
    if !headers.contains_key(header::SET_COOKIE) {
        assert!(!headers.contains_key("expires") && !headers.contains_key("pragma"));
        return Value::Object(Map::new());
    }
    let names = ["Cache-Control", "Expires", "Pragma"];
    let header = |name: &str| {
        let values: Vec<_> = headers.get_all(name).iter().collect();
        let [value] = values[..] else {
            panic!("{name}: {values:?}");
        };
        (name.to_owned(), Value::from(value.to_str().unwrap()))
    };
    names.into_iter().map(header).collect()
}

pub(crate) fn set_cookies(headers: &HeaderMap) -> Vec<&str> {
    let all = headers.get_all(header::SET_COOKIE).iter();
    all.map(|value| value.to_str().unwrap()).collect()
}

async fn check(vectors: &Vectors, case: &Field<'_>) {
    let title = title(case);
    let (key, expected_headers) = (
        case.field("storage_key").text(),
        case.field("response_headers"),
    );
    let encode = case.field("encode").text();
    if case.field("client").text() == "browser" {
        // A page has no response, and what it writes is not the layer's.
        assert_eq!(
            *expected_headers.read(),
            Value::Object(Map::new()),
            "{title}"
        );
        return;
    }
    let request = cookies(&case.field("request_cookies"));
    // No user is signed in by tokens that cannot be verified; that is not what is tested here.
    let rejecting = Router::new().fallback(|| async { (StatusCode::BAD_REQUEST, "{}") });
    let layer = layer(vectors, key, Http::with_service(rejecting))
        .cookie_options(options(case.field("cookie_options").read()))
        .encoding(encoding(case))
        .encode(match encode {
            "user-and-tokens" => SessionEncoding::UserAndTokens,
            "tokens-only" => SessionEncoding::TokensOnly,
            other => panic!("{other}"),
        })
        .build()
        .unwrap();
    let app = Router::new()
        .route("/sign_in", post(keep))
        .route(
            "/sign_out",
            post(|writer: SessionWriter| async move { writer.clear() }),
        )
        .layer(layer);
    let item = case.field("item_json").maybe_text().unwrap_or_default();
    let given = match encode {
        // What the layer leaves out must have been there.
        "tokens-only" => format!(
            "{},\"user\":{{\"id\":\"u\"}}}}",
            item.strip_suffix('}').unwrap()
        ),
        _ => item.to_owned(),
    };

    let path = format!("/{}", case.field("action").text());
    let (headers, _) = send_request(app, &request, &path, given).await;

    let expected: Vec<String> = case
        .field("writes")
        .items()
        .iter()
        .map(set_cookie)
        .collect();
    assert_eq!(set_cookies(&headers), expected, "{title}");
    assert_eq!(cache_headers(&headers), *expected_headers.read(), "{title}");
}

async fn keep(writer: SessionWriter, item: String) {
    let store = writer.store();
    let key = store.storage_key().to_owned();
    store.set(&key, item).await.unwrap();
}

/// The header of a write.
fn set_cookie(write: &Field<'_>) -> String {
    let wire = write.find("wire_value").unwrap_or(write.field("value"));
    let (name, attributes) = (write.field("name").text(), write.field("attributes").text());
    format!("{name}={}{attributes}", wire.text())
}
