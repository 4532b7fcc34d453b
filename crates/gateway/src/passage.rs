//! The way of one request from its target to its service, and back.
//!
//! Project, credentials and caller are found here and travel as extensions. Nobody is refused for
//! a credential: a bad one is a value too, and the service decides (design §2).

use axum::{
    BoxError, Router,
    body::Body,
    extract::{DefaultBodyLimit, OriginalUri},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use futures_util::FutureExt;
use http::{Request, Uri, header::CONTENT_TYPE, uri::PathAndQuery};
use plinth_project::{
    BodyLimit, Credentials, LocalAddress, NotServed, OpenError, Project, ProjectName, RequestId,
};
use tower::Service;

use crate::{
    access::Access,
    destination::{Addressed, Destination, below},
    error::EdgeError,
    gateway::Inner,
    instance,
    limits::{LimitedBody, head_bytes, within},
    metrics,
    mounts::{Mount, TimeLimit},
    origin::Origin,
    public_url::public_url,
    request_id, sandbox,
};

/// What the way of one request knows about it.
pub(crate) struct Passage<'a> {
    pub(crate) inner: &'a Inner,
    pub(crate) origin: Origin,
    pub(crate) id: RequestId,
    /// The target as it arrived.
    pub(crate) uri: Uri,
    pub(crate) access: &'a mut Access,
}

impl Passage<'_> {
    pub(crate) async fn answer<B>(
        &mut self,
        request: Box<Request<B>>,
    ) -> Result<Response, EdgeError>
    where
        B: hyper::body::Body<Data = Bytes> + Send + Unpin + 'static,
        B::Error: Into<BoxError>,
    {
        let inner = self.inner;
        let limit = inner.config.max_header_bytes;
        if head_bytes(&request) > limit {
            return Err(EdgeError::HeadersTooLarge { limit });
        }
        let uri = self.uri.clone();
        let path = below(uri.path(), inner.config.base_path()).unwrap_or(uri.path());
        if path == "/health" {
            self.access.service = "instance";
            return Ok(instance::health());
        }
        match inner.locate(&self.origin.host, path) {
            Destination::Instance => self.instance(request, path).await,
            Destination::NoProject(name) => Err(EdgeError::ProjectNotFound(name.to_owned())),
            Destination::Project {
                name,
                addressed,
                path,
            } => {
                let method = request.method().clone();
                let nothing = || EdgeError::NotFound {
                    method,
                    path: uri.path().to_owned(),
                };
                let Some((mount, rest)) = inner.mounts.find_or_pages(path) else {
                    return Err(nothing());
                };
                self.access.service = mount.source.as_str();
                let response = self.project(request, &name, addressed, mount, rest).await?;
                match response.extensions().get::<NotServed>() {
                    Some(NotServed) => Err(nothing()),
                    None => Ok(response),
                }
            }
        }
    }

    async fn instance<B>(
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
                    metrics::render(inner.metrics.as_ref(), &inner.sink.logs, &projects)
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
        let request = self.request(*request, path, Addressed::Bare, &limit);
        let call = Box::pin(call(router, request));
        let response = within(Some(inner.config.request_timeout), &limit, call).await;
        Ok(explain_size(response.ok_or(EdgeError::TimedOut)?, &limit))
    }

    async fn project<B>(
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
        let patience = match mount.time_limit {
            TimeLimit::Configured => Some(config.request_timeout),
            TimeLimit::Own(own) => own,
        };
        // Boxed, because a future is copied on its way through the layers around it.
        let work = Box::pin(async {
            let project = self.open(name).await?;
            let mut request = self.request(*request, path, addressed, &limit);
            self.identify(&mut request, project);
            Ok::<_, EdgeError>(call(&mount.router, request).await)
        });
        let response = within(patience, &limit, work)
            .await
            .ok_or(EdgeError::TimedOut)?;
        let mut response = explain_size(response?, &limit);
        if mount.has_foreign_pages {
            sandbox::apply(&mut response);
        }
        Ok(response)
    }

    async fn open(&mut self, name: &ProjectName) -> Result<Project, EdgeError> {
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
                    // An operator must act, so it is said aloud; an absent database is known.
                    OpenError::Broken(..) => tracing::error!(request_id = %self.id, "{error}"),
                    OpenError::Unavailable(_) => {}
                    _ => return Err(EdgeError::from(&error)),
                }
                self.access.error = Some(error.to_string());
                Err(EdgeError::from(&error))
            }
        }
    }

    /// The request as a service sees it: its own path, and what we know as extensions.
    fn request<B>(
        &self,
        request: Request<B>,
        path: &str,
        addressed: Addressed<'_>,
        limit: &BodyLimit,
    ) -> Request<Body>
    where
        B: hyper::body::Body<Data = Bytes> + Send + Unpin + 'static,
        B::Error: Into<BoxError>,
    {
        let public_url = public_url(&self.inner.config, &self.origin, addressed);
        let (mut parts, body) = request.into_parts();
        parts.uri = with_path(&self.uri, path);
        self.origin.rewrite(&mut parts.headers);
        if let Some(value) = request_id::header_value(&self.id) {
            parts.headers.insert(request_id::HEADER, value);
        }
        parts.extensions.insert(OriginalUri(self.uri.clone()));
        parts.extensions.insert(self.id.clone());
        parts.extensions.insert(self.origin.client);
        parts.extensions.insert(LocalAddress(self.origin.local));
        parts.extensions.insert(public_url);
        parts.extensions.insert(limit.clone());
        let body = match body.is_end_stream() {
            true => Body::empty(),
            false => Body::new(LimitedBody::new(body, limit.clone())),
        };
        let mut request = Request::from_parts(parts, body);
        DefaultBodyLimit::disable().apply(&mut request);
        request
    }

    /// Adds the project and whoever calls.
    fn identify(&mut self, request: &mut Request<Body>, project: Project) {
        let key = request.uri().query().and_then(query_key);
        let now = time::OffsetDateTime::now_utc().unix_timestamp();
        let credentials = Credentials::read(&project, request.headers(), key.as_deref(), now);
        let caller = credentials.caller();
        self.access.caller = caller.as_ref().ok().cloned();
        let extensions = request.extensions_mut();
        extensions.insert(project);
        extensions.insert(credentials);
        extensions.insert(caller);
    }
}

// Not `async`: that would hold the request twice.
fn call(router: &Router, request: Request<Body>) -> impl Future<Output = Response> + use<> {
    // A router is always ready and never fails.
    router.clone().call(request).map(|answered| match answered {
        Ok(response) => response,
        Err(impossible) => match impossible {},
    })
}

/// Where a service left the refusal of a large body to axum, which answers in plain text, the
/// edge says it as JSON. A service's own words stay.
fn explain_size(response: Response, limit: &BodyLimit) -> Response {
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

/// The same target with another path; the query stays byte for byte.
fn with_path(uri: &Uri, path: &str) -> Uri {
    if uri.path() == path {
        return uri.clone();
    }
    let target = match uri.query() {
        Some(query) => PathAndQuery::try_from(format!("{path}?{query}")),
        None => PathAndQuery::try_from(path),
    };
    let mut parts = uri.clone().into_parts();
    // A part of a valid target that begins with a slash is a valid target itself.
    parts.path_and_query = target.ok();
    Uri::from_parts(parts).unwrap_or_else(|_| uri.clone())
}

/// The parameter `apikey`, which browsers use where they cannot send headers.
fn query_key(query: &str) -> Option<std::borrow::Cow<'_, str>> {
    // Most queries have none; looking for the word is cheaper than decoding.
    if !query.contains("apikey") {
        return None;
    }
    let mut pairs = url::form_urlencoded::parse(query.as_bytes());
    pairs
        .find(|(name, _)| name == "apikey")
        .map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_changes_and_the_query_stays() {
        let check = |uri: &'static str, path, expected: &str| {
            assert_eq!(
                with_path(&Uri::from_static(uri), path).to_string(),
                expected
            );
        };
        check("/auth/v1/user?a=%2F&b", "/user", "/user?a=%2F&b");
        check("/auth/v1", "/", "/");
        check(
            "/storage/v1/object//a%20b",
            "/object//a%20b",
            "/object//a%20b",
        );
        check("http://a.example/auth/v1/x", "/x", "http://a.example/x");
    }

    #[test]
    fn the_key_is_found_in_the_query() {
        assert_eq!(
            query_key("vsn=1.0.0&apikey=sb_a%2Bb&x").as_deref(),
            Some("sb_a+b")
        );
        assert_eq!(query_key("my_apikey=x"), None);
        assert_eq!(query_key("select=*"), None);
    }
}
