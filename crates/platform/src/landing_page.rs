//! The page at `/`: version, readiness, and where to find the API and the documentation.

use axum::{
    extract::State,
    http::header,
    response::{Html, IntoResponse},
};

use plinth_session::escape_html;

use crate::Platform;

const PAGE: &str = include_str!("landing_page.html");

/// No scripts, no external content; the style sheet is inline.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; \
                      form-action 'none'; frame-ancestors 'none'";

/// `GET /`: shows whether the database can be reached. It is public, so it contains no keys.
pub async fn landing_page(State(platform): State<Platform>) -> impl IntoResponse {
    let is_ready = platform.is_ready().await;
    let (state, text) = if is_ready {
        ("good", "Running")
    } else {
        ("bad", "The database cannot be reached")
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
