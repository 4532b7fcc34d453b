//! [`RestConfig`] from the settings tree of the full server.

use plinth_project::FromSettings;
use plinth_settings::{
    Key, Settings,
    keys::{api, auth, plinth_rest as keys},
};

use super::{
    OpenApiMode, RestConfig, RoleClaim, TxEnd,
    apply::{header_name, qualified},
};

impl FromSettings for RestConfig {
    fn from_settings(settings: &Settings) -> Self {
        let default = Self::postgrest_defaults();
        let flag = |key: Key<bool>| settings.get(key);
        let list = |key: Key<Vec<String>>| settings.get(key).to_vec();
        let function = |key: Key<Option<String>>| settings.get(key).map(qualified);
        Self {
            schemas: exposed(settings),
            extra_search_path: list(api::EXTRA_SEARCH_PATH),
            anon_role: Some(settings.get(keys::DB_ANON_ROLE).to_owned()),
            max_rows: Some(settings.get(api::MAX_ROWS)),
            aggregates_enabled: flag(keys::DB_AGGREGATES_ENABLED),
            plan_enabled: flag(keys::DB_PLAN_ENABLED),
            tx_end: TxEnd::parse(settings.get(keys::DB_TX_END)).unwrap_or(default.tx_end),
            pre_request: function(keys::DB_PRE_REQUEST),
            root_spec: function(keys::DB_ROOT_SPEC),
            prepared_statements: flag(keys::DB_PREPARED_STATEMENTS),
            hoisted_tx_settings: list(keys::DB_HOISTED_TX_SETTINGS),
            db_config: flag(keys::DB_CONFIG),
            pre_config: function(keys::DB_PRE_CONFIG),
            channel: flag(keys::DB_CHANNEL_ENABLED)
                .then(|| settings.get(keys::DB_CHANNEL).to_owned()),
            jwt_aud: settings.get(keys::JWT_AUD).map(str::to_owned),
            role_claim: role_claim(settings),
            jwt: None,
            errors_are_verbose: settings.get(keys::CLIENT_ERROR_VERBOSITY) != "minimal",
            legacy_target_names: flag(keys::URL_USE_LEGACY_TARGET_NAMES),
            openapi_mode: OpenApiMode::parse(settings.get(keys::OPENAPI_MODE))
                .unwrap_or(default.openapi_mode),
            openapi_security_active: flag(keys::OPENAPI_SECURITY_ACTIVE),
            openapi_server_proxy_uri: settings
                .get(keys::OPENAPI_SERVER_PROXY_URI)
                .map(|url| url.url().clone()),
            cors_allowed_origins: list(keys::SERVER_CORS_ALLOWED_ORIGINS),
            server_timing: flag(keys::SERVER_TIMING_ENABLED),
            trace_header: settings.get(keys::SERVER_TRACE_HEADER).and_then(|name| {
                header_name(name)
                    .inspect_err(|expected| {
                        warn("server_trace_header", name, &format!("expected {expected}"));
                    })
                    .ok()
            }),
            app_settings: app_settings(settings),
            query_log: None,
            safe_update: flag(keys::SAFE_UPDATE),
        }
    }
}

/// Leaves out schemas that must never be exposed; the settings tree does not check that.
fn exposed(settings: &Settings) -> Vec<String> {
    let is_forbidden = |schema: &&String| {
        let is_forbidden = matches!(schema.as_str(), "pg_catalog" | "information_schema");
        if is_forbidden {
            tracing::warn!("api.schemas: ignoring {schema}, which cannot be exposed");
        }
        is_forbidden
    };
    let schemas = settings.get(api::SCHEMAS).iter();
    let schemas: Vec<String> = schemas.filter(|s| !is_forbidden(s)).cloned().collect();
    if schemas.is_empty() {
        vec!["public".to_owned()]
    } else {
        schemas
    }
}

fn role_claim(settings: &Settings) -> RoleClaim {
    let text = settings.get(keys::JWT_ROLE_CLAIM_KEY);
    RoleClaim::parse(text).unwrap_or_else(|problem| {
        warn("jwt_role_claim_key", text, &problem);
        RoleClaim::default()
    })
}

/// Always has the lifetime of tokens, but never the secret: any SQL function could read it.
fn app_settings(settings: &Settings) -> Vec<(String, String)> {
    let mut values = vec![(
        "app.settings.jwt_exp".to_owned(),
        settings.get(auth::JWT_EXPIRY).to_string(),
    )];
    for (name, value) in settings.get(keys::APP_SETTINGS) {
        let name = format!("app.settings.{name}");
        values.retain(|(known, _)| *known != name);
        values.push((name, value.clone()));
    }
    values
}

fn warn(name: &str, value: &str, problem: &str) {
    tracing::warn!("plinth.rest.{name}: ignoring invalid value {value:?}: {problem}");
}

#[cfg(test)]
mod tests {
    use plinth_settings::Loader;

    use super::*;

    fn config(pairs: &[(&str, &str)]) -> RestConfig {
        let loader = pairs.iter().fold(Loader::new(), |loader, (name, value)| {
            loader.command_line(*name, *value)
        });
        RestConfig::from_settings(&loader.load().expect("good settings").settings)
    }

    #[test]
    fn the_full_server_has_its_own_defaults() {
        let config = config(&[]);

        assert_eq!(config.schemas, ["public", "graphql_public"]);
        assert_eq!(config.extra_search_path, ["public", "extensions"]);
        assert_eq!(config.anon_role.as_deref(), Some("anon"));
        assert_eq!(config.max_rows, Some(1000));
        assert_eq!(config.channel.as_deref(), Some("pgrst"));
        assert!(config.safe_update);
        assert!(config.jwt.is_none(), "the platform verifies tokens");
        assert_eq!(
            config.app_settings,
            [("app.settings.jwt_exp".to_owned(), "3600".to_owned())]
        );
    }

    #[test]
    fn values_of_the_tree_arrive() {
        let config = config(&[
            ("api.schemas", "api,pg_catalog"),
            ("plinth.rest.db_tx_end", "rollback-allow-override"),
            ("plinth.rest.db_pre_request", "api.check"),
            ("plinth.rest.db_channel_enabled", "false"),
            ("plinth.rest.openapi_mode", "disabled"),
            ("plinth.rest.jwt_role_claim_key", "no path"),
            ("plinth.rest.server_trace_header", "X-Request-Id"),
        ]);

        assert_eq!(config.schemas, ["api"]);
        assert_eq!(config.tx_end, TxEnd::new(true, true));
        assert_eq!(config.pre_request, Some(qualified("api.check")));
        assert_eq!(config.channel, None);
        assert_eq!(config.openapi_mode, OpenApiMode::Disabled);
        assert!(config.role_claim.is_default(), "a bad path is ignored");
        assert_eq!(config.trace_header.expect("a header"), "x-request-id");
    }
}
