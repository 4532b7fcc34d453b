//! The page at `/` while there is no web app: what runs here, honestly, and where to go on.

use axum::{
    extract::State,
    http::header,
    response::{Html, IntoResponse},
};

use plinth_session::escape_html;

use crate::Platform;

const PAGE: &str = include_str!("landing.html");

/// No script, no foreign content; the one style sheet is inline.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; \
                      form-action 'none'; frame-ancestors 'none'";

/// `GET /`: says whether the database answers. Shows no key: anybody may open it.
pub async fn landing_page(State(platform): State<Platform>) -> impl IntoResponse {
    let is_ready = platform.is_ready().await;
    let (state, text) = match is_ready {
        true => ("good", "Running"),
        false => ("bad", "The database does not answer"),
    };
    let page = PAGE
        .replace("{state}", state)
        .replace("{state_text}", text)
        .replace("{version}", env!("CARGO_PKG_VERSION"))
        .replace("{api_url}", &escape_html(&platform.endpoints().api_url));
    let headers = [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
    ];
    (headers, Html(page))
}
