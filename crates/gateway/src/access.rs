//! The access log: one record per request, written when the response is sent or the client is gone.

use std::{
    mem,
    net::IpAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use ::metrics::Gauge;
use http::{
    HeaderName, HeaderValue, Method, Request, StatusCode, Uri, header::USER_AGENT,
    uri::PathAndQuery,
};
use plinth_log::{AccessEntry, Level, LogStore, Record, Source, Timestamp};
use plinth_project::{Caller, ProjectRef, RequestId};

use crate::{
    metrics::{self, RequestMetrics},
    origin::Origin,
};

/// The client disconnected before the response began. Not a standard status; nginx logs the same.
const CLIENT_CLOSED_REQUEST: u16 = 499;

/// Where access records and request metrics go.
pub(crate) struct AccessLog {
    pub(crate) logs: LogStore,
    /// Project zero: requests to no project are recorded there.
    pub(crate) platform: ProjectRef,
    in_flight: Gauge,
    requests: RequestMetrics,
}

impl AccessLog {
    pub(crate) fn new(logs: LogStore, platform: ProjectRef) -> Self {
        Self {
            logs,
            platform,
            in_flight: metrics::in_flight(),
            requests: RequestMetrics::default(),
        }
    }
}

/// A request from its arrival to the last byte of its response. Its drop writes the record, so that
/// no code path can omit it.
pub(crate) struct AccessRecord {
    access_log: Arc<AccessLog>,
    id: RequestId,
    started: Instant,
    method: Method,
    uri: Uri,
    host: String,
    client: IpAddr,
    user_agent: Option<HeaderValue>,
    /// The service that handles it.
    pub(crate) service: &'static str,
    /// The project, once it is known to exist.
    pub(crate) project: Option<ProjectRef>,
    /// The caller, once verified.
    pub(crate) caller: Option<Caller>,
    /// Why it failed, for the record only.
    pub(crate) error: Option<String>,
    /// Status and time to the response's head.
    response: Option<(StatusCode, Duration)>,
    /// Bytes of the response body that were sent.
    pub(crate) bytes: u64,
}

impl AccessRecord {
    /// Boxed, because it is moved along with the request and then with the response.
    pub(crate) fn begin<B>(
        access_log: &Arc<AccessLog>,
        request: &Request<B>,
        origin: &Origin,
        id: RequestId,
    ) -> Box<Self> {
        access_log.in_flight.increment(1.0);
        Box::new(Self {
            access_log: Arc::clone(access_log),
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
            response: None,
            bytes: 0,
        })
    }

    /// The response begins.
    pub(crate) fn begin_response(&mut self, status: StatusCode) {
        self.response = Some((status, self.started.elapsed()));
    }

    /// Logs an internal error with its cause, as a record of its own.
    pub(crate) fn log_failure(&self, message: &str, cause: &str) {
        tracing::error!(
            request_id = %self.id,
            service = self.service,
            project = %self.project_ref(),
            "{message}: {cause}"
        );
        let record = Record::new(Source::Api, Level::Error, format!("{message}: {cause}"));
        self.access_log.logs.write(
            record
                .project(self.project_ref().as_str())
                .request_id(&*self.id.0)
                .field("service", self.service),
        );
    }

    /// Logs that headers were removed from the response, because they would have acted on other
    /// projects of the host. Their values may be secrets.
    pub(crate) fn log_removed_headers(&self, names: &[HeaderName]) {
        if names.is_empty() {
            return;
        }
        let names: Vec<&str> = names.iter().map(HeaderName::as_str).collect();
        let names = names.join(", ");
        let message = format!(
            "response headers removed, because they act on other projects of this host: {names}"
        );
        tracing::debug!(request_id = %self.id, project = %self.project_ref(), "{message}");
        let record = Record::new(Source::Api, Level::Warn, message);
        self.access_log.logs.write(
            record
                .project(self.project_ref().as_str())
                .request_id(&*self.id.0)
                .field("service", self.service)
                .field("headers", names),
        );
    }

    fn project_ref(&self) -> &ProjectRef {
        self.project.as_ref().unwrap_or(&self.access_log.platform)
    }

    /// Takes what the log needs out of the record, which is dropped afterwards.
    fn take_entry(&mut self, status: StatusCode, duration: Duration) -> AccessEntry {
        let user_id = self.caller.as_ref().and_then(Caller::token);
        let user_id = user_id.and_then(|token| token.sub()).map(str::to_owned);
        let path = self.uri.path_and_query().map_or("", PathAndQuery::as_str);
        let agent = self.user_agent.as_ref();
        AccessEntry {
            time: Timestamp::now(),
            project: self.project_ref().shared(),
            request_id: Arc::clone(&self.id.0),
            method: self.method.clone(),
            path: path.into(),
            status: status.as_u16(),
            duration,
            bytes: self.bytes,
            service: self.service,
            client: self.client,
            host: mem::take(&mut self.host),
            user_agent: agent.map(|agent| agent.as_bytes().into()),
            error: self.error.take(),
            role: self.caller.as_ref().map(Caller::shared_role),
            user_id,
        }
    }
}

impl Drop for AccessRecord {
    fn drop(&mut self) {
        self.access_log.in_flight.decrement(1.0);
        let duration = self.started.elapsed();
        let (status, time_to_head) = self.response.unwrap_or_else(|| {
            (
                StatusCode::from_u16(CLIENT_CLOSED_REQUEST).unwrap_or_default(),
                duration,
            )
        });
        self.access_log.requests.count(
            self.service,
            &self.method,
            status,
            self.project.as_ref(),
            time_to_head,
        );
        // The log store redacts secrets in it, for `tail` as well.
        let entry = self.take_entry(status, duration);
        self.access_log.logs.write_access(Box::new(entry));
    }
}
