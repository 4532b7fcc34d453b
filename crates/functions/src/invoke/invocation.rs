//! The log record of one invocation, written when its response is complete (functions contract §12).

use std::{sync::Arc, time::Instant};

use axum::extract::Request;
use http::{Method, StatusCode};
use plinth_log::{Level, LogStore, Record, Source};
use plinth_project::{KeepOpen, Project, RequestId};

use crate::{catalog::Function, error::FunctionError, worker::RequestPermit};

/// An invocation, from the request to the last byte of the response. Dropping it writes the record.
pub(super) struct Invocation {
    logs: LogStore,
    project: String,
    function: Arc<Function>,
    version: i32,
    region: String,
    method: Method,
    path: String,
    request_id: Option<RequestId>,
    began: Instant,
    /// Absent until a worker gets the request.
    execution_id: Option<String>,
    status: Option<StatusCode>,
    error_code: Option<&'static str>,
    /// Keeps the project open during a long response.
    _stay: KeepOpen,
}

impl Invocation {
    pub(super) fn begin(
        project: &Project,
        function: &Arc<Function>,
        region: &str,
        request: &Request,
    ) -> Self {
        function.metrics.request_began();
        Self {
            logs: project.logs.clone(),
            project: project.reference().to_string(),
            function: function.clone(),
            version: function.version(),
            region: region.to_owned(),
            method: request.method().clone(),
            path: request.uri().path().to_owned(),
            request_id: request.extensions().get::<RequestId>().cloned(),
            began: Instant::now(),
            execution_id: None,
            status: None,
            error_code: None,
            _stay: project.keep_open(),
        }
    }

    /// A worker gets the request. Its version counts: while a new one boots, the old one serves.
    pub(super) fn assign(&mut self, permit: &RequestPermit) {
        let worker = permit.worker();
        self.version = worker.function.version();
        self.execution_id = Some(worker.id.clone());
    }

    pub(super) fn respond(&mut self, status: StatusCode, error_code: Option<&'static str>) {
        self.status = Some(status);
        self.error_code = error_code;
    }

    pub(super) fn fail(&mut self, error: &FunctionError) {
        self.respond(error.status(), Some(error.code().as_str()));
    }

    pub(super) fn region(&self) -> &str {
        &self.region
    }

    pub(super) fn request_id(&self) -> Option<&str> {
        self.request_id.as_ref().map(|id| &*id.0)
    }
}

impl Drop for Invocation {
    fn drop(&mut self) {
        // The client disconnected before there was a response; nginx made this status common.
        let status = self.status.map_or(499, |status| status.as_u16());
        let level = match status {
            500.. => Level::Error,
            400.. => Level::Warn,
            _ => Level::Info,
        };
        let milliseconds = self.began.elapsed().as_micros() as f64 / 1000.0;
        let (method, path) = (self.method.as_str(), &self.path);
        let message = format!("{method} {path} {status}");
        let mut record = Record::new(Source::Functions, level, message)
            .project(std::mem::take(&mut self.project))
            .field("event_type", "Invocation")
            .field("function", self.function.slug.as_str())
            .field("version", self.version)
            .field("region", self.region.as_str())
            .field("method", method)
            .field("path", path.as_str())
            .field("status", status)
            .field("duration_ms", milliseconds);
        if let Some(id) = &self.request_id {
            record = record.request_id(&*id.0);
        }
        if let Some(id) = self.execution_id.take() {
            record = record.field("execution_id", id);
        }
        if let Some(code) = self.error_code {
            record = record.field("error_code", code);
        }
        self.logs.write(record);
        self.function.metrics.request_ended(status);
    }
}
