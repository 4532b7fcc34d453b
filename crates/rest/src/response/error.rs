//! Errors as responses (rest contract §7.1).

use axum::body::Body;
use http::{
    HeaderName, HeaderValue, Response,
    header::{CONTENT_LENGTH, CONTENT_TYPE},
};
use hyper::ext::ReasonPhrase;

use crate::{RestConfig, RestError};

/// Renders an error. Server errors are logged here.
pub(crate) fn error_response(
    error: &RestError,
    config: Option<&RestConfig>,
    is_head: bool,
) -> Response<Body> {
    let rendered = error.render();
    if rendered.status.is_server_error() {
        tracing::warn!(code = rendered.code, "request failed: {}", rendered.message);
    }
    let is_verbose = config.is_none_or(|config| config.errors_are_verbose);
    let body = rendered.body(is_verbose);
    let mut response = Response::new(Body::empty());
    *response.status_mut() = rendered.status;
    let headers = response.headers_mut();
    headers.insert(
        CONTENT_TYPE,
        HeaderValue::from_static("application/json; charset=utf-8"),
    );
    if let Ok(status) = HeaderValue::from_str(&format!("PostgREST; error={}", rendered.code)) {
        headers.insert(HeaderName::from_static("proxy-status"), status);
    }
    for (name, value) in rendered.headers {
        headers.append(name, value);
    }
    if let Some(reason) = rendered.reason
        && let Ok(reason) = ReasonPhrase::try_from(reason.into_bytes())
    {
        response.extensions_mut().insert(reason);
    }
    if !is_head {
        response
            .headers_mut()
            .insert(CONTENT_LENGTH, HeaderValue::from(body.len()));
        *response.body_mut() = Body::from(body);
    }
    response
}
