//! Answered requests: how many of which kind, and how long they took.

use std::{
    collections::HashMap,
    sync::{PoisonError, RwLock},
    time::Duration,
};

use http::{Method, StatusCode};
use metrics::{Counter, Histogram, counter, histogram};
use plinth_project::ProjectRef;

use super::{DURATION, REQUESTS};

/// The numbers of each kind of request. They are looked up once: to find them by their labels takes
/// longer than to count.
#[derive(Default)]
pub(crate) struct Requests(RwLock<HashMap<Kind, Numbers>>);

/// What tells requests apart. All of it comes from small sets, so that clients cannot invent labels.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Kind {
    service: &'static str,
    method: &'static str,
    status_class: &'static str,
    /// One that exists.
    project: Option<ProjectRef>,
}

struct Numbers {
    count: Counter,
    duration: Histogram,
}

impl Requests {
    /// One answered request. `project` is one that exists.
    pub(crate) fn count(
        &self,
        service: &'static str,
        method: &Method,
        status: StatusCode,
        project: Option<&ProjectRef>,
        duration: Duration,
    ) {
        let kind = Kind {
            service,
            method: method_label(method),
            status_class: class_label(status),
            project: project.cloned(),
        };
        {
            let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
            if let Some(numbers) = known.get(&kind) {
                return numbers.add(duration);
            }
        }
        let numbers = kind.numbers();
        numbers.add(duration);
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        known.insert(kind, numbers);
    }
}

impl Numbers {
    fn add(&self, duration: Duration) {
        self.count.increment(1);
        self.duration.record(duration);
    }
}

impl Kind {
    fn numbers(&self) -> Numbers {
        let project = self.project.as_ref();
        let project = project.map_or_else(|| "none".to_owned(), ToString::to_string);
        Numbers {
            count: counter!(
                REQUESTS,
                "service" => self.service,
                "method" => self.method,
                "status_class" => self.status_class,
                "project" => project,
            ),
            duration: histogram!(DURATION, "service" => self.service),
        }
    }
}

/// Anybody may send any method; only those that mean something become labels.
fn method_label(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        _ => "OTHER",
    }
}

fn class_label(status: StatusCode) -> &'static str {
    match status.as_u16() {
        100..200 => "1xx",
        200..300 => "2xx",
        300..400 => "3xx",
        400..500 => "4xx",
        _ => "5xx",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_come_from_a_small_set() {
        let made_up = Method::from_bytes(b"BREW").expect("a method");
        assert_eq!(method_label(&made_up), "OTHER");
        assert_eq!(method_label(&Method::PATCH), "PATCH");
        assert_eq!(class_label(StatusCode::SWITCHING_PROTOCOLS), "1xx");
        assert_eq!(class_label(StatusCode::NOT_FOUND), "4xx");
        assert_eq!(class_label(StatusCode::GATEWAY_TIMEOUT), "5xx");
    }

    #[test]
    fn requests_of_one_kind_share_their_numbers() {
        let requests = Requests::default();
        let project = ProjectRef::generate();
        let shop = Some(&project);

        for (method, status, project) in [
            (Method::GET, StatusCode::OK, shop),
            (Method::GET, StatusCode::CREATED, shop),
            (Method::GET, StatusCode::OK, None),
            (Method::POST, StatusCode::OK, shop),
        ] {
            requests.count("rest", &method, status, project, Duration::from_millis(1));
        }

        assert_eq!(requests.0.read().expect("no panic").len(), 3);
    }
}
