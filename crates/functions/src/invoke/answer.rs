//! The answer of a function, with what the platform adds to it (functions contract §5).

use std::time::Instant;

use axum::{body::Body, response::Response};
use http::{
    HeaderMap, HeaderName, HeaderValue, StatusCode,
    header::{ACCESS_CONTROL_EXPOSE_HEADERS, CONNECTION, UPGRADE},
};
use hyper::{body::Incoming, upgrade::OnUpgrade};

use super::{body::AnswerBody, invocation::Invocation, message::drop_hops, tunnel};
use crate::{
    config::Limits,
    error::{ERROR_CODE, FunctionError},
    service::FunctionsService,
    worker::{Line, Seat},
};

const SERVED_BY: HeaderName = HeaderName::from_static("x-served-by");
const REGION: HeaderName = HeaderName::from_static("x-sb-edge-region");
const EXECUTION: HeaderName = HeaderName::from_static("x-deno-execution-id");
const REQUEST_ID: HeaderName = HeaderName::from_static("sb-request-id");

/// A request that a worker answered.
pub(super) struct Exchanged {
    pub(super) response: http::Response<Incoming>,
    pub(super) line: Line,
    pub(super) seat: Seat,
    /// The client's connection, if it asked for another protocol.
    pub(super) client: Option<OnUpgrade>,
    pub(super) invocation: Option<Invocation>,
}

impl Exchanged {
    pub(super) fn answer(
        self,
        service: &FunctionsService,
        limits: &Limits,
        began: Instant,
    ) -> Result<Response, FunctionError> {
        let Self {
            mut response,
            line,
            seat,
            client,
            mut invocation,
        } = self;
        let status = response.status();
        let is_switch = status == StatusCode::SWITCHING_PROTOCOLS;
        if !(is_switch || (200..600).contains(&status.as_u16())) {
            let error = FunctionError::InvalidStatus;
            if let Some(invocation) = &mut invocation {
                invocation.fail(&error);
            }
            return Err(error);
        }
        if is_switch {
            let worker = hyper::upgrade::on(&mut response);
            service.tasks().spawn(line.go_on());
            let until = began + limits.wall_clock;
            let mut answer = Response::new(Body::empty());
            *answer.status_mut() = status;
            // The words of the handshake are the client's own business.
            *answer.headers_mut() = response.headers().clone();
            if let Some(invocation) = &mut invocation {
                invocation.answered(status, None);
                decorate(answer.headers_mut(), &seat, invocation);
            }
            answer
                .headers_mut()
                .insert(CONNECTION, HeaderValue::from_static("upgrade"));
            if let Some(client) = client {
                tunnel::connect(service, client, worker, seat, invocation, until);
            }
            return Ok(answer);
        }
        let (mut parts, body) = response.into_parts();
        drop_hops(&mut parts.headers);
        parts.headers.remove(UPGRADE);
        let code = status.is_server_error().then_some("EDGE_FUNCTION_ERROR");
        if let Some(code) = code {
            mark_error(&mut parts.headers, code);
        }
        if let Some(invocation) = &mut invocation {
            invocation.answered(status, code);
            decorate(&mut parts.headers, &seat, invocation);
        }
        parts.extensions = http::Extensions::new();
        let body = AnswerBody::new(body, line, seat, invocation, limits, began);
        Ok(Response::from_parts(parts, Body::new(body)))
    }
}

fn decorate(headers: &mut HeaderMap, seat: &Seat, invocation: &Invocation) {
    let mut set = |name, value: &str| {
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(name, value);
        }
    };
    set(SERVED_BY, "supabase-edge-runtime");
    set(REGION, invocation.region());
    set(EXECUTION, &seat.worker().id);
    if let Some(id) = invocation.request_id() {
        set(REQUEST_ID, id);
    }
}

/// Scripts may read the code, beside whatever the function lets them read.
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
    fn scripts_may_read_the_code_beside_what_they_may_read_anyway() {
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
