//! `[plinth.storage]`: what the file service needs beyond `[storage]`.

use super::{AT_LEAST_ONE, COUNT};
use crate::key::{
    Key, bytes, choice, duration, flag, integer, optional_bytes, optional_integer, optional_path,
    optional_text, optional_url, secret, text,
};

pub(super) const KEYS: &[Key] = &[
    choice(
        "plinth.storage.backend",
        &["local", "s3"],
        "local",
        "Where the bytes of files live.",
    ),
    optional_path("plinth.storage.path", "Folder of the local backend."),
    optional_url(
        "plinth.storage.s3.endpoint",
        "Address of the S3 store; unset means that of Amazon in the region.",
    ),
    optional_text(
        "plinth.storage.s3.region",
        "Region of the S3 store; unset means us-east-1.",
    ),
    optional_text("plinth.storage.s3.bucket", "Bucket in the S3 store."),
    optional_text(
        "plinth.storage.s3.prefix",
        "Prefix of all keys in that bucket.",
    ),
    flag(
        "plinth.storage.s3.force_path_style",
        false,
        "Name the bucket in the path, not the host.",
    ),
    secret(
        "plinth.storage.s3.access_key",
        "Access key of the S3 store.",
    ),
    secret(
        "plinth.storage.s3.secret_key",
        "Secret key of the S3 store.",
    ),
    duration(
        "plinth.storage.s3.timeout",
        "30s",
        "Longest wait for an answer of the S3 store.",
    ),
    optional_bytes(
        "plinth.storage.file_size_limit_standard",
        "Largest file in a single request; unset means storage.file_size_limit.",
    ),
    duration(
        "plinth.storage.signed_upload_expiry",
        "2h",
        "Lifetime of a signed upload URL.",
    ),
    duration(
        "plinth.storage.tus.expiry",
        "24h",
        "Lifetime of an unfinished resumable upload.",
    ),
    bytes(
        "plinth.storage.tus.part_size",
        "8MiB",
        "Size of the parts sent to the S3 store, at least 5MiB; longer for files of more than 10,000.",
    ),
    duration(
        "plinth.storage.tus.lock_wait",
        "5s",
        "Wait for another writer of an upload.",
    ),
    secret(
        "plinth.storage.url_signing_key",
        "Key of signed URLs, instead of a generated one.",
    ),
    text(
        "plinth.storage.s3_protocol.region",
        "local",
        "Region that S3 clients must name.",
    ),
    integer(
        "plinth.storage.images.max_dimension",
        AT_LEAST_ONE,
        2500,
        "Widest or highest result.",
    ),
    integer(
        "plinth.storage.images.max_pixels",
        AT_LEAST_ONE,
        50_000_000,
        "Largest source image.",
    ),
    bytes(
        "plinth.storage.images.max_bytes",
        "25000000",
        "Largest source file.",
    ),
    bytes(
        "plinth.storage.images.cache_bytes",
        "1GiB",
        "Space for finished images.",
    ),
    optional_integer(
        "plinth.storage.images.workers",
        AT_LEAST_ONE,
        "Images worked on at once; by default one per core.",
    ),
    duration(
        "plinth.storage.gc.grace",
        "15m",
        "How long bytes stay after they were deleted or replaced, for downloads that have begun; \
         bytes that nothing names are left alone as long.",
    ),
    duration(
        "plinth.storage.gc.longest_upload",
        "24h",
        "The longest that a request's body may take; after this time an upload in one request that \
         became no file is given up.",
    ),
    duration(
        "plinth.storage.gc.every",
        "5m",
        "How often bytes that nobody needs are removed.",
    ),
    duration(
        "plinth.storage.gc.scan_every",
        "24h",
        "How often the store is searched for bytes that nothing names.",
    ),
    integer(
        "plinth.storage.empty_bucket_max",
        COUNT,
        200_000,
        "Most files emptied at once.",
    ),
    integer(
        "plinth.storage.s_maxage",
        COUNT,
        0,
        "Seconds that shared caches may keep a file.",
    ),
    duration(
        "plinth.storage.statement_timeout",
        "30s",
        "Longest SQL statement.",
    ),
    flag(
        "plinth.storage.adopt",
        false,
        "Take over a store that another installation has used; for one start.",
    ),
    flag(
        "plinth.storage.fsync",
        true,
        "Wait for the disk before a file counts as stored.",
    ),
];
