//! Sessions in cookies, for servers built with tower and axum.
//!
//! The cookies are those of `@supabase/ssr`, byte for byte: a user who signs in on a JavaScript page is
//! signed in here, and vice versa. The layer reads them, verifies the access token with the project's
//! published keys, refreshes it before it expires, once for all concurrent requests, and writes changes
//! back. Handlers use extractors:
//!
//! ```
//! use axum::{Router, routing::get};
//! use plinth_session::{Session, SessionLayer, auth_routes};
//!
//! async fn home(session: Option<Session>) -> String {
//!     match session {
//!         Some(session) => format!("Hello {}", session.user_id()),
//!         None => "Hello stranger".to_owned(),
//!     }
//! }
//!
//! async fn orders(session: Session) -> String {
//!     format!("Orders of {}", session.user_id())
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let layer = SessionLayer::builder("http://localhost:54321", "the anonymous key")
//!     .public_url("http://localhost:3000")
//!     .sign_in_path("/sign-in")
//!     .build()?;
//! let app: Router = Router::new()
//!     .route("/", get(home))
//!     .route("/orders", get(orders))
//!     .merge(auth_routes())
//!     .layer(layer);
//! # _ = app;
//! # Ok(())
//! # }
//! ```
//!
//! | Extractor | Lets in |
//! |---|---|
//! | [`Session`] | users |
//! | `Option<Session>` | every caller |
//! | [`RequireAal2`] | users with a verified second factor |
//! | [`RequireRole`] | users of one role |
//! | [`SessionState`] | every caller; distinguishes "signed out" from "currently unknown" |
//! | [`SessionWriter`] | requests from allowed origins; signs users in and out |
//! | [`UserClient`] | users, as an SDK client that acts for them |
//!
//! Only the verified token is trusted, nothing else in the cookie. Rejected by default: changes from other
//! origins, redirects to other hosts, tokens of other projects, roles and algorithms. [`cookie`] exposes
//! the codec for other uses.

#![warn(missing_docs)]

pub mod backend;
mod builder;
mod config;
pub mod cookie;
mod cookie_jar;
mod csrf;
mod extract;
mod handlers;
mod html;
mod layer;
mod log_throttle;
mod metrics;
mod network;
mod next;
mod origin;
mod refresh;
mod rejection;
mod request_context;
mod resolve;
mod runtime;
mod secrets_in_urls;
mod server_check;
mod session;
mod single_flight;
mod store;
mod verify;
mod writer;

pub use backend::AuthBackend;
pub use builder::{ConfigError, SessionEncoding, SessionLayerBuilder};
pub use csrf::CsrfPolicy;
pub use extract::{RequireAal2, RequireRole, RoleName, UserClient};
pub use handlers::auth_routes;
pub use html::escape_html;
pub use layer::{SessionLayer, SessionService};
pub use next::checked_next;
pub use plinth_token::Secret;
pub use refresh::RefreshCoordinator;
pub use rejection::{Problem, SessionRejection};
pub use runtime::SessionRuntime;
pub use secrets_in_urls::{path_without_secrets, redacted_uri};
pub use session::{Session, SessionState};
pub use store::CookieStore;
pub use writer::{SessionWriter, SignInError, SignedIn};
