//! `[plinth.rest]`: what PostgREST's own configuration has and `[api]` has not.

use std::collections::BTreeMap;

use super::COUNT;
use crate::key::Key;
use crate::value::WrittenUrl;

keys! {
    /// Database role of requests without a token.
    pub const DB_ANON_ROLE: Key<String> = text("plinth.rest.db_anon_role", "anon");

    /// Allow aggregate functions in `select`.
    pub const DB_AGGREGATES_ENABLED: Key<bool> = flag("plinth.rest.db_aggregates_enabled", false);

    /// Allow clients to request the execution plan.
    pub const DB_PLAN_ENABLED: Key<bool> = flag("plinth.rest.db_plan_enabled", false);

    /// Whether a request's transaction commits or rolls back, and whether the client may override
    /// it.
    pub const DB_TX_END: Key<String> = choice(
        "plinth.rest.db_tx_end",
        &["commit", "commit-allow-override", "rollback", "rollback-allow-override"],
        "commit",
    );

    /// Function to call before each request.
    pub const DB_PRE_REQUEST: Key<Option<String>> = optional_text("plinth.rest.db_pre_request");

    /// Function that serves the root path instead of the OpenAPI description.
    pub const DB_ROOT_SPEC: Key<Option<String>> = optional_text("plinth.rest.db_root_spec");

    /// Use prepared statements.
    pub const DB_PREPARED_STATEMENTS: Key<bool> = flag("plinth.rest.db_prepared_statements", true);

    /// Parameters of a function that are applied to its whole transaction.
    pub const DB_HOISTED_TX_SETTINGS: Key<Vec<String>> = list(
        "plinth.rest.db_hoisted_tx_settings",
        &[
            "statement_timeout", "plan_filter.statement_cost_limit",
            "default_transaction_isolation",
        ],
    );

    /// Read `pgrst.*` parameters of the authenticator role from the database.
    pub const DB_CONFIG: Key<bool> = flag("plinth.rest.db_config", true);

    /// Function that sets `pgrst.*` parameters.
    pub const DB_PRE_CONFIG: Key<Option<String>> = optional_text("plinth.rest.db_pre_config");

    /// `NOTIFY` channel on which a reload of the schema cache is requested.
    pub const DB_CHANNEL: Key<String> = text("plinth.rest.db_channel", "pgrst");

    /// Listen on `db_channel`.
    pub const DB_CHANNEL_ENABLED: Key<bool> = flag("plinth.rest.db_channel_enabled", true);

    /// Reconnect when the connection to the database is lost.
    pub const DB_POOL_AUTOMATIC_RECOVERY: Key<bool> =
        flag("plinth.rest.db_pool_automatic_recovery", true).inert();

    /// Audience (`aud`) that tokens must have.
    pub const JWT_AUD: Key<Option<String>> = optional_text("plinth.rest.jwt_aud");

    /// JSON path of the role in the claims of a token.
    pub const JWT_ROLE_CLAIM_KEY: Key<String> = text("plinth.rest.jwt_role_claim_key", "$.role");

    /// Maximum number of verified tokens in the cache.
    pub const JWT_CACHE_MAX_ENTRIES: Key<u64> =
        integer("plinth.rest.jwt_cache_max_entries", COUNT, 1000).inert();

    /// Whether errors contain details and hints.
    pub const CLIENT_ERROR_VERBOSITY: Key<String> =
        choice("plinth.rest.client_error_verbosity", &["verbose", "minimal"], "verbose");

    /// Accept the legacy names of relationship targets in URLs.
    pub const URL_USE_LEGACY_TARGET_NAMES: Key<bool> =
        flag("plinth.rest.url_use_legacy_target_names", true);

    /// What the OpenAPI description at the root path shows.
    pub const OPENAPI_MODE: Key<String> = choice(
        "plinth.rest.openapi_mode",
        &["follow-privileges", "ignore-privileges", "disabled"],
        "follow-privileges",
    );

    /// Include the security scheme (JWT) in the OpenAPI description.
    pub const OPENAPI_SECURITY_ACTIVE: Key<bool> =
        flag("plinth.rest.openapi_security_active", false);

    /// Base URL in the OpenAPI description.
    pub const OPENAPI_SERVER_PROXY_URI: Key<Option<WrittenUrl>> =
        optional_url("plinth.rest.openapi_server_proxy_uri");

    /// Origins that CORS allows; an empty list allows all.
    pub const SERVER_CORS_ALLOWED_ORIGINS: Key<Vec<String>> =
        list("plinth.rest.server_cors_allowed_origins", &[]);

    /// Send the response header `Server-Timing`.
    pub const SERVER_TIMING_ENABLED: Key<bool> = flag("plinth.rest.server_timing_enabled", false);

    /// Request header to echo in the response.
    pub const SERVER_TRACE_HEADER: Key<Option<String>> =
        optional_text("plinth.rest.server_trace_header");

    /// Values that SQL reads as `app.settings.<name>`.
    pub const APP_SETTINGS: Key<BTreeMap<String, String>> = table("plinth.rest.app_settings");

    /// Reject updates and deletes without a filter.
    pub const SAFE_UPDATE: Key<bool> = flag("plinth.rest.safe_update", true);
}
