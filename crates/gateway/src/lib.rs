//! The HTTP edge: one listener for everything (design §2, console contract F1–F3).
//!
//! A request gets an id, its project is found by host or path, its credentials are verified, and
//! the service's router receives the result as extensions: `Project`, `Credentials`,
//! `Result<Caller, CallerError>`, `RequestId`, `ClientAddress`, `PublicUrl` and `BodyLimit`.
//! The edge adds limits, compression, one access record per request, metrics, and the endpoints
//! of the process itself (`/health`, `/ready`, `/metrics`).
//!
//! Services are known only as routers. The edge rejects requests without an API key where a mount says
//! so; everything else about credentials, and CORS preflights, is each service's own. Start reading at
//! [`Gateway::handle`], or at [`serve`] for connections.

mod access;
mod api_key;
mod compression;
mod config;
mod destination;
mod error;
mod forwarded;
mod gateway;
mod instance;
mod internal_calls;
mod limits;
mod metrics;
mod mounts;
mod network;
mod origin;
mod panics;
mod public_url;
mod request_context;
mod request_id;
mod resolve;
mod routing;
mod sandbox;
mod server;
mod shared_origin;
mod tracked_body;

pub use config::{GatewayConfig, TlsFiles};
pub use error::error_reference;
pub use gateway::{Gateway, GatewayParts};
pub use instance::{Readiness, ReadyCheck};
pub use internal_calls::InternalCalls;
pub use metrics::{Metrics, MetricsError};
pub use mounts::{Mount, Mounts};
pub use network::{Network, NetworkParseError};
pub use origin::Peer;
pub use resolve::Resolve;
pub use server::{BindError, Drained, Tls, TlsError, bind, serve, serve_unix};
pub use tracked_body::TrackedBody;
