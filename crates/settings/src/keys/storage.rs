//! `[storage]`: files.

use super::COUNT;
use crate::key::{Key, bytes, flag, integer, list, names, optional_path};

pub(super) const KEYS: &[Key] = &[
    flag("storage.enabled", true, "Serve files."),
    bytes("storage.file_size_limit", "50MiB", "Largest file."),
    // The official tool leaves this off because it starts a container for it; here it is built in.
    flag(
        "storage.image_transformation.enabled",
        true,
        "Resize images on the fly.",
    ),
    flag(
        "storage.buckets.*.public",
        false,
        "Let anybody read this bucket.",
    ),
    bytes(
        "storage.buckets.*.file_size_limit",
        "50MiB",
        "Largest file of this bucket.",
    ),
    list(
        "storage.buckets.*.allowed_mime_types",
        &[],
        "Types it accepts; none accepts all.",
    ),
    optional_path(
        "storage.buckets.*.objects_path",
        "Folder whose files are uploaded to it.",
    ),
    flag("storage.s3_protocol.enabled", true, "Serve S3 clients."),
    flag(
        "storage.analytics.enabled",
        false,
        "Offer analytics buckets.",
    )
    .inert(),
    integer(
        "storage.analytics.max_namespaces",
        COUNT,
        5,
        "Most analytics namespaces.",
    )
    .inert(),
    integer(
        "storage.analytics.max_tables",
        COUNT,
        10,
        "Most analytics tables.",
    )
    .inert(),
    integer(
        "storage.analytics.max_catalogs",
        COUNT,
        2,
        "Most analytics catalogs.",
    )
    .inert(),
    names("storage.analytics.buckets", "Analytics buckets.").inert(),
    flag("storage.vector.enabled", true, "Offer vector buckets.").inert(),
    integer(
        "storage.vector.max_buckets",
        COUNT,
        10,
        "Most vector buckets.",
    )
    .inert(),
    integer(
        "storage.vector.max_indexes",
        COUNT,
        5,
        "Most vector indexes.",
    )
    .inert(),
    names("storage.vector.buckets", "Vector buckets.").inert(),
];
