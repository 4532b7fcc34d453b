//! `GET /v1/organizations/{slug}/entitlements`: no feature depends on a plan (F21).

use axum::{Json, extract::State};
use serde_json::{Value, json};

use super::{Operator, body::Segments};
use crate::{Platform, PlatformError};

/// Boolean features, named as in the Management API.
const BOOLEAN_FEATURES: &[&str] = &[
    "instances.read_replicas",
    "instances.disk_modifications",
    "instances.high_availability",
    "instances.orioledb",
    "replication.etl",
    "storage.max_file_size.configurable",
    "storage.image_transformations",
    "storage.vector_buckets",
    "storage.iceberg_catalog",
    "storage.purge_cache",
    "security.questionnaire",
    "security.soc2_report",
    "security.iso27001_certificate",
    "security.private_link",
    "security.enforce_mfa",
    "custom_domain",
    "vanity_subdomain",
    "ipv4",
    "log_drains",
    "audit_log_drains",
    "branching_persistent",
    "auth.mfa_phone",
    "auth.mfa_web_authn",
    "auth.mfa_enhanced_security",
    "auth.hooks",
    "auth.platform.sso",
    "auth.custom_jwt_template",
    "auth.saml_2",
    "auth.user_sessions",
    "auth.leaked_password_protection",
    "auth.advanced_auth_settings",
    "auth.performance_settings",
    "auth.password_hibp",
    "backup.restore_to_new_project",
    "backup.schedule",
    "project_scoped_roles",
    "project_pausing",
    "project_cloning",
    "project_restore_after_expiry",
    "assistant.advance_model",
    "integrations.github_connections",
    "dedicated_pooler",
    "observability.dashboard_advanced_metrics",
    "api.members.invitations",
    "api.members.roles",
];

/// Numeric features; reported as unlimited.
const NUMERIC_FEATURES: &[&str] = &[
    "storage.max_file_size",
    "security.audit_logs_days",
    "log.retention_days",
    "branching_limit",
    "auth.custom_oauth.max_providers",
    "backup.retention_days",
    "function.max_count",
    "function.size_limit_mb",
    "realtime.max_concurrent_users",
    "realtime.max_events_per_second",
    "realtime.max_joins_per_second",
    "realtime.max_channels_per_client",
    "realtime.max_bytes_per_second",
    "realtime.max_presence_events_per_second",
    "realtime.max_payload_size_in_kb",
    "integrations.github_push_webhooks_limit",
];

/// Features with a set of values.
const SET_FEATURES: &[&str] = &[
    "instances.compute_update_available_sizes",
    "pitr.available_variants",
    "security.member_roles",
];

/// Reports every feature as enabled, whether Plinth has it or not: a missing one is reported by its
/// own endpoint, and clients do not ask for an upgrade.
pub(super) async fn list(
    _operator: Operator,
    State(platform): State<Platform>,
    Segments(slug): Segments<String>,
) -> Result<Json<Value>, PlatformError> {
    platform.load_organization(&slug).await?;
    let boolean = features(BOOLEAN_FEATURES, "boolean", json!({ "enabled": true }));
    let unlimited = json!({ "enabled": true, "value": 0, "unlimited": true, "unit": "" });
    let numeric = features(NUMERIC_FEATURES, "numeric", unlimited);
    let sets = features(SET_FEATURES, "set", json!({ "enabled": true, "set": [] }));
    let all: Vec<Value> = boolean.chain(numeric).chain(sets).collect();
    Ok(Json(json!({ "entitlements": all })))
}

fn features(
    keys: &'static [&str],
    kind: &'static str,
    config: Value,
) -> impl Iterator<Item = Value> {
    keys.iter().map(move |key| {
        json!({
            "feature": { "key": key, "type": kind },
            "hasAccess": true,
            "type": kind,
            "config": config,
        })
    })
}
