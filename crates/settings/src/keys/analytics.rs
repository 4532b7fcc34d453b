//! `[analytics]`: the official log service. Plinth keeps its own logs (`plinth.logs`).

use std::path::PathBuf;

use crate::key::Key;

keys! {
    /// Run the official log service.
    pub const ENABLED: Key<bool> = flag("analytics.enabled", true).inert();

    /// Port of the official log service.
    pub const PORT: Key<u16> = listen_port("analytics.port", 54327).inert();

    /// Storage backend of the official log service.
    pub const BACKEND: Key<String> =
        choice("analytics.backend", &["postgres", "bigquery"], "postgres").inert();

    /// Port that receives syslog messages.
    pub const VECTOR_PORT: Key<Option<u16>> = optional_port("analytics.vector_port").inert();

    /// Google Cloud project ID.
    pub const GCP_PROJECT_ID: Key<Option<String>> =
        optional_text("analytics.gcp_project_id").inert();

    /// Google Cloud project number.
    pub const GCP_PROJECT_NUMBER: Key<Option<String>> =
        optional_text("analytics.gcp_project_number").inert();

    /// Google Cloud credentials file.
    pub const GCP_JWT_PATH: Key<Option<PathBuf>> = optional_path("analytics.gcp_jwt_path").inert();
}
