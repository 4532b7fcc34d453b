//! Builds a response.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use axum::body::Body;
use bytes::Bytes;
use http::{
    HeaderMap, HeaderName, HeaderValue, Response, StatusCode,
    header::{CONTENT_LENGTH, CONTENT_TYPE, VARY, WARNING},
};
use http_body::Frame;

use crate::request::{ApiRequest, media_type::MediaType};

/// The release of PostgREST whose wire behaviour this is.
pub(crate) const POSTGREST_VERSION: &str = "16.2";

const CONTENT_PROFILE: HeaderName = HeaderName::from_static("content-profile");

pub(crate) struct ResponseBuilder {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    body: Bytes,
}

impl ResponseBuilder {
    pub(super) fn new(status: StatusCode) -> Self {
        Self {
            status,
            headers: HeaderMap::with_capacity(8),
            body: Bytes::new(),
        }
    }

    /// Sets a header. A value that is not valid in a header, which clients and the database can
    /// cause, is left out.
    pub(super) fn header(&mut self, name: HeaderName, value: impl AsRef<[u8]>) -> &mut Self {
        if let Ok(value) = HeaderValue::from_bytes(value.as_ref()) {
            self.headers.insert(name, value);
        }
        self
    }

    pub(super) fn body(&mut self, body: Bytes) -> &mut Self {
        self.headers
            .insert(CONTENT_LENGTH, HeaderValue::from(body.len()));
        self.body = body;
        self
    }

    /// `Content-Type` and, where the schema was negotiated, `Content-Profile`.
    pub(super) fn content_type(
        &mut self,
        media_type: &MediaType,
        request: &ApiRequest,
    ) -> &mut Self {
        self.header(CONTENT_TYPE, media_type.content_type());
        if request.is_profile_negotiated {
            self.header(CONTENT_PROFILE, &request.schema);
        }
        self
    }

    pub(crate) fn build(mut self) -> Response<Body> {
        if !self.headers.contains_key(VARY) {
            self.headers
                .insert(VARY, HeaderValue::from_static("Accept, Prefer, Range"));
        }
        let body = if self.headers.contains_key(CONTENT_LENGTH) {
            Body::from(self.body)
        } else {
            Body::new(NoBody)
        };
        let mut response = Response::new(body);
        *response.status_mut() = self.status;
        *response.headers_mut() = self.headers;
        response
    }

    /// `Warning`, for relations named by their own name although they have an alias.
    pub(crate) fn warn_deprecated(&mut self, names_and_aliases: &[(&str, &str)]) {
        if names_and_aliases.is_empty() {
            return;
        }
        let updates: Vec<String> = names_and_aliases
            .iter()
            .map(|(name, alias)| format!("`{name}` to `{alias}`"))
            .collect();
        let warning = format!(
            "299 PostgRESTv{POSTGREST_VERSION} \"Embedded resource was referenced by relation name \
             even though it has an alias. This is deprecated and will stop working in a future \
             release. Update {} in query string filters, orders or limits.\"",
            updates.join(", ")
        );
        self.header(WARNING, warning);
    }

    pub(crate) fn server_timing(&mut self, value: &str) {
        self.header(HeaderName::from_static("server-timing"), value);
    }
}

/// An empty body of unknown length: the response to HEAD has no `Content-Length`.
struct NoBody;

impl http_body::Body for NoBody {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        Poll::Ready(None)
    }

    fn is_end_stream(&self) -> bool {
        true
    }
}
