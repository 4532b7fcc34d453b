//! Faults that a test injects between the server and its clients.

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use axum::{body::Body, response::Response};
use http::{Method, Request, StatusCode};

/// What happens to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Fault {
    /// The server responds.
    #[default]
    None,
    /// 503, whatever is asked.
    Unavailable,
    /// It never gets a response.
    Hang,
    /// The server responds after so long.
    Delay(Duration),
    /// 204 as if it were done, and nothing is done.
    FakeSuccess,
}

/// Decides which requests fail and how, and counts all of them.
#[derive(Debug, Default)]
pub struct FaultInjector {
    rule: Mutex<Rule>,
    requests: AtomicU64,
}

#[derive(Debug, Default)]
struct Rule {
    fault: Fault,
    /// Only requests with this method fail.
    method: Option<Method>,
    /// Only requests whose path or query contains this fail.
    uri_part: Option<String>,
    /// Only requests that delete something fail.
    only_deletes: bool,
    /// How many more requests fail.
    remaining: Option<u64>,
}

impl FaultInjector {
    /// All requests fail from now on.
    pub fn inject(&self, fault: Fault) {
        self.replace_rule(Rule {
            fault,
            ..Rule::default()
        });
    }

    /// Requests with that method fail from now on.
    pub fn inject_for_method(&self, method: Method, fault: Fault) {
        self.replace_rule(Rule {
            fault,
            method: Some(method),
            ..Rule::default()
        });
    }

    /// Requests whose path or query contains `uri_part` fail from now on.
    pub fn inject_for_uri(&self, uri_part: &str, fault: Fault) {
        self.replace_rule(Rule {
            fault,
            uri_part: Some(uri_part.to_owned()),
            ..Rule::default()
        });
    }

    /// Requests that delete one object or many fail from now on.
    pub fn inject_for_deletes(&self, fault: Fault) {
        self.replace_rule(Rule {
            fault,
            only_deletes: true,
            ..Rule::default()
        });
    }

    /// The next `count` requests fail.
    pub fn inject_next(&self, count: u64, fault: Fault) {
        self.replace_rule(Rule {
            fault,
            remaining: Some(count),
            ..Rule::default()
        });
    }

    /// The next `count` requests with that method fail.
    pub fn inject_next_for_method(&self, method: Method, count: u64, fault: Fault) {
        self.replace_rule(Rule {
            fault,
            method: Some(method),
            remaining: Some(count),
            ..Rule::default()
        });
    }

    /// How many requests have arrived.
    pub fn request_count(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    fn replace_rule(&self, rule: Rule) {
        *self.rule.lock().unwrap_or_else(PoisonError::into_inner) = rule;
    }

    pub(crate) fn fault_for(&self, request: &Request<Body>) -> Fault {
        self.requests.fetch_add(1, Ordering::Relaxed);
        let mut rule = self.rule.lock().unwrap_or_else(PoisonError::into_inner);
        let uri = request.uri().to_string();
        let is_other_method = rule
            .method
            .as_ref()
            .is_some_and(|method| method != request.method());
        let is_elsewhere = rule
            .uri_part
            .as_ref()
            .is_some_and(|part| !uri.contains(part));
        if is_other_method || is_elsewhere || (rule.only_deletes && !is_delete(request)) {
            return Fault::None;
        }
        match &mut rule.remaining {
            Some(0) => Fault::None,
            Some(remaining) => {
                *remaining -= 1;
                rule.fault
            }
            None => rule.fault,
        }
    }
}

/// Bulk deletion is a `POST`.
fn is_delete(request: &Request<Body>) -> bool {
    let query = request.uri().query().unwrap_or_default();
    let is_bulk = query
        .split('&')
        .any(|pair| pair.trim_end_matches('=') == "delete");
    request.method() == Method::DELETE || (request.method() == Method::POST && is_bulk)
}

pub(crate) fn unavailable_response() -> Response {
    let body = "<?xml version=\"1.0\"?><Error><Code>SlowDown</Code>\
                <Message>Please reduce your request rate.</Message></Error>";
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    response
}
