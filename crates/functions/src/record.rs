//! What is written down about a function (functions contract §12).

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use plinth_log::{Level, LogStore, Record, Source};
use plinth_project::Project;
use serde_json::Value;
use uuid::Uuid;

use crate::catalog::Function;

/// Longest message that is kept.
pub(crate) const LONGEST_MESSAGE: usize = 10_000;

/// What a function may print in a while.
const MOST_MESSAGES: u32 = 100;
const WINDOW: Duration = Duration::from_secs(10);

/// Where everything about one version of a function is written.
pub(crate) struct Journal {
    logs: LogStore,
    project: String,
    function: String,
    deployment_id: String,
    version: i32,
    region: String,
    /// Whether whoever started Plinth reads along.
    is_shown: bool,
    printed: Arc<Printed>,
}

/// How much a function has printed lately, all of its workers together.
#[derive(Debug)]
pub(crate) struct Printed(Mutex<Count>);

#[derive(Debug)]
struct Count {
    since: Instant,
    messages: u32,
}

impl Default for Printed {
    fn default() -> Self {
        Self(Mutex::new(Count::new()))
    }
}

impl Count {
    fn new() -> Self {
        Self {
            since: Instant::now(),
            messages: 0,
        }
    }
}

impl Journal {
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
            printed: function.printed.clone(),
        }
    }

    /// What the function printed.
    pub(crate) fn print(
        &self,
        execution_id: &str,
        level: &str,
        text: &str,
        request_id: Option<&str>,
    ) {
        match self.printed.may_print() {
            Allowed::Yes => {}
            Allowed::Last => {
                let notice = "The function prints too much: messages are left out for a while";
                self.event("Log", Level::Warn, notice, execution_id, &[]);
                return;
            }
            Allowed::No => return,
        }
        let (level, name) = match level {
            "debug" => (Level::Debug, "Debug"),
            "warning" => (Level::Warn, "Warning"),
            "error" => (Level::Error, "Error"),
            _ => (Level::Info, "Info"),
        };
        let text: String = text.chars().take(LONGEST_MESSAGE).collect();
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

    /// A start that came to nothing. One that had no process yet is an execution all the same.
    pub(crate) fn boot_failed(&self, told: &str, execution_id: Option<&str>) {
        let message = format!("The function did not start: {told}");
        let details = [("msg", told.into())];
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

    /// Something that happened to a worker.
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

impl Printed {
    fn may_print(&self) -> Allowed {
        let mut count = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if count.since.elapsed() > WINDOW {
            *count = Count::new();
        }
        count.messages = count.messages.saturating_add(1);
        match count.messages {
            count if count <= MOST_MESSAGES => Allowed::Yes,
            count if count == MOST_MESSAGES + 1 => Allowed::Last,
            _ => Allowed::No,
        }
    }
}

enum Allowed {
    Yes,
    /// From now on nothing, which is worth a word.
    Last,
    No,
}
