//! The auth service, mounted at `/auth/v1`: users, sessions, second factors, identities and the key
//! set for verifying tokens (auth contract).
//!
//! `routes.rs` lists every endpoint. A folder is a section of the contract; `model/` holds the
//! tables and all SQL, `sessions/` issues and refreshes tokens, `error/` names every error.

mod accounts;
mod admin;
mod audit;
mod caller;
mod captcha;
mod cleanup;
mod clock;
mod config;
mod contact;
mod error;
mod hooks;
mod logout;
mod mail;
mod messages;
mod mfa;
mod model;
mod oauth;
mod oauth_server;
mod open_routes;
mod operators;
mod otp;
mod outgoing;
mod passkeys;
mod password;
mod pkce;
mod random;
mod rate_limit;
mod recover;
mod redirect;
mod removal;
mod request;
mod routes;
pub mod schema;
#[cfg(test)]
mod secrets;
mod service;
mod sessions;
mod signup;
mod sms;
mod system;
mod template;
mod timing;
mod token;
mod user;
mod verify;
mod webauthn;
mod wire_time;

pub use clock::Clock;
pub use config::{AuthConfig, GotrueConfig, ServerConfig};
pub(crate) use error::AuthError;
pub use error::{error_reference, oauth_error_reference};
pub use open_routes::is_open_route;
pub use routes::routes;
pub use service::AuthService;
