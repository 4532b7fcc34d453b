//! An application inside the layer, a browser that keeps its cookies, and a
//! scripted auth service.

mod app;
mod browser;
mod tokens;
mod upstream;

pub(crate) use app::{APP_URL, App, routes};
pub(crate) use browser::Browser;
pub(crate) use tokens::{KEY, PROJECT_URL, Tokens, claims, session_json};
pub(crate) use upstream::{Upstream, on_refresh};

/// When tests take place, in milliseconds since 1970.
pub(crate) const NOW_MS: i64 = 1_800_000_000_000;
pub(crate) const NOW_S: i64 = NOW_MS / 1000;
pub(crate) const USER: &str = "0d0c5d4a-5c5f-4cbd-9a65-0e2ac5b2a3f1";
