//! Changing stored settings.

use plinth_project::{ProjectName, ProjectRecord};
use plinth_settings::{Kind, Listed, LoadError, MASK, Settings, check_stored};
use serde_json::{Map, Value};

use super::{Obstacle, ProjectConfig, Stored, sealing::seal_settings};
use crate::{Platform, PlatformError};

/// How often a change is tried again that met another one.
const MAX_ATTEMPTS: usize = 5;

/// What is to be changed.
#[derive(Debug, Clone, Default)]
pub(crate) struct ChangeRequest {
    /// Values by name; null goes back to the default.
    pub(crate) values: Map<String, Value>,
    /// What the operator has seen; a change of something else in between is refused.
    pub(crate) version: Option<String>,
    /// Whether limits of the project may be changed.
    pub(crate) may_change_limits: bool,
}

/// A setting that was changed, secrets masked.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Change {
    pub(crate) name: String,
    pub(crate) before: Option<Value>,
    pub(crate) after: Option<Value>,
}

/// What is wrong with a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingProblem {
    /// The setting, when it is about one.
    pub setting: Option<String>,
    /// A sentence.
    pub message: String,
}

impl Platform {
    /// Stores values, or nothing if any of them cannot be. Returns the new state and what differs.
    pub(crate) async fn change_config(
        &self,
        name: &ProjectName,
        request: &ChangeRequest,
    ) -> Result<(ProjectConfig, Vec<Change>), PlatformError> {
        for _ in 0..MAX_ATTEMPTS {
            let config = self.load_config(name).await?;
            if request
                .version
                .as_ref()
                .is_some_and(|version| *version != config.version)
            {
                return Err(stale());
            }
            let stored = apply(&config, request)?;
            let record = ProjectRecord {
                settings: stored,
                ..config.record.clone()
            };
            let settings = self.registry().settings_for(&record);
            let settings = settings.map_err(|error| invalid(&error))?;
            let changes = differences(&config.settings, &settings);
            if self.store_config(&record, &config.version).await? {
                self.registry().refresh(&record.reference).await;
                return Ok((self.load_config(name).await?, changes));
            }
        }
        Err(stale())
    }

    /// False if something else was stored meanwhile.
    async fn store_config(
        &self,
        record: &ProjectRecord,
        version: &str,
    ) -> Result<bool, PlatformError> {
        let sql = "update platform.projects set settings = $2, version = version + 1
                   where ref = $1 and md5(settings::text) = $3";
        let key = &self.0.instance_key;
        let sealed = seal_settings(key, &record.reference, record.settings.clone());
        let sealed = Value::Object(sealed);
        let tables = self.tables().await?;
        let params: plinth_db::Params<'_> = &[&record.reference.as_str(), &sealed, &version];
        Ok(tables.execute(sql, params).await? == 1)
    }
}

fn stale() -> PlatformError {
    PlatformError::Stale(
        "The settings were changed meanwhile; read them again and repeat the change".to_owned(),
    )
}

/// What would be stored.
fn apply(config: &ProjectConfig, request: &ChangeRequest) -> Result<Stored, PlatformError> {
    let mut stored = config.record.settings.clone();
    for (written, value) in &request.values {
        let Some(setting) = config.settings.find_listed(written) else {
            return Err(unknown(written));
        };
        match Obstacle::find(&setting, request.may_change_limits) {
            Some(obstacle @ Obstacle::Limit) => {
                let reason = obstacle.reason();
                return Err(PlatformError::Forbidden(format!(
                    "{} {reason}",
                    setting.name
                )));
            }
            Some(obstacle) => {
                let reason = obstacle.reason();
                return Err(PlatformError::SettingFixed(format!(
                    "{} {reason}",
                    setting.name
                )));
            }
            None => {}
        }
        let value = unmasked(&setting, value, stored.get(&setting.name));
        stored.remove(written);
        match value {
            Value::Null => drop(stored.remove(&setting.name)),
            value => {
                let one = Map::from_iter([(setting.name.clone(), value)]);
                check_stored(&one).map_err(|error| invalid(&error))?;
                stored.extend(one);
            }
        }
    }
    Ok(stored)
}

/// A mask in the place of a secret leaves it as it is.
fn unmasked(setting: &Listed<'_>, value: &Value, stored: Option<&Value>) -> Value {
    match (setting.declaration.kind(), value) {
        (Kind::Secret, Value::String(text)) if text == MASK => {
            stored.cloned().unwrap_or(Value::Null)
        }
        (Kind::SecretTable, Value::Object(entries)) => {
            let entries = entries.iter().filter_map(|(name, value)| {
                let value = match value {
                    Value::String(text) if text == MASK => stored?.get(name)?.clone(),
                    value => value.clone(),
                };
                Some((name.clone(), value))
            });
            Value::Object(entries.collect())
        }
        (_, value) => value.clone(),
    }
}

fn unknown(name: &str) -> PlatformError {
    let one = Map::from_iter([(name.to_owned(), Value::Bool(true))]);
    match check_stored(&one) {
        Err(error) => invalid(&error),
        Ok(()) => PlatformError::InvalidSettings(vec![SettingProblem {
            setting: Some(name.to_owned()),
            message: format!("there is no setting {name}."),
        }]),
    }
}

fn invalid(error: &LoadError) -> PlatformError {
    let problems = error.problems.iter().map(|problem| SettingProblem {
        setting: problem.key.clone(),
        message: problem.message.clone(),
    });
    PlatformError::InvalidSettings(problems.collect())
}

/// What differs between two states, in the order of names.
fn differences(before: &Settings, after: &Settings) -> Vec<Change> {
    let mut names: Vec<String> = [before, after]
        .into_iter()
        .flat_map(Settings::list_assigned)
        .map(|setting| setting.name)
        .collect();
    names.sort();
    names.dedup();
    let changed = names.into_iter().filter_map(|name| {
        let (old, new) = (before.find_listed(&name)?, after.find_listed(&name)?);
        let kind = new.declaration.kind();
        let is_same = old.value == new.value && old.source == new.source;
        (!is_same).then(|| Change {
            before: old.value.map(|value| kind.to_shown(value)),
            after: new.value.map(|value| kind.to_shown(value)),
            name,
        })
    });
    changed.collect()
}
