//! The edge as a value: its parts, and the frame around every request.
//!
//! The frame gives the request its name, catches panics, compresses the answer and keeps the
//! record; what happens inside is [`crate::passage`].

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
    access::{Access, Sink},
    compression::Accepted,
    destination::{Destination, Names},
    error::EdgeError,
    origin::Origin,
    panics,
    passage::Passage,
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
    /// Where the records of requests go.
    pub logs: LogStore,
    /// Project zero, whose log takes the records that concern no project.
    pub platform: ProjectRef,
    /// The recorder behind `/metrics`, when one is installed.
    pub metrics: Option<Metrics>,
    /// What `/ready` asks.
    pub ready: ReadyCheck,
}

/// The HTTP edge. Cheap to clone; serve it with [`crate::serve`].
#[derive(Clone)]
pub struct Gateway(Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) config: GatewayConfig,
    pub(crate) mounts: Mounts,
    pub(crate) resolver: Arc<dyn Resolve>,
    pub(crate) sink: Arc<Sink>,
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
        let sink = Arc::new(Sink::new(logs, platform));
        Self(Arc::new(Inner {
            config,
            mounts,
            resolver,
            sink,
            metrics,
            ready,
        }))
    }

    pub(crate) fn config(&self) -> &GatewayConfig {
        &self.0.config
    }

    /// Answers one request. Never fails: every failure is an answer.
    pub async fn handle<B>(&self, request: Request<B>, peer: Peer) -> Response<TrackedBody>
    where
        B: hyper::body::Body<Data = Bytes> + Send + Unpin + 'static,
        B::Error: Into<BoxError>,
    {
        let inner = &*self.0;
        // Everything here is copied whenever it is handed on, and it is handed on often.
        let request = Box::new(request);
        let origin = Origin::read(&inner.config, &peer, request.uri(), request.headers());
        let id = request_id::name(request.headers(), origin.is_trusted);
        let mut access = Access::begin(&inner.sink, &request, &origin, id.clone());
        let uri = request.uri().clone();
        let accepted = Accepted::read(request.method(), request.headers());

        let mut passage = Passage {
            inner,
            origin,
            id: id.clone(),
            uri,
            access: &mut access,
        };
        let answer = async {
            let response = passage.answer(request).await;
            let response = response.unwrap_or_else(IntoResponse::into_response);
            if inner.config.compression {
                accepted.apply(response).await
            } else {
                response
            }
        };
        let mut response = match panics::caught(answer).await {
            Ok(response) => response,
            Err(panic) => {
                access.fault("a request's handler panicked", panics::describe(&*panic));
                EdgeError::Panicked(id.clone()).into_response()
            }
        };
        if let Some(value) = request_id::header_value(&id) {
            response.headers_mut().insert(request_id::HEADER, value);
        }
        access.answer(response.status());
        response.map(|body| TrackedBody::new(body, access))
    }
}

impl Inner {
    /// Where a request goes.
    pub(crate) fn locate<'a>(&self, host: &str, path: &'a str) -> Destination<'a> {
        let names = Names {
            domain: self.config.domain.as_deref(),
            custom_domain: &|host| self.resolver.custom_domain(host),
            is_service: &|path| self.mounts.is_of_project(path),
        };
        names.locate(host, path)
    }
}

async fn not_found(method: Method, OriginalUri(uri): OriginalUri) -> EdgeError {
    EdgeError::NotFound {
        method,
        path: uri.path().to_owned(),
    }
}
