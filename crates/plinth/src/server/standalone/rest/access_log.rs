//! One line per request on stdout, in Apache's combined format (rest contract §10).

use std::io::Write;

use axum::{
    body::HttpBody,
    extract::{ConnectInfo, Request, State},
    middleware::Next,
    response::Response,
};
use http::{HeaderValue, Method, StatusCode, Uri, Version, header};
use plinth_project::Caller;
use plinth_rest::LogLevel;
use time::OffsetDateTime;
use tokio::sync::watch;

use super::{diagnostics::timestamp, listener::Peer};

/// Middleware: writes the line after the response, if the log level includes its status.
pub(super) async fn write(
    State(level): State<watch::Receiver<LogLevel>>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    request: Request,
    next: Next,
) -> Response {
    let logged = LoggedRequest::new(&request, peer);
    let response = next.run(request).await;
    if level.borrow().logs(response.status()) {
        let line = logged.line(&response, OffsetDateTime::now_utc());
        // A closed pipe is no error.
        _ = std::io::stdout().lock().write_all(line.as_bytes());
    }
    response
}

/// The part of a request that is logged. It is stored for every request, also for those that are not
/// logged, so it only holds values that are cheap to clone.
struct LoggedRequest {
    peer: Peer,
    method: Method,
    uri: Uri,
    version: Version,
    referer: Option<HeaderValue>,
    user_agent: Option<HeaderValue>,
}

impl LoggedRequest {
    fn new(request: &Request, peer: Peer) -> Self {
        Self {
            peer,
            method: request.method().clone(),
            uri: request.uri().clone(),
            version: request.version(),
            referer: request.headers().get(header::REFERER).cloned(),
            user_agent: request.headers().get(header::USER_AGENT).cloned(),
        }
    }

    fn line(&self, response: &Response, now: OffsetDateTime) -> String {
        // Set by the service, unless the request was rejected before authentication.
        let caller = response.extensions().get::<Caller>();
        let role = caller.map_or("-", Caller::role);
        let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        let size = content_length(response, self.method == Method::HEAD).map(|n| n.to_string());
        let target = self
            .uri
            .path_and_query()
            .map_or("/", |target| target.as_str());
        format!(
            "{} - {} [{}] \"{} {} {:?}\" {} {} \"{}\" \"{}\"\n",
            or_dash(self.peer.0.map(|ip| ip.to_string())),
            escaped(role),
            timestamp(now),
            escaped(self.method.as_str()),
            escaped(target),
            self.version,
            response.status().as_u16(),
            or_dash(size),
            text(self.referer.as_ref()),
            text(self.user_agent.as_ref()),
        )
    }
}

/// The present or future `Content-Length`.
fn content_length(response: &Response, is_head: bool) -> Option<u64> {
    let declared = response.headers().get(header::CONTENT_LENGTH);
    if let Some(declared) = declared.and_then(|value| value.to_str().ok()) {
        return declared.parse().ok();
    }
    let has_body = !is_head && response.status() != StatusCode::NO_CONTENT;
    has_body
        .then(|| response.body().size_hint().exact())
        .flatten()
}

fn text(value: Option<&HeaderValue>) -> String {
    let value = value.map_or(&[][..], |value| value.as_bytes());
    escaped(&String::from_utf8_lossy(value))
}

/// Escapes quotes, backslashes and control characters of clients.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '"' | '\\' => escaped.extend(['\\', c]),
            c if c.is_control() => escaped.extend(c.escape_default()),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use time::macros::datetime;

    use super::*;

    fn request(target: &str) -> Request {
        let request = Request::builder()
            .uri(target)
            .header("user-agent", "curl \"8\"");
        request.body(Body::empty()).expect("a request")
    }

    #[test]
    fn a_line_has_role_request_and_status() {
        let peer = Peer(Some([127, 0, 0, 1].into()));
        let logged = LoggedRequest::new(&request("/items?id=eq.1"), peer);
        let mut response = Response::new(Body::from("[]"));
        response
            .extensions_mut()
            .insert(Caller::anonymous("web_anon"));

        let line = logged.line(&response, datetime!(2026-03-05 07:08:09 UTC));

        assert_eq!(
            line,
            "127.0.0.1 - web_anon [05/Mar/2026:07:08:09 +0000] \"GET /items?id=eq.1 HTTP/1.1\" \
             200 2 \"\" \"curl \\\"8\\\"\"\n"
        );
    }

    #[test]
    fn unknown_values_are_a_dash() {
        let logged = LoggedRequest::new(&request("/"), Peer(None));
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::NO_CONTENT;

        let line = logged.line(&response, datetime!(2026-03-05 07:08:09 UTC));

        assert!(line.starts_with("- - - [05/Mar/2026:07:08:09 +0000] \"GET / HTTP/1.1\" 204 - "));
    }
}
