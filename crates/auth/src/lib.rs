//! The auth service, mounted at `/auth/v1`: accounts, sessions, second factors, identities and
//! the key set that everybody verifies tokens with (auth contract).
//!
//! `routes.rs` lists every endpoint. A folder is a section of the contract; `model/` holds the
//! rows that they share, `sessions/` the making and refreshing of tokens.

mod audit;
mod captcha;
mod clock;
mod code;
mod config;
mod error;
mod hooks;
mod mail;
mod model;
mod oauth;
mod outgoing;
mod password;
mod random;
mod rate_limit;
mod request;
mod routes;
pub mod schema;
mod service;
mod sessions;
mod sms;
mod system;
mod verify;
mod wire_time;

pub use clock::Clock;
pub use config::AuthConfig;
pub use error::AuthError;
pub use routes::routes;
pub use service::AuthService;
