//! Notifications between nodes (`NOTIFY plinth_platform`): changes of projects and keys are sent by
//! triggers on their tables, changes of functions and secrets by the code that makes them. The latter
//! contain the sender's node id, because that node has already reloaded.

use plinth_project::{ProjectName, ProjectRef};
use tokio_postgres::GenericClient;
use uuid::Uuid;

use crate::{Platform, PlatformError};

/// Payload of a notification.
#[derive(Debug, PartialEq, Eq)]
enum ChangeNotification {
    /// Status, settings or keys of a project changed.
    Project(ProjectRef),
    /// Its functions or secrets changed; `node` did it.
    Functions { project: ProjectRef, node: Uuid },
    /// An event was published.
    Event,
    /// Progress of a job, as `events` wrote it.
    Progress(String),
    /// A job was cancelled.
    Job(Uuid),
}

impl ChangeNotification {
    fn parse(text: &str) -> Option<Self> {
        let Some((kind, rest)) = text.split_once(' ') else {
            return text.parse().ok().map(Self::Project);
        };
        match kind {
            "functions" => {}
            "event" => return Some(Self::Event),
            "progress" => return Some(Self::Progress(rest.to_owned())),
            "job" => return rest.parse().ok().map(Self::Job),
            _ => return None,
        }
        let (project, node) = rest.split_once(' ')?;
        Some(Self::Functions {
            project: project.parse().ok()?,
            node: node.parse().ok()?,
        })
    }
}

impl Platform {
    /// Applies a notification: refreshes the project and reloads its functions.
    pub async fn apply_notification(&self, payload: &str) {
        match ChangeNotification::parse(payload) {
            Some(ChangeNotification::Project(project)) => {
                self.registry().refresh(&project).await;
                self.reload_or_remove_functions(&project).await;
            }
            Some(ChangeNotification::Functions { project, node }) if node != self.0.node => {
                self.reload_functions(&project).await;
            }
            Some(ChangeNotification::Functions { .. }) => {}
            Some(ChangeNotification::Event) => self.deliver_events().await,
            Some(ChangeNotification::Progress(payload)) => self.deliver_progress(&payload),
            Some(ChangeNotification::Job(id)) => self.interrupt_job(id),
            None => tracing::debug!("unknown notification payload: {payload}"),
        }
    }

    /// Refreshes everything, because notifications may have been missed while disconnected.
    pub async fn refresh_all(&self) {
        self.deliver_events().await;
        self.registry().refresh_all().await;
        for project in self.registry().open_projects() {
            self.reload_functions(project.reference()).await;
        }
    }

    /// Notifies all nodes, with the commit of the transaction, that functions or secrets changed.
    pub(crate) async fn notify_functions_changed(
        &self,
        client: &impl GenericClient,
        project: &ProjectRef,
    ) -> Result<(), PlatformError> {
        let (_, channel) = self.notification_channel();
        let text = format!("functions {project} {}", self.0.node);
        client
            .execute("select pg_notify($1, $2)", &[&channel, &text])
            .await?;
        Ok(())
    }

    /// Replaces the project's workers on this node, without waiting for the notification.
    pub(crate) async fn reload_functions(&self, project: &ProjectRef) {
        if let Some(runner) = self.function_runner() {
            runner.reload(project).await;
        }
    }

    /// Workers have keys of their project in their environment, so they are replaced after a change;
    /// functions of a deleted project are removed.
    async fn reload_or_remove_functions(&self, project: &ProjectRef) {
        let Some(runner) = self.function_runner() else {
            return;
        };
        let name = ProjectName::Ref(project.clone());
        match self.load_project(&name).await {
            Err(PlatformError::NotFound(_)) => {
                let (runner, project) = (runner.clone(), project.clone());
                // It waits for processes to end, and other notifications must not wait with it.
                self.0.tasks.spawn(async move {
                    if let Err(error) = runner.remove_project(&project).await {
                        tracing::warn!(
                            %project,
                            "removing functions of a deleted project failed: {error}"
                        );
                    }
                });
            }
            Ok(_) | Err(_) => runner.reload(project).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payloads_are_parsed() {
        let project = ProjectRef::generate();
        let node = Uuid::new_v4();

        let parse = ChangeNotification::parse;

        let plain = ChangeNotification::Project(project.clone());
        assert_eq!(parse(project.as_str()), Some(plain));
        let functions = format!("functions {project} {node}");
        assert_eq!(
            parse(&functions),
            Some(ChangeNotification::Functions { project, node })
        );
        for nonsense in ["", "functions", "functions x y", "something new"] {
            assert_eq!(parse(nonsense), None, "{nonsense}");
        }
    }
}
