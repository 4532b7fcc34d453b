//! The settings of a project, as operators see and change them (console contract F62, N171, N174).
//!
//! What operators store is in `platform.projects.settings`, by name; secrets are sealed. A change is
//! checked as a whole with all other layers, and applied by every node within moments: the update
//! notifies them. Nothing here opens a project, so a paused one can be configured too.

mod change;
mod file;
pub(crate) mod hosted;
mod sealing;

use std::borrow::Cow;

use plinth_project::{Directory as _, ProjectName, ProjectRecord};
use plinth_settings::{Listed, LoadError, Reach, Settings};
use serde_json::{Map, Value};

use crate::{Platform, PlatformError};

pub(crate) use change::{Change, ChangeRequest, SettingProblem};
pub(crate) use file::Difference;
pub(crate) use sealing::open_settings;

/// The settings of a project at one moment.
pub(crate) struct ProjectConfig {
    pub(crate) record: ProjectRecord,
    pub(crate) settings: Settings,
    /// Identifies what is stored.
    pub(crate) version: String,
}

/// Why a setting cannot be changed here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Obstacle {
    /// A layer above the stored settings decides it; where.
    Fixed(String),
    /// Read when the process starts.
    NeedsRestart,
    /// A limit, which the project's own operators may not raise.
    Limit,
}

impl Obstacle {
    pub(crate) fn find(setting: &Listed<'_>, may_change_limits: bool) -> Option<Self> {
        match setting.declaration.reach() {
            _ if setting.source.is_fixed() => {
                let place = setting.place.map(ToString::to_string);
                Some(Self::Fixed(
                    place.unwrap_or_else(|| setting.source.to_string()),
                ))
            }
            Reach::Process => Some(Self::NeedsRestart),
            Reach::Limit if !may_change_limits => Some(Self::Limit),
            Reach::Limit | Reach::Project => None,
        }
    }

    /// A phrase that continues "it".
    pub(crate) fn reason(&self) -> Cow<'static, str> {
        match self {
            Self::Fixed(place) => format!("is fixed by {place}").into(),
            Self::NeedsRestart => {
                "is read when Plinth starts; set it in config.toml or the environment, and restart"
                    .into()
            }
            Self::Limit => "is a limit that only the owner of the installation may change".into(),
        }
    }
}

impl Platform {
    /// Reads the settings of a project from the tables and the other layers.
    pub(crate) async fn load_config(
        &self,
        name: &ProjectName,
    ) -> Result<ProjectConfig, PlatformError> {
        // Before the record: a change in between is then noticed.
        let version = self.config_version(name).await?;
        let record = self.find(name).await?;
        let record = record.ok_or_else(|| PlatformError::no_project(name))?;
        let settings = self.registry().settings_for(&record);
        let settings = settings.map_err(unusable)?;
        Ok(ProjectConfig {
            record,
            settings,
            version,
        })
    }

    async fn config_version(&self, name: &ProjectName) -> Result<String, PlatformError> {
        let sql = "select md5(settings::text) from platform.projects where ref = $1";
        let reference = self.reference_of(name);
        let tables = self.tables().await?;
        let row = tables.query_opt(sql, &[&reference.as_str()]).await?;
        let row = row.ok_or_else(|| PlatformError::no_project(name))?;
        Ok(row.get(0))
    }
}

/// What is written elsewhere is wrong, so that the project cannot be served either.
fn unusable(error: LoadError) -> PlatformError {
    PlatformError::Conflict(error.to_string())
}

/// Names and values as they are stored, unsealed.
pub(crate) type Stored = Map<String, Value>;
