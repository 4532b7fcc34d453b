//! The auth service, mounted at `/auth/v1`: accounts, sessions, second factors, identities and
//! the key set that everybody verifies tokens with (auth contract).
//!
//! `routes.rs` lists every endpoint. A folder is a section of the contract; `model/` holds the
//! rows that they share, `sessions/` the making and refreshing of tokens.

mod accounts;
mod admin;
mod audit;
mod captcha;
mod cleanup;
mod clock;
mod code;
mod config;
mod error;
mod hooks;
mod logout;
mod mail;
mod messages;
mod mfa;
mod model;
mod oauth;
mod oauth_server;
mod otp;
mod outgoing;
mod passkeys;
mod password;
mod random;
mod rate_limit;
mod recover;
mod redirect;
mod removal;
mod request;
mod routes;
pub mod schema;
mod service;
mod sessions;
mod signup;
mod sms;
mod system;
mod token;
mod user;
mod verify;
mod webauthn;
mod wire_time;

pub use clock::Clock;
pub use config::{AuthConfig, GotrueConfig, ServerConfig};
pub(crate) use error::AuthError;
pub use routes::routes;
pub use service::AuthService;
