//! What one request carries through the edge, and the request as a service receives it.
//!
//! Project, credentials and caller travel as extensions.

use axum::{
    BoxError,
    body::Body,
    extract::{DefaultBodyLimit, OriginalUri},
};
use bytes::Bytes;
use http::{Request, Uri, uri::PathAndQuery};
use plinth_project::{BodyLimit, Credentials, LocalAddress, Project, PublicUrl, RequestId};
use url::Url;

use crate::{
    access::AccessRecord,
    api_key::{query_key, without_query_key},
    destination::Addressed,
    error::EdgeError,
    gateway::Inner,
    limits::LimitedBody,
    mounts::Mount,
    origin::Origin,
    public_url::public_url,
    request_id,
    shared_origin::ProjectOrigin,
};

/// State of one request at the edge.
pub(crate) struct RequestContext<'a> {
    pub(crate) inner: &'a Inner,
    pub(crate) origin: Origin,
    pub(crate) id: RequestId,
    /// The request target as it arrived.
    pub(crate) uri: Uri,
    pub(crate) access: &'a mut AccessRecord,
}

impl RequestContext<'_> {
    /// The URL under which browsers reach what the request is for.
    pub(crate) fn public_url(&self, addressed: Addressed<'_>) -> PublicUrl {
        public_url(&self.inner.config, &self.origin, addressed)
    }

    /// The project as browsers see it, once it is open.
    pub(crate) fn project_origin<'a>(
        &'a self,
        addressed: Addressed<'a>,
        project: &'a Project,
        public_url: &'a PublicUrl,
    ) -> ProjectOrigin<'a> {
        ProjectOrigin {
            addressed,
            kind: project.kind(),
            reference: project.reference(),
            public_url,
            host: &self.origin.host,
            domain: self.inner.config.domain.as_deref(),
            instance_host: self
                .inner
                .config
                .public_url
                .as_ref()
                .and_then(Url::host_str),
        }
    }

    /// The request as a service receives it: the path below its prefix, corrected forwarding
    /// headers, and what the edge found out as extensions.
    pub(crate) fn service_request<B>(
        &self,
        request: Request<B>,
        path: &str,
        public_url: PublicUrl,
        limit: &BodyLimit,
    ) -> Request<Body>
    where
        B: hyper::body::Body<Data = Bytes> + Send + Unpin + 'static,
        B::Error: Into<BoxError>,
    {
        let (mut parts, body) = request.into_parts();
        parts.uri = with_path(&self.uri, path);
        if let Some(sent) = self.origin.rewrite_headers(&mut parts.headers) {
            parts.extensions.insert(sent);
        }
        if let Some(value) = request_id::header_value(&self.id) {
            parts.headers.insert(request_id::HEADER, value);
        }
        parts.extensions.insert(OriginalUri(self.uri.clone()));
        parts.extensions.insert(self.id.clone());
        parts.extensions.insert(self.origin.client);
        parts.extensions.insert(LocalAddress(self.origin.local));
        parts.extensions.insert(public_url);
        parts.extensions.insert(limit.clone());
        let body = if body.is_end_stream() {
            Body::empty()
        } else {
            Body::new(LimitedBody::new(body, limit.clone()))
        };
        let mut request = Request::from_parts(parts, body);
        DefaultBodyLimit::disable().apply(&mut request);
        request
    }

    /// Adds project, credentials and caller as extensions. Fails where the service needs an API key
    /// and the request has none that is valid.
    pub(crate) fn insert_caller(
        &mut self,
        request: &mut Request<Body>,
        project: Project,
        mount: &Mount,
    ) -> Result<(), EdgeError> {
        let key = request.uri().query().and_then(query_key);
        let now = time::OffsetDateTime::now_utc().unix_timestamp();
        let credentials = Credentials::read(&project, request.headers(), key.as_deref(), now);
        let is_in_query = key.is_some() && !request.headers().contains_key("apikey");
        let caller = credentials.caller();
        self.access.caller = caller.as_ref().ok().cloned();
        let extensions = request.extensions_mut();
        extensions.insert(project);
        extensions.insert(credentials);
        extensions.insert(caller);
        let Some(rule) = &mount.key_rule else {
            return Ok(());
        };
        rule.check(request)?;
        if is_in_query && mount.has_filters_in_query {
            *request.uri_mut() = without_query_key(request.uri());
        }
        Ok(())
    }
}

/// The same target with another path; the query stays byte for byte.
fn with_path(uri: &Uri, path: &str) -> Uri {
    if uri.path() == path {
        return uri.clone();
    }
    let target = match uri.query() {
        Some(query) => PathAndQuery::try_from([path, query].join("?")),
        None => PathAndQuery::try_from(path),
    };
    let mut parts = uri.clone().into_parts();
    // The rest of a valid target is valid if it begins with a slash.
    parts.path_and_query = target.ok();
    Uri::from_parts(parts).unwrap_or_else(|_| uri.clone())
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
}
