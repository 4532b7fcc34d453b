//! Settings of the REST service for one project (rest contract §9).
//!
//! In the full server they come from the settings tree, in `plinth serve rest` from the
//! environment names and the file of PostgREST; in both, values that stand in the database win.

mod apply;
mod in_database;
mod jwt;
mod options;
mod postgrest;
mod role_settings;
mod settings;

use http::HeaderName;
use url::Url;

use crate::{auth::RoleClaim, schema_cache::QualifiedName};

pub(crate) use in_database::{current_user, load_in_database, session_user};
pub(crate) use jwt::JwtConfig;
pub use postgrest::{LogLevel, Place, PostgrestConfig, ServerConfig, Socket};
pub(crate) use role_settings::RoleSettings;

/// Everything that can be chosen about the service.
#[derive(Debug, Clone)]
pub struct RestConfig {
    /// `db-schemas`: exposed schemas, the default one first. Never empty.
    pub(crate) schemas: Vec<String>,
    /// `db-extra-search-path`
    pub(crate) extra_search_path: Vec<String>,
    /// `db-anon-role`; `None` refuses requests without a token.
    pub(crate) anon_role: Option<String>,
    /// `db-max-rows`
    pub(crate) max_rows: Option<i64>,
    /// `db-aggregates-enabled`
    pub(crate) aggregates_enabled: bool,
    /// `db-plan-enabled`
    pub(crate) plan_enabled: bool,
    /// `db-tx-end`
    pub(crate) tx_end: TxEnd,
    /// `db-pre-request`. Without a schema the search path finds it; its schema is empty then.
    pub(crate) pre_request: Option<QualifiedName>,
    /// `db-root-spec`
    pub(crate) root_spec: Option<QualifiedName>,
    /// `db-prepared-statements`
    pub(crate) prepared_statements: bool,
    /// `db-hoisted-tx-settings`
    pub(crate) hoisted_tx_settings: Vec<String>,
    /// `db-config`: whether values in the database count.
    pub(crate) db_config: bool,
    /// `db-pre-config`
    pub(crate) pre_config: Option<QualifiedName>,
    /// `db-channel`, when `db-channel-enabled`.
    pub(crate) channel: Option<String>,
    /// `jwt-aud`
    pub(crate) jwt_aud: Option<String>,
    /// `jwt-role-claim-key`
    pub(crate) role_claim: RoleClaim,
    /// Keys of its own, when the service runs alone. In the full server there are none: tokens
    /// are the platform's to check.
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
    /// `app.settings.*`, names in full.
    pub(crate) app_settings: Vec<(String, String)>,
    /// `log-query`: whether statements are logged, by the rule of this level.
    pub(crate) query_log: Option<LogLevel>,
    /// Refuse to update or delete without a filter.
    pub(crate) safe_update: bool,
}

impl RestConfig {
    /// Whether `jwt-role-claim-key` has the older syntax, which PostgREST is about to drop.
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

/// What the document at the root shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OpenApiMode {
    FollowPrivileges,
    IgnorePrivileges,
    Disabled,
}
