//! The edge as a value: its parts, and the middleware around every request.
//!
//! [`Gateway::handle`] assigns the request id, catches panics, compresses the response and keeps
//! the access record; [`crate::routing`] does the rest.

use std::sync::Arc;

use axum::{
    BoxError,
    extract::OriginalUri,
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use http::{Method, Request};
use plinth_log::LogStore;
use plinth_project::ProjectRef;

use crate::{
    GatewayConfig, Metrics, Mounts, Peer, ReadyCheck, Resolve, TrackedBody,
    access::{AccessLog, AccessRecord},
    compression::AcceptedEncodings,
    destination::{Destination, ProjectLocator},
    error::EdgeError,
    origin::Origin,
    panics,
    request_context::RequestContext,
    request_id,
};

/// Everything that the edge is made of.
pub struct GatewayParts {
    /// Its settings.
    pub config: GatewayConfig,
    /// What it serves.
    pub mounts: Mounts,
    /// Where projects come from.
    pub resolver: Arc<dyn Resolve>,
    /// Receives the access records.
    pub logs: LogStore,
    /// Project zero: access records of requests to no project go to its log.
    pub platform: ProjectRef,
    /// The recorder behind `/metrics`, when one is installed.
    pub metrics: Option<Metrics>,
    /// The check behind `/ready`.
    pub ready: ReadyCheck,
}

/// The HTTP edge. Cheap to clone; serve it with [`crate::serve`].
#[derive(Clone)]
pub struct Gateway(Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) config: GatewayConfig,
    pub(crate) mounts: Mounts,
    pub(crate) resolver: Arc<dyn Resolve>,
    pub(crate) access_log: Arc<AccessLog>,
    pub(crate) metrics: Option<Metrics>,
    pub(crate) ready: ReadyCheck,
}

impl Gateway {
    /// Puts the parts together.
    pub fn new(parts: GatewayParts) -> Self {
        let GatewayParts {
            config,
            mut mounts,
            resolver,
            logs,
            platform,
            metrics,
            ready,
        } = parts;
        mounts.platform = mounts.platform.fallback(not_found);
        mounts.landing = mounts.landing.fallback(not_found);
        let access_log = Arc::new(AccessLog::new(logs, platform));
        Self(Arc::new(Inner {
            config,
            mounts,
            resolver,
            access_log,
            metrics,
            ready,
        }))
    }

    pub(crate) fn config(&self) -> &GatewayConfig {
        &self.0.config
    }

    /// Serves one request. Never fails: every failure becomes a response.
    pub async fn handle<B>(&self, request: Request<B>, peer: Peer) -> Response<TrackedBody>
    where
        B: hyper::body::Body<Data = Bytes> + Send + Unpin + 'static,
        B::Error: Into<BoxError>,
    {
        let inner = &*self.0;
        // Boxed: it is passed by value through several layers, and a copy each time costs.
        let request = Box::new(request);
        let origin = Origin::read(&inner.config, &peer, request.uri(), request.headers());
        let id = request_id::assign(request.headers(), origin.is_trusted);
        let mut access = AccessRecord::begin(&inner.access_log, &request, &origin, id.clone());
        let uri = request.uri().clone();
        let accepted = AcceptedEncodings::from_request(request.method(), request.headers());

        let mut context = RequestContext {
            inner,
            origin,
            id: id.clone(),
            uri,
            access: &mut access,
        };
        let response = async {
            let response = context.route(request).await;
            let response = response.unwrap_or_else(IntoResponse::into_response);
            if inner.config.compression {
                accepted.compress(response).await
            } else {
                response
            }
        };
        let mut response = match panics::catch(response).await {
            Ok(response) => response,
            Err(panic) => {
                access.log_failure("request handler panicked", panics::message(&*panic));
                EdgeError::Panicked(id.clone()).into_response()
            }
        };
        if let Some(value) = request_id::header_value(&id) {
            response.headers_mut().insert(request_id::HEADER, value);
        }
        access.begin_response(response.status());
        response.map(|body| TrackedBody::new(body, access))
    }
}

impl Inner {
    /// What a request is for.
    pub(crate) fn locate<'a>(&self, host: &str, path: &'a str) -> Destination<'a> {
        let locator = ProjectLocator {
            domain: self.config.domain.as_deref(),
            custom_domain: &|host| self.resolver.custom_domain(host),
            is_service: &|path| self.mounts.is_default_project_path(path),
        };
        if self.mounts.has_one_service {
            locator.locate_by_host(host, path)
        } else {
            locator.locate(host, path)
        }
    }
}

async fn not_found(method: Method, OriginalUri(uri): OriginalUri) -> EdgeError {
    EdgeError::NotFound {
        method,
        path: uri.path().to_owned(),
    }
}
