//! PostgREST's settings: `PGRST_*` variables win over the file, the file over defaults (rest
//! contract §9). Settings in the database win over these; see
//! [`RestConfig::with_overrides`](super::RestConfig).

mod dump;
mod file;
mod interpolation;
mod scanner;
mod server;

use std::path::{Path, PathBuf};

use plinth_project::RoleSettingsSource;
use tokio_postgres::{Client, Error};

use super::{
    JwtConfig, RestConfig, current_user, load_in_database,
    options::{Options, Value},
};

pub use server::{ListenAddress, LogLevel, ServerConfig, UnixSocket};

const APP_SETTINGS: &str = "app.settings";

/// Settings from PostgREST's environment variables and file.
#[derive(Debug, Clone)]
pub struct PostgrestConfig {
    /// For the service.
    pub rest: RestConfig,
    /// For the process.
    pub server: ServerConfig,
    /// About values that are ignored, as PostgREST does.
    pub warnings: Vec<String>,
}

impl PostgrestConfig {
    /// Reports all errors at once.
    pub fn load(
        file: Option<&Path>,
        environment: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, Vec<String>> {
        let environment: Vec<(String, String)> = environment.into_iter().collect();
        let mut options = Options::default();
        add_environment(&mut options, &environment);
        if let Some(path) = file {
            let variable = |name: &str| {
                let found = environment.iter().find(|(known, _)| known == name);
                found.map(|(_, value)| value.clone())
            };
            for (name, value) in file::read(path, &variable).map_err(|problem| vec![problem])? {
                options.add(&name, &name, value);
            }
        }
        let server = ServerConfig::read(&mut options);
        let mut rest = RestConfig::postgrest_defaults();
        rest.jwt = Some(JwtConfig::none());
        rest.apply(&mut options);
        rest.channel = options
            .flag(&["db-channel-enabled"])
            .unwrap_or(true)
            .then(|| options.text(&["db-channel"]).unwrap_or("pgrst".to_owned()));
        rest.app_settings = options.with_prefix(APP_SETTINGS);
        rest.query_log = server.log_query.then_some(server.log_level);
        let warnings = options.finish()?;
        Ok(Self {
            rest,
            server,
            warnings,
        })
    }

    /// With the settings in the database for the connection's role, if `db-config` is on.
    pub async fn with_database(mut self, client: &Client) -> Result<Self, Vec<String>> {
        let given = self.in_database(client).await;
        let given = given.map_err(|error| vec![plinth_db::describe(&error)])?;
        self.rest = self.rest.with_overrides(&given)?;
        Ok(self)
    }

    /// Errors in the settings in the database; none if they cannot be read now.
    pub async fn problems_in_database(&self, client: &Client) -> Vec<String> {
        let given = self.in_database(client).await.unwrap_or_default();
        self.rest.with_overrides(&given).err().unwrap_or_default()
    }

    async fn in_database(&self, client: &Client) -> Result<Vec<(String, String)>, Error> {
        if !self.rest.db_config {
            return Ok(Vec::new());
        }
        let login = current_user(client).await?;
        let source = RoleSettingsSource::Catalog;
        load_in_database(client, &login, source, self.rest.pre_config.as_ref()).await
    }

    /// From this process's environment.
    pub fn load_from_process(file: Option<&PathBuf>) -> Result<Self, Vec<String>> {
        // Variables that are not UTF-8 cannot be settings.
        let environment = std::env::vars_os().filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        });
        Self::load(file.map(PathBuf::as_path), environment)
    }
}

fn add_environment(options: &mut Options, environment: &[(String, String)]) {
    for (variable, value) in environment {
        let Some(name) = variable.strip_prefix("PGRST_") else {
            continue;
        };
        let name = match name.strip_prefix("APP_SETTINGS_") {
            Some(name) => format!("{APP_SETTINGS}.{name}"),
            None => name.to_lowercase().replace('_', "-"),
        };
        options.add(&name, variable, Value::Text(value.clone()));
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn load(variables: &[(&str, &str)]) -> PostgrestConfig {
        let pairs = variables
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        PostgrestConfig::load(None, pairs).expect("good values")
    }

    #[test]
    fn variables_are_named_after_the_options() {
        let config = load(&[
            ("PGRST_DB_SCHEMAS", "multi,   tenant,setup"),
            ("PGRST_DB_ANON_ROLE", "root"),
            ("PGRST_APP_SETTINGS_test", "value"),
            ("PGRST_DB_CHANNEL", "other"),
            ("DB_SCHEMAS", "never"),
        ])
        .rest;

        assert_eq!(config.schemas, ["multi", "tenant", "setup"]);
        assert_eq!(config.anon_role.as_deref(), Some("root"));
        assert_eq!(config.channel.as_deref(), Some("other"));
        assert_eq!(
            config.app_settings,
            [("app.settings.test".to_owned(), "value".to_owned())]
        );
    }

    #[test]
    fn an_empty_variable_is_not_set_except_for_the_search_path() {
        let config = load(&[
            ("PGRST_DB_SCHEMAS", ""),
            ("PGRST_DB_MAX_ROWS", ""),
            ("PGRST_DB_AGGREGATES_ENABLED", ""),
            ("PGRST_JWT_SECRET", ""),
            ("PGRST_DB_CHANNEL", ""),
            ("PGRST_OPENAPI_SERVER_PROXY_URI", ""),
            ("PGRST_SERVER_CORS_ALLOWED_ORIGINS", ""),
            ("PGRST_DB_EXTRA_SEARCH_PATH", ""),
            ("PGRST_SERVER_UNIX_SOCKET_MODE", ""),
        ])
        .rest;

        assert_eq!(config.schemas, ["public"]);
        assert_eq!(config.max_rows, None);
        assert_eq!(config.channel.as_deref(), Some("pgrst"));
        assert!(config.cors_allowed_origins.is_empty());
        assert!(config.extra_search_path.is_empty());
        assert_eq!(load(&[]).rest.extra_search_path, ["public"]);
    }

    #[test]
    fn the_environment_wins_over_the_file_and_aliases_fill_gaps() {
        let path = std::env::temp_dir().join(format!("plinth-config-{}.conf", std::process::id()));
        let content = "db-schema = \"provided_through_alias\"\nmax-rows = 1000\n\
                       role-claim-key = \"$$.aliased\"\nroot-spec = \"open_alias\"\n\
                       db-anon-role = \"from_file\"\napp.settings.x = \"file\"\n";
        fs::write(&path, content).expect("a file");
        let variables = [
            ("PGRST_DB_ANON_ROLE", "from_environment"),
            ("PGRST_APP_SETTINGS_x", "environment"),
        ];
        let pairs = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));

        let config = PostgrestConfig::load(Some(&path), pairs);
        fs::remove_file(&path).expect("our own file");

        let config = config.expect("good values").rest;
        assert_eq!(config.schemas, ["provided_through_alias"]);
        assert_eq!(config.max_rows, Some(1000));
        assert_eq!(config.role_claim.as_str(), "$.aliased");
        assert_eq!(config.anon_role.as_deref(), Some("from_environment"));
        assert_eq!(config.app_settings[0].1, "environment");
    }

    #[test]
    fn problems_of_all_kinds_are_reported_together() {
        let pairs = [
            ("PGRST_LOG_LEVEL", "never"),
            ("PGRST_DB_TX_END", "random"),
            ("PGRST_JWT_SECRET", "short_secret"),
            ("PGRST_JWT_ROLE_CLAIM_KEY", "@@.role.other"),
            ("PGRST_ADMIN_SERVER_PORT", "3000"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()));

        let problems = PostgrestConfig::load(None, pairs).expect_err("five mistakes");

        assert_eq!(problems.len(), 5, "{problems:#?}");
        assert!(
            problems
                .iter()
                .any(|warning| warning.starts_with("PGRST_LOG_LEVEL: \"never\""))
        );
    }

    #[test]
    fn a_missing_file_is_reported() {
        let problems = PostgrestConfig::load(Some(Path::new("/no/such.conf")), Vec::new());

        let problems = problems.expect_err("no file");
        assert!(problems[0].starts_with("/no/such.conf cannot be read"));
    }
}
