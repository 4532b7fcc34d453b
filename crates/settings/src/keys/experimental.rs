//! `[experimental]`: switches of the official tool.

use crate::key::{Key, flag, optional_flag, optional_path, optional_text, records, secret};

pub(super) const KEYS: &[Key] = &[
    optional_flag(
        "experimental.compute",
        "Offer the official compute commands.",
    )
    .inert(),
    optional_flag(
        "experimental.stack",
        "Use the official tool's new local stack.",
    )
    .inert(),
    optional_text(
        "experimental.s3_host",
        "Bucket host of the OrioleDB engine.",
    )
    .inert(),
    optional_text(
        "experimental.s3_region",
        "Bucket region of the OrioleDB engine.",
    )
    .inert(),
    secret(
        "experimental.s3_access_key",
        "Bucket key of the OrioleDB engine.",
    )
    .inert(),
    secret(
        "experimental.s3_secret_key",
        "Bucket secret of the OrioleDB engine.",
    )
    .inert(),
    flag(
        "experimental.webhooks.enabled",
        false,
        "Offer database webhooks.",
    )
    .inert(),
    flag(
        "experimental.pgdelta.enabled",
        false,
        "Diff schemas with pg-delta.",
    )
    .inert(),
    optional_path(
        "experimental.pgdelta.declarative_schema_path",
        "Folder where declarative schema files are written.",
    )
    .inert(),
    optional_text(
        "experimental.pgdelta.format_options",
        "JSON with SQL format options.",
    )
    .inert(),
    records(
        "experimental.inspect.rules",
        &["query", "name", "pass", "fail"],
        "Rules of the official database inspection.",
    )
    .inert(),
];
