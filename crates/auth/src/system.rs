//! Health, public settings, key set and discovery, and the CORS rules.

mod disabled;
mod discovery;
mod settings;

use axum::{
    Json,
    extract::Request,
    http::header,
    middleware::Next,
    response::{IntoResponse, Response},
};
use plinth_project::{Cors, Project};
use serde_json::{Value, json};

pub(crate) use disabled::{list_sso_providers, saml, saml_for_admins, scim, web3};
pub(crate) use discovery::{authorization_server, openid_configuration};
pub(crate) use settings::settings;

/// Response headers that scripts may read (auth contract §1.2).
const EXPOSED: &str = "X-Total-Count, Link, X-Supabase-Api-Version, x-sb-error-code, Retry-After";
const METHODS: &str = "GET, POST, PUT, PATCH, DELETE";
const ALLOWED: &str = "Accept, Authorization, Content-Type, apikey, X-Client-IP, X-Client-Info, \
                       X-JWT-AUD, x-use-cookie, X-Supabase-Api-Version";

/// `GET /health`, with the name that clients expect.
pub(crate) async fn health() -> Json<Value> {
    Json(json!({
        "version": env!("CARGO_PKG_VERSION"),
        "name": "GoTrue",
        "description": "Plinth's auth service",
    }))
}

/// `GET /.well-known/jwks.json`: the public keys, including standby keys, so that caches have a key
/// before it is used.
pub(crate) async fn jwks(project: Project) -> impl IntoResponse {
    let keys = project.keys().keyset.jwks().clone();
    ([(header::CACHE_CONTROL, "public, max-age=600")], Json(keys))
}

/// Allows any origin, without credentials; responds to preflight requests for every path.
pub(crate) async fn cors(request: Request, next: Next) -> Response {
    let rules = Cors::any()
        .methods(METHODS)
        .allow(ALLOWED)
        .expose(EXPOSED)
        .max_age(86_400);
    let headers = request.headers().clone();
    if Cors::is_preflight(request.method(), &headers) {
        return rules.preflight(&headers);
    }
    let mut response = next.run(request).await;
    rules.decorate(&headers, response.headers_mut());
    response
}
