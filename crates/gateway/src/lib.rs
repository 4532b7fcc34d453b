//! The HTTP edge: one listener for everything (design §2, console contract F1–F3).
//!
//! A request is given a name, its project is found by host or path, its credentials are read, and
//! the service's router gets it with all that as extensions: `Project`, `Credentials`,
//! `Result<Caller, CallerError>`, `RequestId`, `ClientAddress`, `PublicUrl` and `BodyLimit`.
//! Around that stand limits, compression, one log record per request, metrics, and the pages of
//! the process itself.
//!
//! Services are known only as routers. The edge refuses nobody for a credential and answers no
//! preflight: both are each service's own. Start reading at [`Gateway::handle`], or at [`serve`]
//! for connections.

mod access;
mod compression;
mod config;
mod destination;
mod error;
mod forwarded;
mod gateway;
mod instance;
mod limits;
mod metrics;
mod mounts;
mod network;
mod origin;
mod panics;
mod passage;
mod public_url;
mod request_id;
mod resolve;
mod sandbox;
mod server;
mod tracked_body;

pub use config::{GatewayConfig, TlsFiles};
pub use gateway::{Gateway, GatewayParts};
pub use instance::ReadyCheck;
pub use metrics::{Metrics, MetricsError};
pub use mounts::{Mount, Mounts};
pub use network::{BadNetwork, Network};
pub use origin::Peer;
pub use resolve::Resolve;
pub use server::{BindError, Drained, Tls, TlsError, bind, serve, serve_unix};
pub use tracked_body::TrackedBody;
