//! What a branch changes, and bringing it back (console contract N35, F73).
//!
//! A review compares branch and parent, and both with what they were when they were last the same.
//! Merging runs the branch's migrations on the parent, and one that is generated for what no
//! migration records, all in one transaction; then functions are deployed. Rows are never copied.
//! Rebasing brings the parent's changes to the branch. Both run as jobs, one at a time per project.

mod base;
mod functions;
mod job;
mod merge;
mod rebase;
mod reset;
mod review;
mod settings;

pub(crate) use functions::FunctionDifference;
pub(crate) use merge::MergeRequest;
pub(crate) use rebase::Resolution;
pub(crate) use review::{Conflict, Review};
pub(crate) use settings::{Bucket, BucketDifference, SettingDifference};

use plinth_db::DbError;
use plinth_diff::{DiffError, Schema};
use plinth_project::{Project, ProjectName};
use tokio_postgres::error::SqlState;

use crate::{Branch, Platform, PlatformError};

/// Both sides of a branch, opened.
struct Sides {
    parent: Project,
    branch: Project,
}

impl Platform {
    async fn open_sides(&self, branch: &Branch) -> Result<Sides, PlatformError> {
        Ok(Sides {
            parent: self.open(&ProjectName::Ref(branch.parent.clone())).await?,
            branch: self
                .open(&ProjectName::Ref(branch.reference.clone()))
                .await?,
        })
    }
}

async fn read_schema(project: &Project) -> Result<Schema, PlatformError> {
    let mut client = project.db.as_owner().await?;
    Ok(Schema::read(&mut client).await?)
}

impl From<DiffError> for PlatformError {
    fn from(error: DiffError) -> Self {
        match error {
            DiffError::Database(error) if is_locked(&error) => Self::Conflict(
                "The schema cannot be read, because another transaction has a table locked; try \
                 again when it has ended"
                    .to_owned(),
            ),
            DiffError::Database(error) => error.into(),
            error @ DiffError::Catalog(_) => Self::Conflict(error.to_string()),
        }
    }
}

/// Whether a statement waited for longer than it may.
fn is_locked(error: &DbError) -> bool {
    let code = error.sqlstate();
    code == Some(&SqlState::QUERY_CANCELED) || code == Some(&SqlState::LOCK_NOT_AVAILABLE)
}
