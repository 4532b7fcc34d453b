//! Endpoints that need no credential: health and the key set; and the service's CORS rules.

use axum::{
    Json,
    extract::Request,
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use plinth_project::Project;
use serde_json::{Value, json};

/// Browsers may read these (auth contract §1.2).
const EXPOSED: &str = "X-Total-Count, Link, X-Supabase-Api-Version";
const METHODS: &str = "GET, POST, PUT, PATCH, DELETE";
const ALLOWED: &str = "Accept, Authorization, Content-Type, apikey, X-Client-IP, X-Client-Info, \
                       X-JWT-AUD, x-use-cookie, X-Supabase-Api-Version";

/// `GET /health`: named as clients know it.
pub(crate) async fn health() -> Json<Value> {
    Json(json!({
        "version": env!("CARGO_PKG_VERSION"),
        "name": "GoTrue",
        "description": "Plinth's auth service",
    }))
}

/// `GET /.well-known/jwks.json`: public keys only, standby ones included, so that caches know a
/// key before it signs.
pub(crate) async fn jwks(project: Project) -> impl IntoResponse {
    let keys = project.keys().keyset.jwks().clone();
    ([(header::CACHE_CONTROL, "public, max-age=600")], Json(keys))
}

/// Any origin, without credentials; preflights are answered for every path.
pub(crate) async fn cors(request: Request, next: Next) -> Response {
    let is_preflight = request.method() == Method::OPTIONS
        && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
    let asked = request.headers().get(header::ACCESS_CONTROL_REQUEST_HEADERS).cloned();
    let mut response = match is_preflight {
        true => StatusCode::OK.into_response(),
        false => next.run(request).await,
    };
    let headers = response.headers_mut();
    set(headers, header::ACCESS_CONTROL_ALLOW_ORIGIN, "*");
    set(headers, header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
    if is_preflight {
        set(headers, header::ACCESS_CONTROL_ALLOW_METHODS, METHODS);
        set(headers, header::ACCESS_CONTROL_MAX_AGE, "86400");
        let allowed = asked.unwrap_or(HeaderValue::from_static(ALLOWED));
        headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, allowed);
    }
    response
}

fn set(headers: &mut HeaderMap, name: HeaderName, value: &'static str) {
    headers.insert(name, HeaderValue::from_static(value));
}
