//! `[api]`: the HTTP entrance and the REST API.

use std::path::PathBuf;

use super::COUNT;
use crate::key::Key;
use crate::value::WrittenUrl;

keys! {
    /// Serve the REST API.
    pub const ENABLED: Key<bool> = flag("api.enabled", true).inert();

    /// Port of the HTTP API and the web pages.
    pub const PORT: Key<u16> = listen_port("api.port", 54321);

    /// Schemas whose tables, views and functions the REST API exposes.
    pub const SCHEMAS: Key<Vec<String>> = list("api.schemas", &["public", "graphql_public"]);

    /// Schemas added to the `search_path` of every REST request.
    pub const EXTRA_SEARCH_PATH: Key<Vec<String>> =
        list("api.extra_search_path", &["public", "extensions"]);

    /// Maximum number of rows in a REST response.
    pub const MAX_ROWS: Key<i64> = integer("api.max_rows", COUNT, 1000);

    /// Grant the API roles access to new objects that `postgres` creates in `public`; enabled if
    /// unset.
    pub const AUTO_EXPOSE_NEW_TABLES: Key<Option<bool>> =
        optional_flag("api.auto_expose_new_tables").inert();

    /// Serve HTTPS instead of HTTP.
    pub const TLS_ENABLED: Key<bool> = flag("api.tls.enabled", false).inert();

    /// Certificate file for HTTPS; self-signed if unset.
    pub const TLS_CERT_PATH: Key<Option<PathBuf>> = optional_path("api.tls.cert_path").inert();

    /// Private key file of the certificate.
    pub const TLS_KEY_PATH: Key<Option<PathBuf>> = optional_path("api.tls.key_path").inert();

    /// Public URL of the API, as clients reach it.
    pub const EXTERNAL_URL: Key<Option<WrittenUrl>> = optional_url("api.external_url");
}
