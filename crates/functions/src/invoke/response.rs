//! The response of a function, with what the platform adds to it (functions contract §5).

use std::time::Instant;

use axum::{body::Body, response::Response};
use http::{
    HeaderMap, HeaderName, HeaderValue, StatusCode,
    header::{ACCESS_CONTROL_EXPOSE_HEADERS, CONNECTION, UPGRADE},
};
use hyper::{body::Incoming, upgrade::OnUpgrade};

use super::{body::ResponseBody, headers::remove_hop_by_hop, invocation::Invocation, websocket};
use crate::{
    config::Limits,
    error::{ERROR_CODE, ErrorCode, FunctionError},
    service::FunctionsService,
    worker::{Connection, RequestPermit},
};

const SERVED_BY: HeaderName = HeaderName::from_static("x-served-by");
const REGION: HeaderName = HeaderName::from_static("x-sb-edge-region");
const EXECUTION: HeaderName = HeaderName::from_static("x-deno-execution-id");
const REQUEST_ID: HeaderName = HeaderName::from_static("sb-request-id");

/// A request that a worker has responded to.
pub(super) struct Exchanged {
    pub(super) response: http::Response<Incoming>,
    pub(super) connection: Connection,
    pub(super) permit: RequestPermit,
    /// The client's connection, if it asked for a websocket.
    pub(super) client: Option<OnUpgrade>,
    pub(super) invocation: Option<Invocation>,
}

impl Exchanged {
    /// The response for the client, which lasts until its limits.
    pub(super) fn into_response(
        mut self,
        service: &FunctionsService,
        limits: &Limits,
        began: Instant,
    ) -> Result<Response, FunctionError> {
        let status = self.response.status();
        if status == StatusCode::SWITCHING_PROTOCOLS {
            return Ok(self.switch_protocols(service, began + limits.wall_clock));
        }
        if !(200..600).contains(&status.as_u16()) {
            let error = FunctionError::InvalidStatus;
            if let Some(invocation) = &mut self.invocation {
                invocation.fail(&error);
            }
            return Err(error);
        }
        Ok(self.stream(limits, began))
    }

    fn switch_protocols(self, service: &FunctionsService, deadline: Instant) -> Response {
        let Self {
            mut response,
            connection,
            permit,
            client,
            mut invocation,
        } = self;
        let worker = hyper::upgrade::on(&mut response);
        service.tasks().spawn(connection.run_until_closed());
        let mut switched = Response::new(Body::empty());
        *switched.status_mut() = response.status();
        // The headers of the handshake are between client and function.
        let headers = switched.headers_mut();
        *headers = response.headers().clone();
        if let Some(invocation) = &mut invocation {
            invocation.respond(response.status(), None);
            add_platform_headers(headers, &permit, invocation);
        }
        headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
        if let Some(client) = client {
            websocket::connect(service, client, worker, permit, invocation, deadline);
        }
        switched
    }

    fn stream(self, limits: &Limits, began: Instant) -> Response {
        let mut invocation = self.invocation;
        let (mut parts, body) = self.response.into_parts();
        remove_hop_by_hop(&mut parts.headers);
        parts.headers.remove(UPGRADE);
        let is_failed = parts.status.is_server_error();
        let code = is_failed.then(|| ErrorCode::FunctionFailed.as_str());
        if let Some(code) = code {
            mark_error(&mut parts.headers, code);
        }
        if let Some(invocation) = &mut invocation {
            invocation.respond(parts.status, code);
            add_platform_headers(&mut parts.headers, &self.permit, invocation);
        }
        parts.extensions = http::Extensions::new();
        let (connection, permit) = (self.connection, self.permit);
        let body = ResponseBody::new(body, connection, permit, invocation, limits, began);
        Response::from_parts(parts, Body::new(body))
    }
}

fn add_platform_headers(headers: &mut HeaderMap, permit: &RequestPermit, invocation: &Invocation) {
    let mut set = |name, value: &str| {
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(name, value);
        }
    };
    set(SERVED_BY, "supabase-edge-runtime");
    set(REGION, invocation.region());
    set(EXECUTION, &permit.worker().id);
    if let Some(id) = invocation.request_id() {
        set(REQUEST_ID, id);
    }
}

/// Adds the code, and exposes it to scripts beside the headers that the function exposes.
fn mark_error(headers: &mut HeaderMap, code: &'static str) {
    headers.insert(ERROR_CODE, HeaderValue::from_static(code));
    let exposed = headers
        .get(ACCESS_CONTROL_EXPOSE_HEADERS)
        .and_then(|value| value.to_str().ok());
    let exposed = match exposed.map(str::trim).filter(|names| !names.is_empty()) {
        Some(names) if names == "*" || mentions(names) => return,
        Some(names) => HeaderValue::try_from(format!("{names}, {ERROR_CODE}")),
        None => Ok(HeaderValue::from_static("sb-error-code")),
    };
    if let Ok(exposed) = exposed {
        headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, exposed);
    }
}

fn mentions(names: &str) -> bool {
    names
        .split(',')
        .any(|name| name.trim().eq_ignore_ascii_case(ERROR_CODE.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_code_is_exposed_beside_what_the_function_exposes() {
        let check = |before: Option<&'static str>, after: &str| {
            let mut headers = HeaderMap::new();
            if let Some(before) = before {
                headers.insert(
                    ACCESS_CONTROL_EXPOSE_HEADERS,
                    HeaderValue::from_static(before),
                );
            }
            mark_error(&mut headers, "EDGE_FUNCTION_ERROR");
            assert_eq!(headers[ACCESS_CONTROL_EXPOSE_HEADERS], after);
            assert_eq!(headers[ERROR_CODE], "EDGE_FUNCTION_ERROR");
        };
        check(None, "sb-error-code");
        check(Some("x-a"), "x-a, sb-error-code");
        check(Some("x-a, SB-Error-Code"), "x-a, SB-Error-Code");
        check(Some("*"), "*");
    }
}
