//! `[storage]`: files.

use std::path::PathBuf;

use super::COUNT;
use super::maps::{Map, Members};
use crate::key::{Key, MemberKey};
use crate::value::ByteSize;

/// Buckets that a start creates.
pub const BUCKETS: Map = Map::new("storage.buckets", Members::Any);

keys! {
    /// Serve the storage API.
    pub const ENABLED: Key<bool> = flag("storage.enabled", true);

    /// Maximum size of a file.
    pub const FILE_SIZE_LIMIT: Key<ByteSize> = bytes("storage.file_size_limit", "50MiB");

    // The official tool leaves this off because it starts a container for it; here it is built in.
    /// Transform images on request.
    pub const IMAGE_TRANSFORMATION_ENABLED: Key<bool> =
        flag("storage.image_transformation.enabled", true);

    /// Let anyone read this bucket.
    pub const BUCKETS_PUBLIC: MemberKey<bool> = flag("storage.buckets.*.public", false);

    /// Maximum size of a file in this bucket.
    pub const BUCKETS_FILE_SIZE_LIMIT: MemberKey<ByteSize> =
        bytes("storage.buckets.*.file_size_limit", "50MiB");

    /// MIME types that this bucket accepts; an empty list accepts all.
    pub const BUCKETS_ALLOWED_MIME_TYPES: MemberKey<Vec<String>> =
        list("storage.buckets.*.allowed_mime_types", &[]);

    /// Folder whose files are uploaded to this bucket on start.
    pub const BUCKETS_OBJECTS_PATH: MemberKey<Option<PathBuf>> =
        optional_path("storage.buckets.*.objects_path");

    /// Serve the S3 protocol.
    pub const S3_PROTOCOL_ENABLED: Key<bool> = flag("storage.s3_protocol.enabled", true);

    /// Offer analytics buckets.
    pub const ANALYTICS_ENABLED: Key<bool> = flag("storage.analytics.enabled", false).inert();

    /// Maximum number of analytics namespaces.
    pub const ANALYTICS_MAX_NAMESPACES: Key<u64> =
        integer("storage.analytics.max_namespaces", COUNT, 5).inert();

    /// Maximum number of analytics tables.
    pub const ANALYTICS_MAX_TABLES: Key<u64> =
        integer("storage.analytics.max_tables", COUNT, 10).inert();

    /// Maximum number of analytics catalogs.
    pub const ANALYTICS_MAX_CATALOGS: Key<u64> =
        integer("storage.analytics.max_catalogs", COUNT, 2).inert();

    /// Analytics buckets.
    pub const ANALYTICS_BUCKETS: Key<Vec<String>> = names("storage.analytics.buckets").inert();

    /// Offer vector buckets.
    pub const VECTOR_ENABLED: Key<bool> = flag("storage.vector.enabled", true).inert();

    /// Maximum number of vector buckets.
    pub const VECTOR_MAX_BUCKETS: Key<u64> =
        integer("storage.vector.max_buckets", COUNT, 10).inert();

    /// Maximum number of vector indexes.
    pub const VECTOR_MAX_INDEXES: Key<u64> =
        integer("storage.vector.max_indexes", COUNT, 5).inert();

    /// Vector buckets.
    pub const VECTOR_BUCKETS: Key<Vec<String>> = names("storage.vector.buckets").inert();
}
