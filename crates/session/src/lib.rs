//! A user's session in cookies, for servers built with tower and axum.
//!
//! The cookies are those of `@supabase/ssr`, byte for byte: a person who signs in on a JavaScript
//! page is signed in here, and the reverse. The layer reads them, verifies the access token with
//! the project's published keys, refreshes it when it is about to end, once for all requests that
//! need it, and writes what changed. Handlers ask by extractor:
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
//! | `Option<Session>` | everybody |
//! | [`RequireAal2`] | users who have shown a second factor |
//! | [`RequireRole`] | users of one role |
//! | [`SessionState`] | everybody, and tells "signed out" from "not known at the moment" |
//! | [`SessionWriter`] | requests from our own pages; signs people in and out |
//! | [`UserClient`] | users, as an SDK client that acts for them |
//!
//! What is believed: the verified token, and nothing else in the cookie. What is refused by
//! itself: changes that do not come from the application's own pages, redirects to other hosts,
//! tokens of other projects, roles and algorithms. [`cookie`] has the codec for other uses.

#![warn(missing_docs)]

pub mod backend;
mod builder;
mod config;
mod context;
pub mod cookie;
mod csrf;
mod extract;
mod flight;
mod handlers;
mod html;
mod jar;
mod layer;
mod metrics;
mod network;
mod next;
mod origin;
mod refresh;
mod rejection;
mod resolve;
mod runtime;
mod secrets_in_urls;
mod seldom;
mod server_check;
mod session;
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
