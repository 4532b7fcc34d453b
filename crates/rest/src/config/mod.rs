//! Settings of the REST service for one project (rest contract §9).
//!
//! In the full server they come from the settings tree, in `plinth serve rest` from PostgREST's
//! environment variables and file. In both, settings in the database win.

mod apply;
mod in_database;
mod jwt;
mod options;
mod postgrest;
mod role_claim;
mod role_settings;
mod settings;
mod stored_settings;

use http::HeaderName;
use url::Url;

use crate::schema_cache::QualifiedName;

pub(crate) use in_database::{current_user, load_in_database, session_user};
pub(crate) use jwt::JwtConfig;
pub use postgrest::{ListenAddress, LogLevel, PostgrestConfig, ServerConfig, UnixSocket};
pub(crate) use role_claim::RoleClaim;
pub(crate) use role_settings::RoleSettings;

/// Settings of the service for one project.
#[derive(Debug, Clone)]
pub struct RestConfig {
    /// `db-schemas`: exposed schemas, the default one first. Never empty.
    pub(crate) schemas: Vec<String>,
    /// `db-extra-search-path`
    pub(crate) extra_search_path: Vec<String>,
    /// `db-anon-role`; `None` rejects requests without a token.
    pub(crate) anon_role: Option<String>,
    /// `db-max-rows`
    pub(crate) max_rows: Option<i64>,
    /// `db-aggregates-enabled`
    pub(crate) aggregates_enabled: bool,
    /// `db-plan-enabled`
    pub(crate) plan_enabled: bool,
    /// `db-tx-end`
    pub(crate) tx_end: TxEnd,
    /// `db-pre-request`. Its schema may be empty: then it is found by the search path.
    pub(crate) pre_request: Option<QualifiedName>,
    /// `db-root-spec`
    pub(crate) root_spec: Option<QualifiedName>,
    /// `db-prepared-statements`
    pub(crate) prepared_statements: bool,
    /// `db-hoisted-tx-settings`
    pub(crate) hoisted_tx_settings: Vec<String>,
    /// `db-config`: whether settings in the database are used.
    pub(crate) db_config: bool,
    /// `db-pre-config`
    pub(crate) pre_config: Option<QualifiedName>,
    /// `db-channel`, when `db-channel-enabled`.
    pub(crate) channel: Option<String>,
    /// `jwt-aud`
    pub(crate) jwt_aud: Option<String>,
    /// `jwt-role-claim-key`
    pub(crate) role_claim: RoleClaim,
    /// Keys of a standalone service. `None` in the full server, where the gateway verifies tokens.
    pub(crate) jwt: Option<JwtConfig>,
    /// `client-error-verbosity`
    pub(crate) errors_are_verbose: bool,
    /// `url-use-legacy-target-names`
    pub(crate) legacy_target_names: bool,
    /// `openapi-mode`
    pub(crate) openapi_mode: OpenApiMode,
    /// `openapi-security-active`
    pub(crate) openapi_security_active: bool,
    /// `openapi-server-proxy-uri`
    pub(crate) openapi_server_proxy_uri: Option<Url>,
    /// `server-cors-allowed-origins`; empty allows all.
    pub(crate) cors_allowed_origins: Vec<String>,
    /// `server-timing-enabled`
    pub(crate) server_timing: bool,
    /// `server-trace-header`
    pub(crate) trace_header: Option<HeaderName>,
    /// `app.settings.*`, with full names.
    pub(crate) app_settings: Vec<(String, String)>,
    /// `log-query`: statements are logged for requests that this level logs.
    pub(crate) query_log: Option<LogLevel>,
    /// Whether an UPDATE or DELETE without a filter is rejected.
    pub(crate) safe_update: bool,
}

impl RestConfig {
    /// Whether `jwt-role-claim-key` has the older syntax, which PostgREST has deprecated.
    pub fn has_legacy_role_claim(&self) -> bool {
        self.role_claim.is_legacy()
    }
}

/// How a transaction ends, and whether clients may choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TxEnd {
    pub(crate) rolls_back: bool,
    pub(crate) allows_override: bool,
}

/// `openapi-mode`: what the document at the root shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OpenApiMode {
    FollowPrivileges,
    IgnorePrivileges,
    Disabled,
}
