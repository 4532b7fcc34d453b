//! One record per request, written when its answer has been sent or the client has gone.

use std::{
    net::IpAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use ::metrics::Gauge;
use http::{HeaderValue, Method, Request, StatusCode, Uri, header::USER_AGENT};
use plinth_log::{Level, LogStore, Record, Source};
use plinth_project::{Caller, ProjectRef, RequestId};

use crate::{
    metrics::{self, Requests},
    origin::Origin,
};

/// The client went away before there was an answer. No standard has a number for that; this is
/// the one that nginx made common.
const CLIENT_CLOSED_REQUEST: u16 = 499;

/// Where records and counts go.
pub(crate) struct Sink {
    pub(crate) logs: LogStore,
    /// Project zero: what concerns no project is recorded there.
    pub(crate) platform: ProjectRef,
    in_flight: Gauge,
    requests: Requests,
}

impl Sink {
    pub(crate) fn new(logs: LogStore, platform: ProjectRef) -> Self {
        Self {
            logs,
            platform,
            in_flight: metrics::in_flight(),
            requests: Requests::default(),
        }
    }
}

/// A request from its arrival to the last byte of its answer. Dropping it writes the record, so
/// that no way out of the edge can forget to.
pub(crate) struct Access {
    sink: Arc<Sink>,
    id: RequestId,
    started: Instant,
    method: Method,
    uri: Uri,
    host: String,
    client: IpAddr,
    user_agent: Option<HeaderValue>,
    /// The part that answers.
    pub(crate) service: &'static str,
    /// The project, once it is known to exist.
    pub(crate) project: Option<ProjectRef>,
    /// Whoever sent the request, once known.
    pub(crate) caller: Option<Caller>,
    /// Why it could not be served, for the record only.
    pub(crate) error: Option<String>,
    answered: Option<(StatusCode, Duration)>,
    /// Bytes of the answer's body that were sent.
    pub(crate) bytes: u64,
}

impl Access {
    /// Boxed, because it goes along with the request and then with the answer.
    pub(crate) fn begin<B>(
        sink: &Arc<Sink>,
        request: &Request<B>,
        origin: &Origin,
        id: RequestId,
    ) -> Box<Self> {
        sink.in_flight.increment(1.0);
        Box::new(Self {
            sink: Arc::clone(sink),
            id,
            started: Instant::now(),
            method: request.method().clone(),
            uri: request.uri().clone(),
            host: origin.authority.clone(),
            client: origin.client.ip,
            user_agent: request.headers().get(USER_AGENT).cloned(),
            service: "edge",
            project: None,
            caller: None,
            error: None,
            answered: None,
            bytes: 0,
        })
    }

    /// The answer begins.
    pub(crate) fn answer(&mut self, status: StatusCode) {
        self.answered = Some((status, self.started.elapsed()));
    }

    /// Something went wrong on our side: a record of its own, with the cause.
    pub(crate) fn fault(&self, message: &str, cause: &str) {
        tracing::error!(
            request_id = %self.id,
            service = self.service,
            project = %self.project_ref(),
            "{message}: {cause}"
        );
        let record = Record::new(Source::Api, Level::Error, format!("{message}: {cause}"));
        self.sink.logs.write(
            record
                .project(self.project_ref().as_str())
                .request_id(&*self.id.0)
                .field("service", self.service),
        );
    }

    fn project_ref(&self) -> &ProjectRef {
        self.project.as_ref().unwrap_or(&self.sink.platform)
    }

    fn record(&self, status: StatusCode, path: &str, duration: Duration) -> Record {
        let method = self.method.as_str();
        let milliseconds = duration.as_micros() as f64 / 1000.0;
        let status = status.as_u16();
        let level = match status {
            500.. => Level::Error,
            400.. => Level::Warn,
            _ => Level::Info,
        };
        let mut record = Record::new(Source::Api, level, format!("{method} {path} {status}"))
            .project(self.project_ref().as_str())
            .request_id(&*self.id.0)
            .field("method", method)
            .field("path", path)
            .field("status", status)
            .field("duration_ms", milliseconds)
            .field("bytes", self.bytes)
            .field("service", self.service)
            .field("client", self.client.to_string())
            .field("host", self.host.as_str());
        if let Some(agent) = &self.user_agent {
            record = record.field("user_agent", String::from_utf8_lossy(agent.as_bytes()));
        }
        if let Some(error) = &self.error {
            record = record.field("error", error.as_str());
        }
        if let Some(caller) = &self.caller {
            record = record.field("role", caller.role());
            if let Some(user) = caller.token().and_then(|token| token.sub()) {
                record = record.field("user.id", user);
            }
        }
        record
    }
}

impl Drop for Access {
    fn drop(&mut self) {
        self.sink.in_flight.decrement(1.0);
        let duration = self.started.elapsed();
        let (status, until_answer) = self.answered.unwrap_or_else(|| {
            (
                StatusCode::from_u16(CLIENT_CLOSED_REQUEST).unwrap_or_default(),
                duration,
            )
        });
        self.sink.requests.count(
            self.service,
            &self.method,
            status,
            self.project.as_ref(),
            until_answer,
        );
        let target = self
            .uri
            .path_and_query()
            .map_or("", |target| target.as_str());
        // The store masks what is secret in it, also for those who read along.
        self.sink.logs.write(self.record(status, target, duration));
    }
}
