//! `[plinth.storage]`: what the file service needs beyond `[storage]`.

use std::path::PathBuf;
use std::time::Duration;

use super::{AT_LEAST_ONE, COUNT};
use crate::key::Key;
use crate::value::{ByteSize, Secret, WrittenUrl};

keys! {
    /// Where the blobs of files are stored.
    pub const BACKEND: Key<String> = choice("plinth.storage.backend", &["local", "s3"], "local");

    /// Folder of the `local` backend.
    pub const PATH: Key<Option<PathBuf>> = optional_path("plinth.storage.path");

    /// Endpoint of the S3 store; by default that of AWS in the region.
    pub const S3_ENDPOINT: Key<Option<WrittenUrl>> = optional_url("plinth.storage.s3.endpoint");

    /// Region of the S3 store; by default us-east-1.
    pub const S3_REGION: Key<Option<String>> = optional_text("plinth.storage.s3.region");

    /// Bucket in the S3 store.
    pub const S3_BUCKET: Key<Option<String>> = optional_text("plinth.storage.s3.bucket");

    /// Prefix of all object keys in the bucket.
    pub const S3_PREFIX: Key<Option<String>> = optional_text("plinth.storage.s3.prefix");

    /// Use path-style URLs: the bucket is part of the path, not of the host name.
    pub const S3_FORCE_PATH_STYLE: Key<bool> = flag("plinth.storage.s3.force_path_style", false);

    /// Access key of the S3 store.
    pub const S3_ACCESS_KEY: Key<Option<Secret>> = secret("plinth.storage.s3.access_key");

    /// Secret key of the S3 store.
    pub const S3_SECRET_KEY: Key<Option<Secret>> = secret("plinth.storage.s3.secret_key");

    /// Timeout of a response of the S3 store.
    pub const S3_TIMEOUT: Key<Duration> = duration("plinth.storage.s3.timeout", "30s");

    /// Port of our own on which the S3 protocol is served at `/`, for clients that allow no path in
    /// the URL; by default there is none.
    pub const S3_PORT: Key<Option<u16>> = optional_port("plinth.storage.s3.port");

    /// Maximum size of a file uploaded in a single request; by default `storage.file_size_limit`.
    pub const FILE_SIZE_LIMIT_STANDARD: Key<Option<ByteSize>> =
        optional_bytes("plinth.storage.file_size_limit_standard");

    /// Lifetime of a signed upload URL.
    pub const SIGNED_UPLOAD_EXPIRY: Key<Duration> =
        duration("plinth.storage.signed_upload_expiry", "2h");

    /// Lifetime of an unfinished resumable upload.
    pub const TUS_EXPIRY: Key<Duration> = duration("plinth.storage.tus.expiry", "24h");

    /// Part size of multipart uploads to the S3 store, at least 5MiB; larger for files of more
    /// than 10,000 parts.
    pub const TUS_PART_SIZE: Key<ByteSize> = bytes("plinth.storage.tus.part_size", "8MiB");

    /// Timeout for acquiring the lock of a resumable upload that another request holds.
    pub const TUS_LOCK_WAIT: Key<Duration> = duration("plinth.storage.tus.lock_wait", "5s");

    /// Key that signs URLs, instead of a generated one.
    pub const URL_SIGNING_KEY: Key<Option<Secret>> = secret("plinth.storage.url_signing_key");

    /// Region that clients of the S3 protocol must use.
    pub const S3_PROTOCOL_REGION: Key<String> = text("plinth.storage.s3_protocol.region", "local");

    /// Accept all Unicode characters that S3 clients can read (those of XML 1.0) in names of files; by
    /// default only ASCII letters, digits and ``_!.*'() &$=@;:+,?/-``, as the hosted service does.
    pub const UNICODE_KEYS: Key<bool> = flag("plinth.storage.unicode_keys", false);

    /// Maximum width and height of a transformed image, in pixels.
    pub const IMAGES_MAX_DIMENSION: Key<u64> =
        integer("plinth.storage.images.max_dimension", AT_LEAST_ONE, 2500);

    /// Maximum number of pixels of a source image.
    pub const IMAGES_MAX_PIXELS: Key<u64> =
        integer("plinth.storage.images.max_pixels", AT_LEAST_ONE, 50_000_000);

    /// Maximum file size of a source image.
    pub const IMAGES_MAX_BYTES: Key<ByteSize> =
        bytes("plinth.storage.images.max_bytes", "25000000");

    /// Maximum size of the cache of transformed images.
    pub const IMAGES_CACHE_BYTES: Key<ByteSize> =
        bytes("plinth.storage.images.cache_bytes", "1GiB");

    /// Number of images transformed concurrently; by default one per core.
    pub const IMAGES_WORKERS: Key<Option<usize>> =
        optional_integer("plinth.storage.images.workers", AT_LEAST_ONE);

    /// Memory for all images that are being transformed; an image that alone needs more is rejected.
    pub const IMAGES_MAX_MEMORY: Key<ByteSize> =
        bytes("plinth.storage.images.max_memory", "256MB");

    /// Grace period before garbage collection deletes the blobs of deleted and replaced files, and
    /// orphans.
    pub const GC_GRACE: Key<Duration> = duration("plinth.storage.gc.grace", "15m");

    /// Timeout of an upload's request body; an unfinished upload in a single request is deleted
    /// after it.
    pub const GC_LONGEST_UPLOAD: Key<Duration> =
        duration("plinth.storage.gc.longest_upload", "24h");

    /// Interval of garbage collection.
    pub const GC_EVERY: Key<Duration> = duration("plinth.storage.gc.every", "5m");

    /// Interval at which the store is scanned for orphaned blobs.
    pub const GC_SCAN_EVERY: Key<Duration> = duration("plinth.storage.gc.scan_every", "24h");

    /// Maximum number of files in a bucket that can still be emptied by one request.
    pub const EMPTY_BUCKET_MAX: Key<i64> =
        integer("plinth.storage.empty_bucket_max", COUNT, 200_000);

    /// `s-maxage` of the `Cache-Control` header, for shared caches, in seconds.
    pub const S_MAXAGE: Key<i64> = integer("plinth.storage.s_maxage", COUNT, 0);

    /// Statement timeout of storage queries.
    pub const STATEMENT_TIMEOUT: Key<Duration> =
        duration("plinth.storage.statement_timeout", "30s");

    /// Take over a store that belongs to another installation; set it for a single start.
    pub const ADOPT: Key<bool> = flag("plinth.storage.adopt", false);

    /// Sync files to disk before an upload is acknowledged.
    pub const FSYNC: Key<bool> = flag("plinth.storage.fsync", true);
}
