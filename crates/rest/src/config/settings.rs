//! [`RestConfig`] from the settings tree of the full server.

use plinth_project::FromSettings;
use plinth_settings::Settings;

use super::{
    OpenApiMode, RestConfig, TxEnd,
    apply::{header_name, qualified},
};
use crate::auth::RoleClaim;

impl FromSettings for RestConfig {
    fn from_settings(settings: &Settings) -> Self {
        let default = Self::postgrest_defaults();
        let text = |name: &str| settings.opt_text(&format!("plinth.rest.{name}"));
        let flag = |name: &str| settings.bool(&format!("plinth.rest.{name}"));
        let list = |path: &str| settings.list(path).to_vec();
        let function = |name: &str| text(name).map(qualified);
        Self {
            schemas: exposed(settings),
            extra_search_path: list("api.extra_search_path"),
            anon_role: text("db_anon_role").map(str::to_owned),
            max_rows: settings.opt_integer("api.max_rows"),
            aggregates_enabled: flag("db_aggregates_enabled"),
            plan_enabled: flag("db_plan_enabled"),
            tx_end: text("db_tx_end")
                .and_then(TxEnd::from_word)
                .unwrap_or(default.tx_end),
            pre_request: function("db_pre_request"),
            root_spec: function("db_root_spec"),
            prepared_statements: flag("db_prepared_statements"),
            hoisted_tx_settings: list("plinth.rest.db_hoisted_tx_settings"),
            db_config: flag("db_config"),
            pre_config: function("db_pre_config"),
            channel: text("db_channel")
                .filter(|_| flag("db_channel_enabled"))
                .map(str::to_owned),
            jwt_aud: text("jwt_aud").map(str::to_owned),
            role_claim: role_claim(settings),
            jwt: None,
            errors_are_verbose: text("client_error_verbosity") != Some("minimal"),
            legacy_target_names: flag("url_use_legacy_target_names"),
            openapi_mode: text("openapi_mode")
                .and_then(OpenApiMode::from_word)
                .unwrap_or(default.openapi_mode),
            openapi_security_active: flag("openapi_security_active"),
            openapi_server_proxy_uri: settings.opt_url("plinth.rest.openapi_server_proxy_uri"),
            cors_allowed_origins: list("plinth.rest.server_cors_allowed_origins"),
            server_timing: flag("server_timing_enabled"),
            trace_header: text("server_trace_header").and_then(|name| {
                header_name(name)
                    .inspect_err(|expected| warn("server_trace_header", name, expected))
                    .ok()
            }),
            app_settings: app_settings(settings),
            query_log: None,
            safe_update: flag("safe_update"),
        }
    }
}

/// The tree knows no schema's name; what may never be exposed is left out.
fn exposed(settings: &Settings) -> Vec<String> {
    let is_forbidden = |schema: &&String| {
        let is_forbidden = matches!(schema.as_str(), "pg_catalog" | "information_schema");
        if is_forbidden {
            tracing::warn!("api.schemas: {schema} cannot be exposed and is left out");
        }
        is_forbidden
    };
    let schemas = settings.list("api.schemas").iter();
    let schemas: Vec<String> = schemas.filter(|s| !is_forbidden(s)).cloned().collect();
    match schemas.is_empty() {
        true => vec!["public".to_owned()],
        false => schemas,
    }
}

fn role_claim(settings: &Settings) -> RoleClaim {
    let text = settings.text("plinth.rest.jwt_role_claim_key");
    RoleClaim::parse(text).unwrap_or_else(|problem| {
        warn("jwt_role_claim_key", text, &problem);
        RoleClaim::default()
    })
}

/// What SQL may always read is how long tokens last; never the secret they are signed with.
fn app_settings(settings: &Settings) -> Vec<(String, String)> {
    let mut values = vec![(
        "app.settings.jwt_exp".to_owned(),
        settings.integer("auth.jwt_expiry").to_string(),
    )];
    for (name, value) in settings.table("plinth.rest.app_settings") {
        let name = format!("app.settings.{name}");
        values.retain(|(known, _)| *known != name);
        values.push((name, value.clone()));
    }
    values
}

fn warn(name: &str, value: &str, expected: &str) {
    tracing::warn!("plinth.rest.{name}: {value:?} cannot be used and is ignored; {expected}");
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
        assert!(config.jwt.is_none(), "tokens are the platform's to check");
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
