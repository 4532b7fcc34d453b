//! The request extensions that the gateway sets in the full server, as far as standalone auth needs
//! them: client address, credentials, request id. Also writes the access log.

use std::{
    net::{IpAddr, SocketAddr},
    time::{Instant, SystemTime, UNIX_EPOCH},
};

use axum::{
    Extension, Router,
    extract::{ConnectInfo, Request, State},
    middleware::{self, Next},
    response::Response,
};
use http::{HeaderMap, HeaderName, HeaderValue};
use plinth_project::{ClientAddress, Credentials, Project, RequestId};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const MAX_ID_BYTES: usize = 128;

#[derive(Clone)]
struct Edge {
    project: Project,
    trusts_sb_forwarded_for: bool,
}

/// Adds the middleware to the service's routes.
pub(super) fn layered(routes: Router, project: Project, trusts_sb_forwarded_for: bool) -> Router {
    let edge = Edge {
        project: project.clone(),
        trusts_sb_forwarded_for,
    };
    routes
        .layer(Extension(project))
        .layer(middleware::from_fn_with_state(edge, add_context))
}

async fn add_context(
    State(edge): State<Edge>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    mut request: Request,
    next: Next,
) -> Response {
    let began = Instant::now();
    let peer = peer.ip().to_canonical();
    let headers = request.headers();
    let ip = client_ip(headers, peer, edge.trusts_sb_forwarded_for);
    let id = request_id(headers);
    let credentials = Credentials::read(&edge.project, headers, None, unix_time());
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let extensions = request.extensions_mut();
    extensions.insert(ClientAddress {
        ip,
        peer,
        is_forwarded: ip != peer,
    });
    extensions.insert(RequestId(id.as_str().into()));
    extensions.insert(credentials);
    let mut response = next.run(request).await;
    // Without the query, which may contain tokens.
    tracing::info!(
        %method,
        path,
        status = response.status().as_u16(),
        milliseconds = began.elapsed().as_millis() as u64,
        client = %ip,
        request_id = id,
        "request"
    );
    if let Ok(value) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(REQUEST_ID, value);
    }
    response
}

/// As GoTrue does: forwarding headers are always trusted.
fn client_ip(headers: &HeaderMap, peer: IpAddr, trusts_sb_forwarded_for: bool) -> IpAddr {
    let entries = |name: &str| {
        let value = headers.get(name).and_then(|value| value.to_str().ok());
        value.unwrap_or_default().split(',').map(parse_ip)
    };
    let special = if trusts_sb_forwarded_for {
        entries("sb-forwarded-for").next().flatten()
    } else {
        None
    };
    special
        .or_else(|| entries("x-forwarded-for").flatten().next())
        .unwrap_or(peer)
}

fn parse_ip(text: &str) -> Option<IpAddr> {
    text.trim().parse().ok()
}

/// The request's own id, or a new one.
fn request_id(headers: &HeaderMap) -> String {
    let sent = headers.get(REQUEST_ID);
    let sent = sent.and_then(|value| value.to_str().ok());
    let sent = sent.filter(|id| (1..=MAX_ID_BYTES).contains(&id.len()));
    sent.map_or_else(|| uuid::Uuid::new_v4().to_string(), str::to_owned)
}

fn unix_time() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs() as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(pairs: &[(&'static str, &'static str)], trusts_sb: bool) -> String {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.insert(*name, HeaderValue::from_static(value));
        }
        client_ip(&headers, IpAddr::from([10, 0, 0, 1]), trusts_sb).to_string()
    }

    #[test]
    fn the_client_is_the_first_address_that_was_forwarded() {
        let chain = [("x-forwarded-for", "unknown, 192.0.2.1, 192.0.2.2")];
        assert_eq!(found(&chain, false), "192.0.2.1");
        assert_eq!(found(&[], false), "10.0.0.1");
        assert_eq!(found(&[("x-forwarded-for", "nobody")], false), "10.0.0.1");
    }

    #[test]
    fn the_special_header_counts_only_where_it_is_trusted() {
        let both = [
            ("x-forwarded-for", "192.0.2.1"),
            ("sb-forwarded-for", "2001:db8::1, 192.0.2.9"),
        ];
        assert_eq!(found(&both, false), "192.0.2.1");
        assert_eq!(found(&both, true), "2001:db8::1");
        let odd = [("x-forwarded-for", "192.0.2.1"), ("sb-forwarded-for", "x")];
        assert_eq!(found(&odd, true), "192.0.2.1");
    }
}
