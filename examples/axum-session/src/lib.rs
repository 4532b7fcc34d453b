//! A small application with accounts, rendered on the server.
//!
//! `app` assembles the routes: pages use session extractors, forms change the session through the SDK, and
//! the layer around them maintains the cookies. The page in the browser uses
//! `@supabase/ssr` with the very same cookies (`assets/browser.js`).

mod access_log;
mod account;
mod pages;
mod settings;
mod sign_in;

use axum::routing::{get, post};
use axum::{Router, middleware};
use plinth_session::{ConfigError, SessionLayer, auth_routes};

pub use settings::Settings;

/// State of the handlers.
#[derive(Clone)]
pub(crate) struct App {
    pub(crate) settings: Settings,
}

/// The session layer.
pub fn session_layer(settings: &Settings) -> Result<SessionLayer, ConfigError> {
    SessionLayer::builder(&settings.project_url, settings.key.as_str())
        .public_url(&settings.public_url)
        .sign_in_path("/sign-in")
        .build()
}

/// All routes, with the layer around them.
pub fn app(settings: Settings, sessions: SessionLayer) -> Router {
    Router::new()
        .route("/", get(account::home))
        .route("/private", get(account::private))
        .route("/profile", post(account::change))
        .route("/sign-in", get(sign_in::page).post(sign_in::with_password))
        .route("/sign-in/{provider}", post(sign_in::with_provider))
        .route("/browser.js", get(pages::script))
        .route("/style.css", get(pages::style))
        .merge(auth_routes())
        .with_state(App { settings })
        .layer(sessions)
        .layer(middleware::from_fn(access_log::log))
}
