//! The log records of a function (functions contract §12).

use std::sync::Arc;

use plinth_log::{Level, LogStore, Record, Source};
use plinth_project::Project;
use serde_json::Value;
use uuid::Uuid;

use crate::{
    catalog::Function,
    log_rate::{LogPermission, LogRateLimit},
};

/// A longer message is cut.
pub(crate) const MAX_MESSAGE_CHARS: usize = 10_000;

/// The log of one version of a function.
pub(crate) struct FunctionLog {
    logs: LogStore,
    project: String,
    function: String,
    deployment_id: String,
    version: i32,
    region: String,
    /// Whether records go to the server's own log as well: the function is being developed.
    is_shown: bool,
    rate_limit: Arc<LogRateLimit>,
}

impl FunctionLog {
    pub(crate) fn new(project: &Project, function: &Function, region: &str) -> Self {
        let id = function
            .id()
            .map_or_else(|| function.slug.clone(), |id| id.to_string());
        Self {
            logs: project.logs.clone(),
            project: project.reference().to_string(),
            function: function.slug.clone(),
            deployment_id: format!("{}_{id}_{}", project.reference(), function.version()),
            version: function.version(),
            region: region.to_owned(),
            is_shown: function.is_in_folder(),
            rate_limit: function.log_rate.clone(),
        }
    }

    /// A message that the function printed.
    pub(crate) fn print(
        &self,
        execution_id: &str,
        level: &str,
        text: &str,
        request_id: Option<&str>,
    ) {
        match self.rate_limit.count_message() {
            LogPermission::Granted => {}
            LogPermission::JustExceeded => {
                let notice = "Log rate limit exceeded: dropping messages of this function";
                self.event("Log", Level::Warn, notice, execution_id, &[]);
                return;
            }
            LogPermission::Exceeded => return,
        }
        let (level, name) = match level {
            "debug" => (Level::Debug, "Debug"),
            "warning" => (Level::Warn, "Warning"),
            "error" => (Level::Error, "Error"),
            _ => (Level::Info, "Info"),
        };
        let text: String = text.chars().take(MAX_MESSAGE_CHARS).collect();
        if self.is_shown {
            let function = &self.function;
            match level {
                Level::Error => tracing::error!("[{function}] {text}"),
                Level::Warn => tracing::warn!("[{function}] {text}"),
                _ => tracing::info!("[{function}] {text}"),
            }
        }
        let mut record = self
            .record("Log", level, &text, execution_id)
            .field("msg", text.as_str())
            .field("level", name);
        if let Some(request_id) = request_id {
            record = record.request_id(request_id);
        }
        self.logs.write(record);
    }

    /// A boot that failed. One that had no process yet gets an execution id of its own.
    pub(crate) fn boot_failed(&self, cause: &str, execution_id: Option<&str>) {
        let message = format!("The function failed to start: {cause}");
        let details = [("msg", cause.into())];
        let own = Uuid::new_v4().to_string();
        let execution_id = execution_id.unwrap_or(&own);
        self.event(
            "BootFailure",
            Level::Error,
            &message,
            execution_id,
            &details,
        );
    }

    /// An event in the life of a worker.
    pub(crate) fn event(
        &self,
        kind: &'static str,
        level: Level,
        message: &str,
        execution_id: &str,
        details: &[(&'static str, Value)],
    ) {
        let record = self.record(kind, level, message, execution_id);
        let record = details.iter().fold(record, |record, (name, value)| {
            record.field(*name, value.clone())
        });
        if self.is_shown && level >= Level::Warn {
            tracing::warn!("[{}] {message}", self.function);
        }
        self.logs.write(record);
    }

    fn record(
        &self,
        kind: &'static str,
        level: Level,
        message: &str,
        execution_id: &str,
    ) -> Record {
        Record::new(Source::Functions, level, message)
            .project(self.project.as_str())
            .field("event_type", kind)
            .field("function", self.function.as_str())
            .field("deployment_id", self.deployment_id.as_str())
            .field("version", self.version)
            .field("region", self.region.as_str())
            .field("execution_id", execution_id)
    }
}
