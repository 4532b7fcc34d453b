//! Finds the router for a request and calls it under the request's limits.
//!
//! Where a service needs an API key ([`Mount::requires_api_key`]), requests without a valid one are
//! rejected here. Every other decision about a credential is the service's, which receives it as a
//! value (design §2).

use axum::{
    BoxError, Router,
    body::Body,
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use futures_util::FutureExt;
use http::{
    Request, Version,
    header::{CONTENT_TYPE, HOST},
};
use plinth_project::{BodyLimit, OpenError, PathNotFound, Project, ProjectName};
use tower::Service;

use crate::{
    destination::{Addressed, Destination, strip_path_prefix},
    error::EdgeError,
    instance,
    limits::{head_bytes, with_timeout},
    metrics,
    mounts::{Mount, ResponseTimeout},
    request_context::RequestContext,
    sandbox,
};

impl RequestContext<'_> {
    /// Serves the request. Never panics by itself; a handler may.
    pub(crate) async fn route<B>(&mut self, request: Box<Request<B>>) -> Result<Response, EdgeError>
    where
        B: hyper::body::Body<Data = Bytes> + Send + Unpin + 'static,
        B::Error: Into<BoxError>,
    {
        let inner = self.inner;
        let limit = inner.config.max_header_bytes;
        if head_bytes(&request) > limit {
            return Err(EdgeError::HeadersTooLarge { limit });
        }
        if !has_valid_host_count(&request) {
            return Err(EdgeError::InvalidHost);
        }
        let uri = self.uri.clone();
        let has_one_service = inner.mounts.has_one_service;
        let below_base = strip_path_prefix(uri.path(), inner.config.base_path());
        let path = below_base
            .filter(|_| !has_one_service)
            .unwrap_or(uri.path());
        if path == "/health" && !has_one_service {
            self.access.service = "instance";
            return Ok(instance::health());
        }
        match inner.locate(&self.origin.host, path) {
            Destination::Instance => self.serve_instance(request, path).await,
            Destination::NoProject(name) => Err(EdgeError::ProjectNotFound(name.to_owned())),
            Destination::Project {
                name,
                addressed,
                path,
            } => {
                let method = request.method().clone();
                let not_found = || EdgeError::NotFound {
                    method,
                    path: uri.path().to_owned(),
                };
                let Some((mount, rest)) = inner.mounts.find_or_pages(path) else {
                    return Err(not_found());
                };
                self.access.service = mount.source.as_str();
                let response = self
                    .serve_project(request, &name, addressed, mount, rest)
                    .await?;
                match response.extensions().get::<PathNotFound>() {
                    Some(PathNotFound) => Err(not_found()),
                    None => Ok(response),
                }
            }
        }
    }

    /// A path that belongs to no project.
    async fn serve_instance<B>(
        &mut self,
        request: Box<Request<B>>,
        path: &str,
    ) -> Result<Response, EdgeError>
    where
        B: hyper::body::Body<Data = Bytes> + Send + Unpin + 'static,
        B::Error: Into<BoxError>,
    {
        let inner = self.inner;
        self.access.service = "instance";
        match path {
            "/ready" => return Ok(instance::ready(&inner.ready).await),
            "/metrics" => {
                let render = || {
                    let projects = inner.resolver.open_projects();
                    metrics::render(inner.metrics.as_ref(), &inner.access_log.logs, &projects)
                };
                return Ok(instance::metrics(&inner.config, request.headers(), render));
            }
            _ => {}
        }
        let router = match path {
            "/" => &inner.mounts.landing,
            _ => &inner.mounts.platform,
        };
        self.access.service = "platform";
        let limit = BodyLimit::new(inner.config.max_body_bytes);
        let public_url = self.public_url(Addressed::Bare);
        let request = self.service_request(*request, path, public_url, &limit);
        let work = Box::pin(call_router(router, request));
        let response = with_timeout(Some(inner.config.request_timeout), &limit, work).await;
        Ok(render_body_too_large(
            response.ok_or(EdgeError::TimedOut)?,
            &limit,
        ))
    }

    /// A path of a project: opens it, then calls the mounted service.
    async fn serve_project<B>(
        &mut self,
        request: Box<Request<B>>,
        name: &ProjectName,
        addressed: Addressed<'_>,
        mount: &Mount,
        path: &str,
    ) -> Result<Response, EdgeError>
    where
        B: hyper::body::Body<Data = Bytes> + Send + Unpin + 'static,
        B::Error: Into<BoxError>,
    {
        let config = &self.inner.config;
        let limit = BodyLimit::new(config.max_body_bytes);
        let timeout = match mount.timeout {
            ResponseTimeout::Configured => Some(config.request_timeout),
            ResponseTimeout::Own(own) => own,
        };
        // Boxed: an unboxed future would be moved through every wrapper around it.
        let work = Box::pin(async {
            let project = self.open_project(name).await?;
            let public_url = self.public_url(addressed);
            let mut request = self.service_request(*request, path, public_url.clone(), &limit);
            self.project_origin(addressed, &project, &public_url)
                .filter_request(request.headers_mut(), mount.is_pages);
            self.insert_caller(&mut request, project.clone(), mount)?;
            let mut response = call_router(&mount.router, request).await;
            if mount.serves_user_content {
                let origin = self.project_origin(addressed, &project, &public_url);
                let removed = origin.filter_response(response.headers_mut());
                self.access.log_removed_headers(&removed);
            }
            Ok::<_, EdgeError>(response)
        });
        let response = with_timeout(timeout, &limit, work)
            .await
            .ok_or(EdgeError::TimedOut)?;
        let mut response = render_body_too_large(response?, &limit);
        if mount.serves_user_content {
            sandbox::apply(&mut response);
        }
        Ok(response)
    }

    async fn open_project(&mut self, name: &ProjectName) -> Result<Project, EdgeError> {
        match self.inner.resolver.project(name).await {
            Ok(project) => {
                self.access.project = Some(project.reference().clone());
                Ok(project)
            }
            Err(error) => {
                if let OpenError::Paused(reference) | OpenError::NotReady(reference) = &error {
                    self.access.project = Some(reference.clone());
                }
                match &error {
                    // Only an operator can repair it. An unreachable database is logged elsewhere.
                    OpenError::Broken(..) => tracing::error!(request_id = %self.id, "{error}"),
                    OpenError::Unavailable(_) => {}
                    _ => return Err(EdgeError::from(&error)),
                }
                self.access.error = Some(error.to_string());
                Err(EdgeError::from(&error))
            }
        }
    }
}

/// HTTP/1.1 demands exactly one `Host`. Programs in front of and behind each other could choose
/// different ones of two, and so disagree about whose request it is (RFC 9112 §3.2).
fn has_valid_host_count<B>(request: &Request<B>) -> bool {
    let hosts = request.headers().get_all(HOST).iter().count();
    match request.version() {
        Version::HTTP_11 => hosts == 1,
        _ => hosts <= 1,
    }
}

// Not `async`: its future would store the request twice.
pub(crate) fn call_router(
    router: &Router,
    request: Request<Body>,
) -> impl Future<Output = Response> + use<> {
    // A router is always ready and never fails.
    router.clone().call(request).map(|result| match result {
        Ok(response) => response,
        Err(impossible) => match impossible {},
    })
}

/// Replaces axum's plain-text rejection of a too large body by the edge's JSON error. A response
/// that the service rendered itself stays.
fn render_body_too_large(response: Response, limit: &BodyLimit) -> Response {
    if !limit.is_exceeded() || !(response.status().is_client_error()) {
        return response;
    }
    let content_type = response
        .headers()
        .get(CONTENT_TYPE)
        .map(|value| value.as_bytes());
    if content_type.is_some_and(|kind| !kind.starts_with(b"text/plain")) {
        return response;
    }
    EdgeError::BodyTooLarge {
        limit: limit.max_bytes(),
    }
    .into_response()
}
