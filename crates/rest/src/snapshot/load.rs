//! One load: settings in the database, settings of roles, and the schema cache.

use std::{collections::HashMap, sync::Arc, time::Instant};

use plinth_project::ProjectDb;

use super::{LoadError, SettingsRole, Snapshot};
use crate::{
    RestConfig,
    config::{RoleSettings, load_in_database, session_user},
    schema_cache::{SchemaCache, Scope},
};

/// `previous` lends its token cache, and its settings if those in the database are invalid.
pub(super) async fn load_snapshot(
    db: &ProjectDb,
    base: &Arc<RestConfig>,
    settings_role: SettingsRole,
    previous: Option<&Snapshot>,
) -> Result<Snapshot, LoadError> {
    let started = Instant::now();
    let mut client = db.as_login().await?;
    let source = db.role_settings_source();
    let mut config = (**base).clone();
    if config.db_config {
        let role = match settings_role {
            SettingsRole::Authenticator => "authenticator".to_owned(),
            SettingsRole::Login => session_user(&client).await?,
        };
        let pre_config = config.pre_config.as_ref();
        let found = load_in_database(&client, &role, source, pre_config).await?;
        config = match config.with_overrides(&found) {
            Ok(config) => config,
            Err(problems) => previous_config(previous, &problems)?,
        };
    }
    if let Some(previous) = previous {
        config = config.reusing_token_cache(&previous.config);
    }
    let roles = RoleSettings::load(&client, source).await?;
    let scope = Scope {
        schemas: config.schemas.clone(),
        extra_search_path: config.extra_search_path.clone(),
        hoisted_settings: config.hoisted_tx_settings.clone(),
    };
    let cache = SchemaCache::load(&mut client, &scope).await?;
    for schema in cache.missing_schemas() {
        tracing::debug!("exposed schema {schema:?} does not exist");
    }
    Ok(Snapshot {
        search_paths: search_paths(&config),
        config,
        roles,
        cache,
        base: base.clone(),
        loaded_at: Instant::now(),
        load_duration: started.elapsed(),
    })
}

/// The previous settings, for when those in the database are invalid. Without previous ones the
/// load fails: serving without the database's settings could expose what they hide.
fn previous_config(
    previous: Option<&Snapshot>,
    problems: &[String],
) -> Result<RestConfig, LoadError> {
    let Some(previous) = previous else {
        return Err(LoadError::Settings(problems.join("; ")));
    };
    for problem in problems {
        tracing::warn!("ignoring the settings in the database: {problem}");
    }
    Ok(previous.config.clone())
}

/// By exposed schema: that schema, then `db-extra-search-path`.
fn search_paths(config: &RestConfig) -> HashMap<String, String> {
    let quoted = |schema: &String| plinth_db::QuotedIdent::new(schema).to_string();
    let of_schema = |schema: &String| {
        let all = std::iter::once(schema).chain(&config.extra_search_path);
        let path: Vec<String> = all.map(quoted).collect();
        (schema.clone(), path.join(", "))
    };
    config.schemas.iter().map(of_schema).collect()
}

#[cfg(test)]
mod tests {
    use plinth_project::FromSettings;

    use super::*;

    #[test]
    fn search_paths_are_quoted() {
        let settings = plinth_settings::Loader::new().load().expect("defaults");
        let mut config = RestConfig::from_settings(&settings.settings);
        config.schemas = vec!["my, schema".to_owned()];
        config.extra_search_path = vec!["public".to_owned(), "odd\"one".to_owned()];

        let paths = search_paths(&config);

        assert_eq!(paths["my, schema"], r#""my, schema", "public", "odd""one""#);
    }
}
