//! The settings of a project as a `config.toml`, and what such a file would change.

use plinth_settings::{Loader, Settings, render_toml};
use serde_json::{Map, Value};

use super::{Obstacle, ProjectConfig, SettingProblem};
use crate::PlatformError;

/// What a file has otherwise than the project.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Difference {
    pub(crate) name: String,
    /// Secrets are masked.
    pub(crate) before: Option<Value>,
    /// Absent where the file has nothing, so that the default applies.
    pub(crate) after: Option<Value>,
    /// Why it cannot be changed here; otherwise it can.
    pub(crate) obstacle: Option<Obstacle>,
    /// The value to store; null to go back to the default.
    stored: Value,
}

impl ProjectConfig {
    /// Everything that is set, the program's own settings left out.
    pub(crate) fn to_toml(&self) -> String {
        let assigned = self.settings.list_assigned().into_iter();
        let head = format!(
            "# The settings of project {}. Secrets are not shown.\n",
            self.record.reference
        );
        head + &render_toml(assigned)
    }

    /// Compares a file with the project. `env(NAME)` is not resolved: permission to configure a
    /// project gives no access to the environment of the server.
    pub(crate) fn compare(
        &self,
        text: &str,
        may_change_limits: bool,
    ) -> Result<Vec<Difference>, PlatformError> {
        let file = parse(text)?;
        let mut names: Vec<String> = self.record.settings.keys().cloned().collect();
        names.extend(file.list_assigned().into_iter().map(|setting| setting.name));
        names.sort();
        names.dedup();
        let found = names.into_iter();
        let found = found.filter_map(|name| self.compare_one(&file, name, may_change_limits));
        Ok(found.collect())
    }

    fn compare_one(
        &self,
        file: &Settings,
        name: String,
        may_change_limits: bool,
    ) -> Option<Difference> {
        let (current, wanted) = (self.settings.find_listed(&name)?, file.find_listed(&name)?);
        let kind = current.declaration.kind();
        let is_in_file = wanted.source.is_fixed();
        // An exported file names secrets in comments only.
        let is_same = current.value == wanted.value || (!is_in_file && kind.is_secret());
        if is_same {
            return None;
        }
        let value = wanted.value.filter(|_| is_in_file);
        Some(Difference {
            before: current.value.map(|value| kind.to_shown(value)),
            after: wanted.value.map(|value| kind.to_shown(value)),
            obstacle: Obstacle::find(&current, may_change_limits),
            stored: value.map_or(Value::Null, |value| kind.to_stored(value)),
            name,
        })
    }
}

impl Difference {
    /// The values that can be stored.
    pub(crate) fn applicable(differences: &[Self]) -> Map<String, Value> {
        let applicable = differences.iter().filter(|one| one.obstacle.is_none());
        applicable
            .map(|one| (one.name.clone(), one.stored.clone()))
            .collect()
    }
}

fn parse(text: &str) -> Result<Settings, PlatformError> {
    let loader = Loader::new().config_text("config.toml", text);
    // Its secrets may be stored; the whole is checked when it is applied.
    let loaded = loader.partial().load().map_err(|error| {
        let problems = error.problems.iter().map(|problem| SettingProblem {
            setting: problem.key.clone(),
            message: problem.to_string(),
        });
        PlatformError::InvalidSettings(problems.collect())
    })?;
    Ok(loaded.settings)
}
