//! How the server feels.

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use axum::{body::Body, response::Response};
use http::{Method, Request, StatusCode};

/// How requests are answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mood {
    /// By the server.
    #[default]
    Good,
    /// With 503, whatever is asked.
    Unavailable,
    /// Never.
    Silent,
    /// By the server, after so long.
    Slow(Duration),
    /// As if it were done, with 204, and nothing is done.
    Pretending,
}

/// Says how requests are answered, and counts them.
#[derive(Debug, Default)]
pub struct Switch {
    rule: Mutex<Rule>,
    requests: AtomicU64,
}

#[derive(Debug, Default)]
struct Rule {
    mood: Mood,
    /// Only requests with this method suffer.
    method: Option<Method>,
    /// Only requests whose path or query has this in it suffer.
    part: Option<String>,
    /// Only requests that remove something suffer.
    only_removals: bool,
    /// How many requests still suffer.
    left: Option<u64>,
}

impl Switch {
    /// All requests from now on.
    pub fn set(&self, mood: Mood) {
        self.change(Rule {
            mood,
            ..Rule::default()
        });
    }

    /// Requests with that method from now on; others are well.
    pub fn set_for(&self, method: Method, mood: Mood) {
        self.change(Rule {
            mood,
            method: Some(method),
            ..Rule::default()
        });
    }

    /// Requests that name something from now on, in their path or query; others are well.
    pub fn set_where(&self, part: &str, mood: Mood) {
        self.change(Rule {
            mood,
            part: Some(part.to_owned()),
            ..Rule::default()
        });
    }

    /// Requests that remove one thing or many from now on; others are well.
    pub fn set_for_removals(&self, mood: Mood) {
        self.change(Rule {
            mood,
            only_removals: true,
            ..Rule::default()
        });
    }

    /// The next so many requests; later ones are well.
    pub fn set_next(&self, count: u64, mood: Mood) {
        self.change(Rule {
            mood,
            left: Some(count),
            ..Rule::default()
        });
    }

    /// The next so many requests with that method; others are well.
    pub fn set_next_for(&self, method: Method, count: u64, mood: Mood) {
        self.change(Rule {
            mood,
            method: Some(method),
            left: Some(count),
            ..Rule::default()
        });
    }

    /// How many requests have come.
    pub fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    fn change(&self, rule: Rule) {
        *self.rule.lock().unwrap_or_else(PoisonError::into_inner) = rule;
    }

    pub(crate) fn mood_for(&self, request: &Request<Body>) -> Mood {
        self.requests.fetch_add(1, Ordering::Relaxed);
        let mut rule = self.rule.lock().unwrap_or_else(PoisonError::into_inner);
        let uri = request.uri().to_string();
        let is_other = rule
            .method
            .as_ref()
            .is_some_and(|method| method != request.method());
        let is_elsewhere = rule.part.as_ref().is_some_and(|part| !uri.contains(part));
        if is_other || is_elsewhere || (rule.only_removals && !is_removal(request)) {
            return Mood::Good;
        }
        match &mut rule.left {
            Some(0) => Mood::Good,
            Some(left) => {
                *left -= 1;
                rule.mood
            }
            None => rule.mood,
        }
    }
}

/// Several at once are posted.
fn is_removal(request: &Request<Body>) -> bool {
    let query = request.uri().query().unwrap_or_default();
    let is_bulk = query
        .split('&')
        .any(|pair| pair.trim_end_matches('=') == "delete");
    request.method() == Method::DELETE || (request.method() == Method::POST && is_bulk)
}

pub(crate) fn unavailable() -> Response {
    let body = "<?xml version=\"1.0\"?><Error><Code>SlowDown</Code>\
                <Message>Please reduce your request rate.</Message></Error>";
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    response
}
