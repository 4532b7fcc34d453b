//! The Rust SDK for Plinth, and for every backend that speaks the same protocols: accounts with a
//! session that refreshes itself, the database, files, functions, and channels in real time.
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
//! // Requests carry the user's token from now on, and it is always fresh.
//! let todos = client.from("todos").select("id,title").eq("is_done", false).order("id");
//! for todo in todos.execute_as::<Vec<Todo>>().await?.data {
//!     println!("{}: {}", todo.id, todo.title);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! [`Client::from_env`] takes the project from the environment instead: `SUPABASE_URL` and
//! `SUPABASE_PUBLISHABLE_KEY`.
//!
//! # What is here
//!
//! - [`Client`]: one project and one user. Cheap to clone, `Send` and `Sync`.
//! - [`auth`]: signing up, in and out; the session; second factors, passkeys, identities; verified
//!   claims. [`AdminClient`] administers accounts with the service key, and is a type of its own.
//! - [`rest`]: tables and functions of the database. Feature `rest`, on by default.
//! - [`storage`]: buckets and files, in one piece, as streams, or in parts that survive a lost
//!   connection. Feature `storage`, on by default.
//! - [`functions`]: code of yours on the server, called with any body, answering as a whole or in
//!   events. Feature `functions`, on by default.
//! - `realtime`: channels that people talk over, who is there, and rows that change, while it
//!   happens. Feature `realtime`, on by default; not in the browser.
//! - [`SessionStore`]: where sessions are kept between runs: [`MemoryStore`] unless you choose,
//!   [`FileStore`] for command-line tools, `KeyringStore` for the system's keyring (feature
//!   `keyring`; Linux, macOS and Windows), cookies with `plinth-session`, or your own.
//! - [`Http`]: requests go over reqwest, through a reqwest client of yours, or through any tower
//!   service, such as an `axum::Router` in a test. Feature `rustls`, on by default, or `native-tls`
//!   says who speaks TLS; with both it is the system's library.
//!
//! # What is different from the JavaScript client
//!
//! Sessions are stored in the same form, so both can share one. On purpose, this client
//!
//! - always uses PKCE, and never takes tokens from a URL;
//! - waits when a refresh meets a rate limit, where JavaScript ends the session;
//! - fails a request whose session cannot be refreshed, where JavaScript sends it in nobody's name;
//! - tells [events](auth::Auth::events) through a stream, so that a listener can call anything;
//! - sends over a channel only while it is subscribed, where JavaScript turns to HTTP by itself, and
//!   joins none in nobody's name while the session cannot be refreshed.
//!
//! # In the browser
//!
//! Everything but channels, [`FileStore`], `KeyringStore` and uploads of files by their path also
//! compiles for `wasm32-unknown-unknown`. Signatures of tokens are checked by the server there, and
//! files pass through memory as a whole. As in JavaScript the session is left alone while the page is
//! out of sight, and taken up again when it is back.

#![warn(missing_docs)]
// Some shared parts have no other users than a feature.
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
pub use session::{EXPIRY_MARGIN_MS, NotASession, Session};
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
