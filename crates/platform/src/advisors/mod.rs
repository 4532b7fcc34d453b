//! The advisors of a project: their findings, those that are ignored, and when each was there
//! (console contract N160). The checks are in `plinth_advisor`.

mod facts;
mod history;
mod ignores;

pub(crate) use history::FindingRow;
pub(crate) use ignores::{Ignore, IgnoreChanges, NewIgnore};

use plinth_advisor::{Category, Limits, Report};
use plinth_project::{Project, ProjectName};

use crate::{Platform, PlatformError};

impl Platform {
    /// Runs the checks of one advisor, or of both.
    pub(crate) async fn advise(
        &self,
        name: &ProjectName,
        category: Option<Category>,
    ) -> Result<Report, PlatformError> {
        let project = self.open(name).await?;
        let report = self.run_advisors(&project, category).await?;
        self.record_findings(project.reference(), &report, category)
            .await?;
        Ok(report)
    }

    async fn run_advisors(
        &self,
        project: &Project,
        category: Option<Category>,
    ) -> Result<Report, PlatformError> {
        let facts = self.facts(project).await?;
        let mut client = project.db.as_owner().await?;
        let report = plinth_advisor::run(&mut client, &facts, &Limits::default(), category).await?;
        Ok(report)
    }
}
