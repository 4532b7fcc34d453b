//! `[experimental]`: switches of the official tool.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::key::Key;
use crate::value::Secret;

keys! {
    /// Offer the official compute commands.
    pub const COMPUTE: Key<Option<bool>> = optional_flag("experimental.compute").inert();

    /// Use the official tool's new local stack.
    pub const STACK: Key<Option<bool>> = optional_flag("experimental.stack").inert();

    /// Bucket host of the OrioleDB engine.
    pub const S3_HOST: Key<Option<String>> = optional_text("experimental.s3_host").inert();

    /// Bucket region of the OrioleDB engine.
    pub const S3_REGION: Key<Option<String>> = optional_text("experimental.s3_region").inert();

    /// Bucket key of the OrioleDB engine.
    pub const S3_ACCESS_KEY: Key<Option<Secret>> = secret("experimental.s3_access_key").inert();

    /// Bucket secret of the OrioleDB engine.
    pub const S3_SECRET_KEY: Key<Option<Secret>> = secret("experimental.s3_secret_key").inert();

    /// Offer database webhooks.
    pub const WEBHOOKS_ENABLED: Key<bool> = flag("experimental.webhooks.enabled", false).inert();

    /// Diff schemas with pg-delta.
    pub const PGDELTA_ENABLED: Key<bool> = flag("experimental.pgdelta.enabled", false).inert();

    /// Folder where declarative schema files are written.
    pub const PGDELTA_DECLARATIVE_SCHEMA_PATH: Key<Option<PathBuf>> =
        optional_path("experimental.pgdelta.declarative_schema_path").inert();

    /// JSON with SQL format options.
    pub const PGDELTA_FORMAT_OPTIONS: Key<Option<String>> =
        optional_text("experimental.pgdelta.format_options").inert();

    /// Rules of the official database inspection.
    pub const INSPECT_RULES: Key<Vec<BTreeMap<String, String>>> =
        records("experimental.inspect.rules", &["query", "name", "pass", "fail"]).inert();
}
