//! What happens on the platform, for open consoles (console contract F91).
//!
//! An event is a row of `platform.events`, written when the change is done; the latest 1000 are
//! kept. Every node is notified of each row and hands it to its streams. A stream that broke goes on
//! behind the last id that it saw, on any node and after a restart; if that is too long ago, it is
//! told so. Progress of jobs is sent to open streams only.

mod hub;
mod kinds;

use plinth_project::ProjectRef;
use serde_json::{Map, Value, json};
use time::OffsetDateTime;
use tokio_postgres::Row;

use crate::Platform;

pub(crate) use hub::{Hub, Subscription};

/// How many events can be replayed.
const KEPT_EVENTS: usize = 1000;

/// Something that happened.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Event {
    /// Ascending; absent for progress, which cannot be replayed.
    pub(crate) id: Option<i64>,
    pub(crate) at: OffsetDateTime,
    /// Such as `job.started`.
    pub(crate) kind: String,
    pub(crate) project: Option<String>,
    pub(crate) details: Map<String, Value>,
}

impl Event {
    fn from_row(row: &Row) -> Self {
        let details = match row.get("data") {
            Value::Object(details) => details,
            _ => Map::new(),
        };
        Self {
            id: Some(row.get("id")),
            at: row.get("at"),
            kind: row.get("type"),
            project: row.get("project"),
            details,
        }
    }
}

impl Platform {
    /// Publishes an event to all nodes. A failure is logged: the change itself is done.
    pub(crate) async fn publish(&self, kind: &str, project: Option<&str>, details: Value) {
        let sql = "select platform.publish_event($1, $2, $3)";
        let written = async {
            let tables = self.tables().await?;
            Ok::<_, plinth_db::DbError>(tables.query_one(sql, &[&kind, &project, &details]).await?)
        };
        match written.await {
            Ok(_) => self.deliver_events().await,
            Err(error) => tracing::error!(kind, "publishing an event failed: {error}"),
        }
    }

    /// Publishes the events of an action in the audit log.
    pub(crate) async fn publish_action(
        &self,
        actor: &str,
        project: Option<&ProjectRef>,
        action: &str,
        details: &Value,
    ) {
        for kind in kinds::of_action(action, details) {
            let project = project.map(ProjectRef::as_str);
            let details = kinds::details(actor, details);
            self.publish(&kind, project, details).await;
        }
    }

    /// Notifies open streams of the progress of a job.
    pub(crate) async fn notify_progress(&self, project: Option<String>, details: Value) {
        let payload = format!(
            "progress {}",
            json!({ "project": project, "data": details })
        );
        let sql = "select pg_notify('plinth_platform', $1)";
        let sent = async {
            let tables = self.tables().await?;
            Ok::<_, plinth_db::DbError>(tables.query_one(sql, &[&payload]).await?)
        };
        if let Err(error) = sent.await {
            tracing::debug!("notifying of progress failed: {error}");
        }
    }

    /// Hands progress, as another node sent it, to the streams of this one.
    pub(crate) fn deliver_progress(&self, payload: &str) {
        let Ok(mut payload) = serde_json::from_str::<Value>(payload) else {
            return;
        };
        let Value::Object(details) = payload["data"].take() else {
            return;
        };
        self.0.events.send(Event {
            id: None,
            at: OffsetDateTime::now_utc(),
            kind: "job.progress".to_owned(),
            project: payload["project"].as_str().map(str::to_owned),
            details,
        });
    }

    /// Hands new events to the streams of this node. Called after each change of this node and
    /// with each notification of another; an error leaves them to the next call.
    pub(crate) async fn deliver_events(&self) {
        if let Err(error) = self.0.events.catch_up(self).await {
            tracing::warn!("reading events failed: {error}");
        }
    }
}
