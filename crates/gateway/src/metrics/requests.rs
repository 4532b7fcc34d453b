//! Request counter and duration histogram, by labels.

use std::{
    collections::HashMap,
    sync::{PoisonError, RwLock},
    time::Duration,
};

use http::{Method, StatusCode};
use metrics::{Counter, Histogram, counter, histogram};
use plinth_project::ProjectRef;

use super::{DURATION, REQUESTS};

/// The metrics of all requests, cached by labels: looking a series up in the recorder takes longer
/// than incrementing it.
#[derive(Default)]
pub(crate) struct RequestMetrics(RwLock<HashMap<Labels, Series>>);

/// All values come from small sets, so that clients cannot create series.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Labels {
    service: &'static str,
    method: &'static str,
    status_class: &'static str,
    /// An existing project.
    project: Option<ProjectRef>,
}

struct Series {
    count: Counter,
    duration: Histogram,
}

impl RequestMetrics {
    /// Counts a completed request. `project` is one that exists.
    pub(crate) fn count(
        &self,
        service: &'static str,
        method: &Method,
        status: StatusCode,
        project: Option<&ProjectRef>,
        duration: Duration,
    ) {
        let labels = Labels {
            service,
            method: method_label(method),
            status_class: class_label(status),
            project: project.cloned(),
        };
        {
            let cached = self.0.read().unwrap_or_else(PoisonError::into_inner);
            if let Some(series) = cached.get(&labels) {
                return series.add(duration);
            }
        }
        let series = labels.series();
        series.add(duration);
        let mut cached = self.0.write().unwrap_or_else(PoisonError::into_inner);
        cached.insert(labels, series);
    }
}

impl Series {
    fn add(&self, duration: Duration) {
        self.count.increment(1);
        self.duration.record(duration);
    }
}

impl Labels {
    fn series(&self) -> Series {
        let project = self.project.as_ref();
        let project = project.map_or_else(|| "none".to_owned(), ToString::to_string);
        Series {
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

/// Clients may send any method; unknown ones share a label.
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
    fn requests_with_equal_labels_share_a_series() {
        let requests = RequestMetrics::default();
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
