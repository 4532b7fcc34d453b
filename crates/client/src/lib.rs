//! The Rust SDK for Plinth and every backend of the same protocol.

#![warn(missing_docs)]

pub mod auth;
mod call_options;
mod client;
mod clock;
mod http;
mod json;
mod project_url;
#[cfg(feature = "rest")]
pub mod rest;
mod runtime;
mod session;
mod store;
mod user;

pub use crate::http::{Http, HttpService, TransportError};
pub use auth::{AdminClient, Auth, AuthError, AuthEvent};
pub use client::{Client, ClientBuilder, ThirdParty, TokenSource};
pub use clock::{Clock, ManualClock, SystemClock};
pub use project_url::{InvalidProjectUrl, ProjectUrl, storage_key};
#[cfg(feature = "rest")]
pub use rest::RestError;
pub use runtime::{BoxFuture, BoxStream, MaybeSend, MaybeSync};
pub use session::{EXPIRY_MARGIN_MS, NotASession, Session};
#[cfg(not(target_arch = "wasm32"))]
pub use store::FileStore;
pub use store::{MemoryStore, SessionStore, StoreError};
pub use user::{Factor, Identity, UnverifiedUser, User};
