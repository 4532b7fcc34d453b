//! `[plinth.rest]`: what PostgREST's own configuration has and `[api]` has not.

use super::COUNT;
use crate::key::{Key, choice, flag, integer, list, optional_text, optional_url, table, text};

pub(super) const KEYS: &[Key] = &[
    text(
        "plinth.rest.db_anon_role",
        "anon",
        "Role of requests without a token.",
    ),
    flag(
        "plinth.rest.db_aggregates_enabled",
        false,
        "Allow aggregate functions in `select`.",
    ),
    flag(
        "plinth.rest.db_plan_enabled",
        false,
        "Allow clients to ask for the execution plan.",
    ),
    choice(
        "plinth.rest.db_tx_end",
        &[
            "commit",
            "commit-allow-override",
            "rollback",
            "rollback-allow-override",
        ],
        "commit",
        "How a request's transaction ends, and whether the client may choose.",
    ),
    optional_text(
        "plinth.rest.db_pre_request",
        "Function to call before each request.",
    ),
    optional_text(
        "plinth.rest.db_root_spec",
        "Function that answers at the root.",
    ),
    flag(
        "plinth.rest.db_prepared_statements",
        true,
        "Prepare statements.",
    ),
    list(
        "plinth.rest.db_hoisted_tx_settings",
        &[
            "statement_timeout",
            "plan_filter.statement_cost_limit",
            "default_transaction_isolation",
        ],
        "Settings of a function that apply to its whole transaction.",
    ),
    flag(
        "plinth.rest.db_config",
        true,
        "Read `pgrst.*` settings from the database.",
    ),
    optional_text(
        "plinth.rest.db_pre_config",
        "Function that sets `pgrst.*` settings.",
    ),
    text(
        "plinth.rest.db_channel",
        "pgrst",
        "Channel on which a reload is asked for.",
    ),
    flag(
        "plinth.rest.db_channel_enabled",
        true,
        "Listen on that channel.",
    ),
    flag(
        "plinth.rest.db_pool_automatic_recovery",
        true,
        "Reconnect when the database is lost.",
    ),
    optional_text("plinth.rest.jwt_aud", "Audience that tokens must name."),
    text(
        "plinth.rest.jwt_role_claim_key",
        "$.role",
        "Where a token holds the role.",
    ),
    integer(
        "plinth.rest.jwt_cache_max_entries",
        COUNT,
        1000,
        "Most verified tokens remembered.",
    ),
    choice(
        "plinth.rest.client_error_verbosity",
        &["verbose", "minimal"],
        "verbose",
        "Whether errors carry details and hints.",
    ),
    flag(
        "plinth.rest.url_use_legacy_target_names",
        true,
        "Let the URL name a relationship's target in the old way.",
    ),
    choice(
        "plinth.rest.openapi_mode",
        &["follow-privileges", "ignore-privileges", "disabled"],
        "follow-privileges",
        "What the OpenAPI description at the root shows.",
    ),
    flag(
        "plinth.rest.openapi_security_active",
        false,
        "Describe the token in it.",
    ),
    optional_url(
        "plinth.rest.openapi_server_proxy_uri",
        "Base URL that it names.",
    ),
    list(
        "plinth.rest.server_cors_allowed_origins",
        &[],
        "Origins that browsers may call from; none allows all.",
    ),
    flag(
        "plinth.rest.server_timing_enabled",
        false,
        "Send the header Server-Timing.",
    ),
    optional_text(
        "plinth.rest.server_trace_header",
        "Request header to send back.",
    ),
    table(
        "plinth.rest.app_settings",
        "Values that SQL reads as `app.settings.<name>`.",
    ),
    flag(
        "plinth.rest.safe_update",
        true,
        "Refuse to update or delete without a filter.",
    ),
];
