//! Every node hears of changes: of projects and keys by triggers on their tables, of functions and
//! secrets from whoever changed them. The latter names its node, which knew before and would
//! otherwise replace its workers twice.

use plinth_project::{ProjectName, ProjectRef};
use tokio_postgres::GenericClient;
use uuid::Uuid;

use crate::{Platform, PlatformError};

/// What is said on the channel of announcements.
#[derive(Debug, PartialEq, Eq)]
enum Announcement {
    /// How a project is served.
    Project(ProjectRef),
    /// Its functions or secrets, by another node or this one.
    Functions { project: ProjectRef, node: Uuid },
}

impl Announcement {
    fn parse(text: &str) -> Option<Self> {
        let Some(rest) = text.strip_prefix("functions ") else {
            return text.parse().ok().map(Self::Project);
        };
        let (project, node) = rest.split_once(' ')?;
        Some(Self::Functions {
            project: project.parse().ok()?,
            node: node.parse().ok()?,
        })
    }
}

impl Platform {
    /// Takes over what was said on the channel of announcements.
    pub async fn hear(&self, announcement: &str) {
        match Announcement::parse(announcement) {
            Some(Announcement::Project(project)) => {
                self.registry().refresh(&project).await;
                self.recheck_functions(&project).await;
            }
            Some(Announcement::Functions { project, node }) if node != self.0.node => {
                self.tell_runner(&project).await;
            }
            Some(Announcement::Functions { .. }) => {}
            None => tracing::debug!("an announcement was not understood: {announcement}"),
        }
    }

    /// Takes over whatever may have been said while nobody listened.
    pub async fn hear_again(&self) {
        self.registry().refresh_all().await;
        for project in self.registry().open_projects() {
            self.tell_runner(project.reference()).await;
        }
    }

    /// Says with a change, in its transaction, that functions or secrets are others now.
    pub(crate) async fn announce_functions(
        &self,
        client: &impl GenericClient,
        project: &ProjectRef,
    ) -> Result<(), PlatformError> {
        let (_, channel) = self.announcements();
        let text = format!("functions {project} {}", self.0.node);
        client
            .execute("select pg_notify($1, $2)", &[&channel, &text])
            .await?;
        Ok(())
    }

    /// What runs here is replaced, without waiting to hear of it.
    pub(crate) async fn tell_runner(&self, project: &ProjectRef) {
        if let Some(runner) = self.function_runner() {
            runner.changed(project).await;
        }
    }

    /// Functions know keys of their project; those of a project that is gone have to go as well.
    async fn recheck_functions(&self, project: &ProjectRef) {
        let Some(runner) = self.function_runner() else {
            return;
        };
        let name = ProjectName::Ref(project.clone());
        match self.load_project(&name).await {
            Err(PlatformError::NotFound(_)) => {
                if let Err(error) = runner.forget(project).await {
                    tracing::warn!(%project, "something of its functions is left: {error}");
                }
            }
            Ok(_) | Err(_) => runner.changed(project).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn announcements_are_told_apart() {
        let project = ProjectRef::generate();
        let node = Uuid::new_v4();

        let parse = Announcement::parse;

        let plain = Announcement::Project(project.clone());
        assert_eq!(parse(project.as_str()), Some(plain));
        let functions = format!("functions {project} {node}");
        assert_eq!(
            parse(&functions),
            Some(Announcement::Functions { project, node })
        );
        for nonsense in ["", "functions", "functions x y", "something new"] {
            assert_eq!(parse(nonsense), None, "{nonsense}");
        }
    }
}
