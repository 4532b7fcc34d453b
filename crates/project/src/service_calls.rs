//! Calls of a project's services inside this process, for operators.
//!
//! The platform decides who may call what, and as whom; the gateway, which has the routers, carries
//! the call out. Nothing of the operator's own credential may be in the request.

use axum::{body::Body, response::Response};
use http::Request;

use crate::{BoxFuture, Credentials, Project, PublicUrl};

/// A service of every project.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ProjectService {
    /// `/auth/v1`
    Auth,
    /// `/rest/v1`
    Rest,
    /// `/storage/v1`
    Storage,
    /// `/realtime/v1`
    Realtime,
    /// `/functions/v1`
    Functions,
}

impl ProjectService {
    /// By its name in paths.
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "auth" => Self::Auth,
            "rest" => Self::Rest,
            "storage" => Self::Storage,
            "realtime" => Self::Realtime,
            "functions" => Self::Functions,
            _ => return None,
        })
    }

    /// Its name in paths.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auth => "auth",
            Self::Rest => "rest",
            Self::Storage => "storage",
            Self::Realtime => "realtime",
            Self::Functions => "functions",
        }
    }

    /// Where it is mounted below a project.
    pub fn prefix(self) -> &'static str {
        match self {
            Self::Auth => "/auth/v1",
            Self::Rest => "/rest/v1",
            Self::Storage => "/storage/v1",
            Self::Realtime => "/realtime/v1",
            Self::Functions => "/functions/v1",
        }
    }
}

/// One call.
pub struct ServiceCall {
    /// Whose service.
    pub project: Project,
    /// Which.
    pub service: ProjectService,
    /// As the service receives it: its path is the one below the service's prefix. Of its
    /// extensions, the service gets those that the edge sets.
    pub request: Request<Body>,
    /// On whose behalf.
    pub credentials: Credentials,
    /// The base of URLs in the response.
    pub public_url: PublicUrl,
    /// Completes when the right to the call ends; a websocket is closed then.
    pub ended: BoxFuture<'static, ()>,
}

/// Calls services; implemented by the gateway.
pub trait ServiceCalls: Send + Sync {
    /// The service's response. `None`: it is not served here.
    fn call(&self, call: ServiceCall) -> BoxFuture<'_, Option<Response>>;
}
