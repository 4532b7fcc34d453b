//! The Rust SDK for Plinth and compatible backends: auth with automatic session refresh, database, storage,
//! functions and realtime.
//!
//! ```
//! use plinth_client::Client;
//! use serde::Deserialize;
//!
//! #[derive(Deserialize)]
//! struct Todo {
//!     id: i64,
//!     title: String,
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let client = Client::new("http://localhost:54321", "sb_publishable_key")?;
//! # let client = Client::builder("http://localhost:54321", "key");
//! # let client = client.http_service(axum::Router::new()
//! #     .route("/auth/v1/token", axum::routing::post(|| async { r#"{
//! #         "access_token": "a", "refresh_token": "r", "expires_in": 3600, "user": {"id": "u"}
//! #     }"# }))
//! #     .route("/rest/v1/todos", axum::routing::get(|| async { r#"[{"id":1,"title":"x"}]"# })))
//! #     .build()?;
//!
//! let sign_in = client.auth().sign_in_with_password();
//! sign_in.email("ada@example.com").password("s3cret!pass").send().await?;
//!
//! // From now on requests carry the user's access token, which is refreshed automatically.
//! let todos = client.from("todos").select("id,title").eq("is_done", false).order("id");
//! for todo in todos.execute_as::<Vec<Todo>>().await?.data {
//!     println!("{}: {}", todo.id, todo.title);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! [`Client::from_env`] reads the project from the environment: `SUPABASE_URL` and
//! `SUPABASE_PUBLISHABLE_KEY`.
//!
//! # Overview
//!
//! - [`Client`]: one project and one user. Cheap to clone, `Send` and `Sync`.
//! - [`auth`]: signing up, in and out; sessions; second factors, passkeys, identities; verified claims.
//!   [`AdminClient`] manages users with the service key, and is a separate type.
//! - [`rest`]: tables and functions of the database. Feature `rest`, on by default.
//! - [`storage`]: buckets and files, whole, streamed, or with resumable uploads. Feature `storage`, on by
//!   default.
//! - [`functions`]: invokes edge functions with any body and reads whole or streamed responses. Feature
//!   `functions`, on by default.
//! - `realtime`: broadcast, presence and row changes over channels. Feature `realtime`, on by default; not in
//!   the browser.
//! - [`SessionStore`]: persists sessions: [`MemoryStore`] by default, [`FileStore`] for command-line tools,
//!   `KeyringStore` for the system's keyring (feature `keyring`; Linux, macOS and Windows), cookies with
//!   `plinth-session`, or your own.
//! - [`Http`]: requests use reqwest, a custom reqwest client, or any tower service, such as an `axum::Router`
//!   in a test. Feature `rustls`, on by default, or `native-tls` selects the TLS library; with both it is
//!   the system's.
//!
//! # Differences from the JavaScript client
//!
//! Sessions are stored in the same format, so both can share one. Deliberately, this client
//!
//! - always uses PKCE, and never takes tokens from a URL;
//! - retries when a refresh is rate limited, where JavaScript ends the session;
//! - fails a request whose session cannot be refreshed, where JavaScript sends it anonymously;
//! - delivers [events](auth::Auth::events) as a stream, so that a subscriber can call anything;
//! - sends over a channel only while it is subscribed, where JavaScript falls back to HTTP, and never joins
//!   anonymously while the session cannot be refreshed.
//!
//! # In the browser
//!
//! Everything but channels, [`FileStore`], `KeyringStore` and uploads of files by path also compiles for
//! `wasm32-unknown-unknown`. Token signatures are checked by the server there, and files are buffered in
//! memory. As in JavaScript, the session is not refreshed while the page is hidden, and resumed when it is
//! visible again.

#![warn(missing_docs)]
// Some shared parts are used by one feature only.
#![cfg_attr(
    not(all(
        feature = "rest",
        feature = "storage",
        feature = "functions",
        feature = "realtime"
    )),
    allow(dead_code, unused_imports)
)]

pub mod auth;
mod call_options;
mod client;
mod clock;
#[cfg(feature = "functions")]
pub mod functions;
mod http;
mod json;
mod project_url;
#[cfg(all(feature = "realtime", not(target_arch = "wasm32")))]
pub mod realtime;
#[cfg(feature = "rest")]
pub mod rest;
mod runtime;
mod session;
#[cfg(feature = "storage")]
pub mod storage;
mod store;
mod trace_context;
mod user;

pub use crate::http::{Http, HttpService, TransportError};
pub use auth::{AdminClient, Auth, AuthError, AuthEvent};
pub use client::{Client, ClientBuilder, ThirdParty, TokenSource};
pub use clock::{Clock, ManualClock, SystemClock};
#[cfg(feature = "functions")]
pub use functions::FunctionError;
pub use project_url::{InvalidProjectUrl, ProjectUrl, storage_key};
#[cfg(all(feature = "realtime", not(target_arch = "wasm32")))]
pub use realtime::{Realtime, RealtimeError};
#[cfg(feature = "rest")]
pub use rest::RestError;
pub use runtime::{BoxFuture, BoxStream, MaybeSend, MaybeSync};
pub use session::{EXPIRY_MARGIN_MS, InvalidSession, Session};
#[cfg(feature = "storage")]
pub use storage::StorageError;
#[cfg(not(target_arch = "wasm32"))]
pub use store::FileStore;
#[cfg(all(
    feature = "keyring",
    any(target_os = "linux", target_os = "macos", target_os = "windows")
))]
pub use store::KeyringStore;
pub use store::{MemoryStore, SessionStore, StoreError};
pub use trace_context::TraceContext;
pub use user::{Factor, Identity, UnverifiedUser, User};
