//! `[analytics]`: the official log service. Plinth keeps its own logs (`plinth.logs`).

use crate::key::{Key, choice, flag, listen_port, optional_path, optional_port, optional_text};

pub(super) const KEYS: &[Key] = &[
    flag("analytics.enabled", true, "Run the official log service.").inert(),
    listen_port("analytics.port", 54327, "Port of the official log service.").inert(),
    choice(
        "analytics.backend",
        &["postgres", "bigquery"],
        "postgres",
        "Where it stores logs.",
    )
    .inert(),
    optional_port("analytics.vector_port", "Port that takes syslog messages.").inert(),
    optional_text("analytics.gcp_project_id", "Project at Google Cloud.").inert(),
    optional_text(
        "analytics.gcp_project_number",
        "Project number at Google Cloud.",
    )
    .inert(),
    optional_path("analytics.gcp_jwt_path", "Credentials for Google Cloud.").inert(),
];
