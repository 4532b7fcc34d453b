//! Applies named options to a [`RestConfig`], and PostgREST's defaults.

use http::HeaderName;
use url::Url;

use super::{
    OpenApiMode, RestConfig, RoleClaim, TxEnd,
    options::{Given, Options, Value},
};
use crate::schema_cache::QualifiedName;

/// The settings that can be made in the database, as `pgrst.<name>`.
pub(crate) const IN_DATABASE: &[&str] = &[
    "client_error_verbosity",
    "db_aggregates_enabled",
    "db_anon_role",
    "db_extra_search_path",
    "db_hoisted_tx_settings",
    "db_max_rows",
    "db_plan_enabled",
    "db_pre_config",
    "db_pre_request",
    "db_prepared_statements",
    "db_root_spec",
    "db_schemas",
    "db_tx_end",
    "jwt_aud",
    "jwt_cache_max_entries",
    "jwt_role_claim_key",
    "jwt_secret",
    "jwt_secret_is_base64",
    "openapi_mode",
    "openapi_security_active",
    "openapi_server_proxy_uri",
    "server_cors_allowed_origins",
    "server_timing_enabled",
    "server_trace_header",
    "url_use_legacy_target_names",
];

pub(super) const HOISTED: [&str; 3] = [
    "statement_timeout",
    "plan_filter.statement_cost_limit",
    "default_transaction_isolation",
];

const TX_ENDS: &[(&str, TxEnd)] = &[
    ("commit", TxEnd::new(false, false)),
    ("commit-allow-override", TxEnd::new(false, true)),
    ("rollback", TxEnd::new(true, false)),
    ("rollback-allow-override", TxEnd::new(true, true)),
];

const OPENAPI_MODES: &[(&str, OpenApiMode)] = &[
    ("follow-privileges", OpenApiMode::FollowPrivileges),
    ("ignore-privileges", OpenApiMode::IgnorePrivileges),
    ("disabled", OpenApiMode::Disabled),
];

impl TxEnd {
    pub(super) const fn new(rolls_back: bool, allows_override: bool) -> Self {
        Self {
            rolls_back,
            allows_override,
        }
    }

    pub(super) fn as_str(self) -> &'static str {
        name_of(TX_ENDS, self)
    }

    pub(super) fn parse(word: &str) -> Option<Self> {
        value_of(TX_ENDS, word)
    }
}

impl OpenApiMode {
    pub(super) fn as_str(self) -> &'static str {
        name_of(OPENAPI_MODES, self)
    }

    pub(super) fn parse(word: &str) -> Option<Self> {
        value_of(OPENAPI_MODES, word)
    }
}

fn name_of<T: Copy + PartialEq>(choices: &[(&'static str, T)], meaning: T) -> &'static str {
    let found = choices.iter().find(|(_, known)| *known == meaning);
    found.map_or("", |(word, _)| *word)
}

fn value_of<T: Copy>(choices: &[(&str, T)], word: &str) -> Option<T> {
    let found = choices.iter().find(|(known, _)| *known == word);
    found.map(|(_, meaning)| *meaning)
}

impl RestConfig {
    /// PostgREST's defaults.
    pub(super) fn postgrest_defaults() -> Self {
        Self {
            schemas: vec!["public".to_owned()],
            extra_search_path: vec!["public".to_owned()],
            anon_role: None,
            max_rows: None,
            aggregates_enabled: false,
            plan_enabled: false,
            tx_end: TxEnd::new(false, false),
            pre_request: None,
            root_spec: None,
            prepared_statements: true,
            hoisted_tx_settings: HOISTED.map(str::to_owned).to_vec(),
            db_config: true,
            pre_config: None,
            channel: Some("pgrst".to_owned()),
            jwt_aud: None,
            role_claim: RoleClaim::default(),
            jwt: None,
            errors_are_verbose: true,
            legacy_target_names: true,
            openapi_mode: OpenApiMode::FollowPrivileges,
            openapi_security_active: false,
            openapi_server_proxy_uri: None,
            cors_allowed_origins: Vec::new(),
            server_timing: false,
            trace_header: None,
            app_settings: Vec::new(),
            query_log: None,
            safe_update: false,
        }
    }

    /// These settings, overridden by those in the database. Names are without `pgrst.`.
    ///
    /// In the full server `jwt_*` is ignored: the platform verifies tokens.
    pub(crate) fn with_overrides(&self, given: &[(String, String)]) -> Result<Self, Vec<String>> {
        let mut options = Options::default();
        for (name, value) in given {
            let is_known = IN_DATABASE.contains(&name.as_str());
            if is_known && (self.jwt.is_some() || !name.starts_with("jwt_")) {
                let written_name = format!("pgrst.{name}");
                let value = Value::Text(value.clone());
                options.add(&name.replace('_', "-"), &written_name, value);
            }
        }
        let mut changed = self.clone();
        changed.apply(&mut options);
        for warning in options.finish()? {
            tracing::warn!("{warning}");
        }
        Ok(changed)
    }

    /// Takes over unchanged keys and the token cache of the previous settings, so that a reload
    /// does not verify every token again.
    pub fn reusing_token_cache(mut self, previous: &Self) -> Self {
        if let (Some(jwt), Some(previous)) = (self.jwt.take(), &previous.jwt) {
            self.jwt = Some(jwt.reusing_cache(previous));
        }
        self
    }

    /// Applies the options. Errors are collected in the options.
    pub(super) fn apply(&mut self, options: &mut Options) {
        let default = Self::postgrest_defaults();
        self.apply_database(options, &default);
        self.apply_http(options, default);
        self.apply_tokens(options);
    }

    fn apply_database(&mut self, options: &mut Options, default: &Self) {
        options
            .read(&["db-schemas", "db-schema"], exposed_schemas)
            .store(&mut self.schemas, default.schemas.clone());
        options
            .list_or_empty(&["db-extra-search-path"])
            .store(&mut self.extra_search_path, Vec::new());
        options
            .text(&["db-anon-role"])
            .map(Some)
            .store(&mut self.anon_role, None);
        options
            .integer(&["db-max-rows", "max-rows"])
            .map(Some)
            .store(&mut self.max_rows, None);
        options
            .flag(&["db-aggregates-enabled"])
            .store(&mut self.aggregates_enabled, default.aggregates_enabled);
        options
            .flag(&["db-plan-enabled"])
            .store(&mut self.plan_enabled, default.plan_enabled);
        options
            .choice(&["db-tx-end"], TX_ENDS)
            .store(&mut self.tx_end, default.tx_end);
        function(options, &["db-pre-request", "pre-request"]).store(&mut self.pre_request, None);
        function(options, &["db-root-spec", "root-spec"]).store(&mut self.root_spec, None);
        function(options, &["db-pre-config"]).store(&mut self.pre_config, None);
        options
            .flag(&["db-prepared-statements"])
            .store(&mut self.prepared_statements, default.prepared_statements);
        options.list(&["db-hoisted-tx-settings"]).store(
            &mut self.hoisted_tx_settings,
            default.hoisted_tx_settings.clone(),
        );
        options
            .flag(&["db-config"])
            .store(&mut self.db_config, default.db_config);
    }

    fn apply_http(&mut self, options: &mut Options, default: Self) {
        options
            .choice(
                &["client-error-verbosity"],
                &[("verbose", true), ("minimal", false)],
            )
            .store(&mut self.errors_are_verbose, default.errors_are_verbose);
        options
            .flag(&["url-use-legacy-target-names"])
            .store(&mut self.legacy_target_names, default.legacy_target_names);
        options
            .choice(&["openapi-mode"], OPENAPI_MODES)
            .store(&mut self.openapi_mode, default.openapi_mode);
        options.flag(&["openapi-security-active"]).store(
            &mut self.openapi_security_active,
            default.openapi_security_active,
        );
        options
            .read(&["openapi-server-proxy-uri"], proxy_url)
            .map(Some)
            .store(&mut self.openapi_server_proxy_uri, None);
        options
            .list(&["server-cors-allowed-origins"])
            .store(&mut self.cors_allowed_origins, default.cors_allowed_origins);
        options
            .flag(&["server-timing-enabled"])
            .store(&mut self.server_timing, default.server_timing);
        options
            .read(&["server-trace-header"], header_name)
            .map(Some)
            .store(&mut self.trace_header, None);
    }

    fn apply_tokens(&mut self, options: &mut Options) {
        options
            .read(&["jwt-aud"], audience)
            .map(Some)
            .store(&mut self.jwt_aud, None);
        options
            .read(&["jwt-role-claim-key", "role-claim-key"], |text| {
                RoleClaim::parse(text)
                    .map_err(|cause| format!("a JSONPath such as $.role: {cause}"))
            })
            .store(&mut self.role_claim, RoleClaim::default());
        if let Some(jwt) = &mut self.jwt {
            jwt.apply(options);
        }
    }
}

fn function(options: &mut Options, names: &[&str]) -> Given<Option<QualifiedName>> {
    options.text(names).map(|text| Some(qualified(&text)))
}

/// Without a schema, the schema is empty.
pub(super) fn qualified(text: &str) -> QualifiedName {
    let (schema, name) = text.split_once('.').unwrap_or(("", text));
    QualifiedName::new(schema, name)
}

pub(super) fn exposed_schemas(text: &str) -> Result<Vec<String>, String> {
    let schemas: Vec<String> = text.split(',').map(|name| name.trim().to_owned()).collect();
    let forbidden = ["pg_catalog", "information_schema"]
        .into_iter()
        .find(|forbidden| schemas.iter().any(|schema| schema == forbidden));
    match forbidden {
        Some(schema) => Err(format!("schemas of your own; {schema} cannot be exposed")),
        None => Ok(schemas),
    }
}

fn proxy_url(text: &str) -> Result<Url, String> {
    let is_plain = |url: &Url| {
        let is_web = matches!(url.scheme(), "http" | "https");
        let has_user = !url.username().is_empty() || url.password().is_some();
        is_web && url.has_host() && !has_user && url.query().is_none() && url.port() != Some(0)
    };
    // `Url::parse` would accept a missing slash.
    let url = text
        .contains("://")
        .then(|| Url::parse(text).ok())
        .flatten();
    url.filter(is_plain).ok_or_else(|| {
        "an http or https URL without user and query, such as https://example.com:8443/base"
            .to_owned()
    })
}

pub(super) fn header_name(text: &str) -> Result<HeaderName, String> {
    text.parse()
        .map_err(|_| "the name of a header, such as X-Request-Id".to_owned())
}

/// RFC 7519: a string with a colon must be a URI.
fn audience(text: &str) -> Result<String, String> {
    if !text.contains(':') || is_uri(text) {
        Ok(text.to_owned())
    } else {
        Err("a text without a colon, or a URI".to_owned())
    }
}

fn is_uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else {
        return false;
    };
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || "-._~:/?#[]@!$&'()*+,;=%".contains(c);
    let are_escapes_whole = rest.split('%').skip(1).all(|after| {
        let digits = after.as_bytes().get(..2);
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    });
    is_scheme && rest.chars().all(is_allowed) && are_escapes_whole
}

#[cfg(test)]
mod tests {
    use super::*;

    fn overrides(pairs: &[(&str, &str)]) -> Result<RestConfig, Vec<String>> {
        let owned: Vec<(String, String)> = pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        RestConfig::postgrest_defaults().with_overrides(&owned)
    }

    #[test]
    fn the_databases_values_win() {
        let config = overrides(&[
            ("db_schemas", "api, private"),
            ("db_max_rows", "500"),
            ("db_tx_end", "commit-allow-override"),
            ("db_pre_request", "test.headers"),
            ("db_root_spec", "root"),
            ("db_plan_enabled", "true"),
            ("server_trace_header", "CF-Ray"),
            ("client_error_verbosity", "minimal"),
        ])
        .expect("good values");

        assert_eq!(config.schemas, ["api", "private"]);
        assert_eq!(config.max_rows, Some(500));
        assert_eq!(config.tx_end, TxEnd::new(false, true));
        assert_eq!(
            config.pre_request,
            Some(QualifiedName::new("test", "headers"))
        );
        assert_eq!(config.root_spec, Some(QualifiedName::new("", "root")));
        assert!(config.plan_enabled);
        assert_eq!(config.trace_header, Some(HeaderName::from_static("cf-ray")));
        assert!(!config.errors_are_verbose);
    }

    #[test]
    fn an_empty_value_means_the_default() {
        let mut base = RestConfig::postgrest_defaults();
        base.anon_role = Some("anon".to_owned());
        base.max_rows = Some(10);
        base.extra_search_path = vec!["extensions".to_owned()];
        let empty = ["db_anon_role", "db_max_rows", "db_extra_search_path"];

        let config = base
            .with_overrides(&empty.map(|name| (name.to_owned(), String::new())))
            .expect("empty values are good");

        assert_eq!(config.anon_role, None);
        assert_eq!(config.max_rows, None);
        assert_eq!(config.extra_search_path, Vec::<String>::new());
    }

    #[test]
    fn names_that_are_not_the_databases_to_decide_are_ignored() {
        let config = overrides(&[
            ("server_port", "x"),
            ("db_uri", "x"),
            ("db_config", "false"),
        ])
        .expect("ignored");

        assert!(config.db_config);
    }

    #[test]
    fn tokens_are_the_platforms_where_there_is_one() {
        let config = overrides(&[("jwt_aud", "other"), ("jwt_secret", "short")]).expect("ignored");

        assert_eq!(config.jwt_aud, None);
    }

    #[test]
    fn every_problem_is_reported() {
        let problems = overrides(&[
            ("db_schemas", "api, pg_catalog"),
            ("openapi_server_proxy_uri", "htp:/@@localhost"),
            ("openapi_mode", "follow-"),
        ])
        .expect_err("three mistakes");

        assert_eq!(problems.len(), 3, "{problems:?}");
        assert!(problems[0].contains("pg_catalog cannot be exposed"));
        assert!(problems[1].starts_with("pgrst.openapi_mode: \"follow-\""));
        assert!(problems[2].contains("https://example.com:8443/base"));
    }

    #[test]
    fn a_proxy_url_is_an_absolute_http_url_without_user_and_query() {
        for good in ["https://example.org", "http://example.org:8080/api"] {
            assert!(proxy_url(good).is_ok(), "{good}");
        }
        for bad in [
            "example.org",
            "https:example.org",
            "ftp://example.org",
            "https://user@example.org",
            "https://example.org?x=1",
            "https://example.org:70000",
            "https://example.org:0",
        ] {
            assert!(proxy_url(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_audience_with_a_colon_is_a_uri() {
        for good in ["plain", "https://example.org", "urn:a:b", "https://a/%20"] {
            assert!(audience(good).is_ok(), "{good}");
        }
        for bad in ["http://%%localhost", "foo://%%$$^^.com", ":x", "a b:c"] {
            assert!(audience(bad).is_err(), "{bad}");
        }
    }
}
