//! 120 requests a minute per token and project (console contract F22). The control socket is exempt,
//! and so are calls of services, which have limits of their own.

use std::{
    net::IpAddr,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use axum::{
    extract::Request,
    http::{HeaderName, HeaderValue, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use moka::sync::Cache;
use percent_encoding::percent_decode_str;
use plinth_project::ClientAddress;

use super::{ControlSocket, proxy::is_proxied};
use crate::PlatformError;

const LIMIT: u32 = 120;
const WINDOW: Duration = Duration::from_secs(60);

/// Windows kept at once; the least recently used are evicted.
const MAX_WINDOWS: u64 = 10_000;

/// Request counters by key. One value per router.
#[derive(Clone)]
pub(super) struct RateLimit(Cache<String, Arc<Mutex<Count>>>);

struct Count {
    since: Instant,
    used: u32,
}

/// State of a window after a request.
struct WindowState {
    remaining: u32,
    reset_seconds: u64,
    is_exceeded: bool,
}

impl RateLimit {
    pub(super) fn new() -> Self {
        Self(
            Cache::builder()
                .max_capacity(MAX_WINDOWS)
                .time_to_idle(WINDOW)
                .build(),
        )
    }

    fn count(&self, key: String, now: Instant) -> WindowState {
        let count = self.0.get_with(key, || {
            Arc::new(Mutex::new(Count {
                since: now,
                used: 0,
            }))
        });
        let mut count = count.lock().unwrap_or_else(PoisonError::into_inner);
        if now.duration_since(count.since) >= WINDOW {
            *count = Count {
                since: now,
                used: 0,
            };
        }
        count.used = count.used.saturating_add(1);
        let rest = WINDOW.saturating_sub(now.duration_since(count.since));
        WindowState {
            remaining: LIMIT.saturating_sub(count.used),
            reset_seconds: rest.as_secs().max(1),
            is_exceeded: count.used > LIMIT,
        }
    }
}

/// Middleware around all routes.
pub(super) async fn limit(limit: RateLimit, request: Request, next: Next) -> Response {
    let is_exempt =
        request.extensions().get::<ControlSocket>().is_some() || is_proxied(request.uri().path());
    if is_exempt {
        return next.run(request).await;
    }
    let window = limit.count(key(&request), Instant::now());
    let mut response = if window.is_exceeded {
        PlatformError::RateLimited(LIMIT).into_response()
    } else {
        next.run(request).await
    };
    let headers = response.headers_mut();
    let reset = HeaderValue::from(window.reset_seconds);
    headers.insert(
        HeaderName::from_static("x-ratelimit-limit"),
        HeaderValue::from(LIMIT),
    );
    headers.insert(
        HeaderName::from_static("x-ratelimit-remaining"),
        HeaderValue::from(window.remaining),
    );
    headers.insert(HeaderName::from_static("x-ratelimit-reset"), reset.clone());
    if window.is_exceeded {
        headers.insert(header::RETRY_AFTER, reset);
    }
    response
}

/// A client with IPv6 has a whole network of addresses.
fn network(ip: IpAddr) -> String {
    match ip {
        IpAddr::V4(ip) => ip.to_string(),
        IpAddr::V6(ip) => {
            let [a, b, c, d, ..] = ip.segments();
            format!("{a:x}:{b:x}:{c:x}:{d:x}::/64")
        }
    }
}

/// Token and project; requests without a token are counted by client address.
fn key(request: &Request) -> String {
    // Calls that need no operator ignore the header, so that another one would be another window.
    let path = request.uri().path();
    let is_open = path.contains("/platform/setup") || path.contains("/platform/invitations/");
    let token = request.headers().get(header::AUTHORIZATION);
    let who = match token.filter(|_| !is_open) {
        Some(token) => {
            let text = String::from_utf8_lossy(token.as_bytes());
            let token = text.split_whitespace().next_back().unwrap_or_default();
            plinth_token::credential_hash(token)
        }
        None => request
            .extensions()
            .get::<ClientAddress>()
            .map_or_else(String::new, |address| network(address.ip)),
    };
    let mut segments = request
        .uri()
        .path()
        .split('/')
        .skip_while(|part| !matches!(*part, "projects" | "pg"));
    let project = percent_decode_str(segments.nth(1).unwrap_or_default());
    format!("{who} {}", project.decode_utf8_lossy())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_spelling_is_the_same_caller() {
        let key = |bearer: &str, path: &str| {
            let request = Request::builder().uri(path);
            let request = request.header("authorization", bearer);
            key(&request.body(axum::body::Body::empty()).expect("a request"))
        };
        let usual = key("Bearer sbp_1", "/v1/projects/abc/functions");
        for (bearer, path) in [
            ("bearer  sbp_1 ", "/v1/projects/abc"),
            ("BEARER \tsbp_1", "/v1/projects/%61bc/secrets"),
        ] {
            assert_eq!(key(bearer, path), usual);
        }
        assert_ne!(key("Bearer sbp_2", "/v1/projects/abc"), usual);
        assert_ne!(key("Bearer sbp_1", "/v1/projects/abd"), usual);
    }

    #[test]
    fn what_needs_no_operator_is_counted_by_address() {
        let key = |bearer: &str, path: &str, ip: &str| {
            let request = Request::builder().uri(path).header("authorization", bearer);
            let mut request = request.body(axum::body::Body::empty()).expect("a request");
            let ip = ip.parse().expect("an address");
            request.extensions_mut().insert(ClientAddress {
                ip,
                peer: ip,
                is_forwarded: false,
            });
            super::key(&request)
        };
        for path in ["/platform/setup", "/platform/invitations/accept"] {
            let usual = key("Bearer x", path, "2001:db8::1");
            assert_eq!(key("Bearer y", path, "2001:db8::2"), usual);
            assert_ne!(key("Bearer x", path, "2001:db8:0:1::1"), usual);
            assert_ne!(key("Bearer x", path, "192.0.2.7"), usual);
        }
    }

    #[test]
    fn the_window_starts_anew_after_a_minute() {
        let limit = RateLimit::new();
        let start = Instant::now();

        for _ in 0..LIMIT {
            assert!(!limit.count("a".to_owned(), start).is_exceeded);
        }
        assert!(limit.count("a".to_owned(), start).is_exceeded);
        assert!(
            !limit.count("b".to_owned(), start).is_exceeded,
            "other keys are counted separately"
        );
        assert!(!limit.count("a".to_owned(), start + WINDOW).is_exceeded);
    }
}
