//! What an S3 request asks for (storage contract §6.2).

use http::{HeaderMap, Method, header::CONTENT_TYPE};

use super::query::Query;
use crate::{
    error::{Code, StorageError},
    request::percent_decode,
};

/// The operations that are implemented.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operation {
    ListBuckets,
    CreateBucket,
    HeadBucket,
    DeleteBucket,
    GetBucketLocation,
    GetBucketVersioning,
    ListObjects,
    ListObjectsV2,
    ListObjectVersions,
    ListMultipartUploads,
    DeleteObjects,
    /// An upload from a form.
    PostObject,
    PutObject,
    CopyObject,
    GetObject,
    HeadObject,
    GetObjectTagging,
    DeleteObject,
    CreateMultipartUpload,
    UploadPart,
    UploadPartCopy,
    ListParts,
    CompleteMultipartUpload,
    AbortMultipartUpload,
}

/// The bucket and the key of a path. Either may be empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) bucket: String,
    pub(super) key: String,
}

impl Target {
    /// Parses the path below `/s3`.
    pub(super) fn parse(path: &str) -> Result<Self, StorageError> {
        let rest = path.strip_prefix('/').unwrap_or(path);
        let (bucket, key) = rest.split_once('/').unwrap_or((rest, ""));
        Ok(Self {
            bucket: percent_decode(bucket)?,
            key: percent_decode(key)?,
        })
    }
}

/// Subresources of S3 that are not implemented.
const NOT_IMPLEMENTED: &[&str] = &[
    "accelerate",
    "acl",
    "analytics",
    "attributes",
    "cors",
    "encryption",
    "intelligent-tiering",
    "inventory",
    "legal-hold",
    "lifecycle",
    "logging",
    "metadataConfiguration",
    "metadataTable",
    "metrics",
    "notification",
    "object-lock",
    "ownershipControls",
    "policy",
    "policyStatus",
    "publicAccessBlock",
    "replication",
    "requestPayment",
    "restore",
    "retention",
    "select",
    "session",
    "torrent",
    "website",
];
/// Subresources that an operation has.
const SUBRESOURCES: &[&str] = &[
    "delete",
    "location",
    "partNumber",
    "tagging",
    "uploadId",
    "uploads",
    "versioning",
    "versions",
];
/// Headers for features that are not implemented, and that must not be ignored.
const UNSUPPORTED_HEADERS: &[&str] = &[
    "x-amz-object-lock-mode",
    "x-amz-object-lock-legal-hold",
    "x-amz-server-side-encryption",
    "x-amz-server-side-encryption-customer-algorithm",
    "x-amz-copy-source-server-side-encryption-customer-algorithm",
    "x-amz-tagging",
];

impl Operation {
    pub(super) fn find(
        method: &Method,
        target: &Target,
        query: &Query,
        headers: &HeaderMap,
    ) -> Result<Self, StorageError> {
        reject_unsupported(query, headers)?;
        let subresources: Vec<_> = SUBRESOURCES
            .iter()
            .copied()
            .filter(|name| query.has(name))
            .collect();
        let is_copy = headers.contains_key("x-amz-copy-source");
        let found = match (target.bucket.is_empty(), target.key.is_empty()) {
            (true, true) => service_operation(method, &subresources),
            (true, false) => None,
            (false, true) => bucket_operation(method, &subresources, query, headers),
            (false, false) => object_operation(method, &subresources, is_copy),
        };
        found.ok_or_else(|| not_implemented("This operation"))
    }

    /// What policies read as `storage.operation()` (storage contract §10.4).
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::ListBuckets => "storage.s3.bucket.list",
            Self::CreateBucket => "storage.s3.bucket.create",
            Self::HeadBucket => "storage.s3.bucket.head",
            Self::DeleteBucket => "storage.s3.bucket.delete",
            Self::GetBucketLocation => "storage.s3.bucket.get_location",
            Self::GetBucketVersioning => "storage.s3.bucket.get_versioning",
            Self::ListObjects | Self::ListObjectsV2 | Self::ListObjectVersions => {
                "storage.s3.object.list"
            }
            Self::ListMultipartUploads => "storage.s3.upload.list_multipart",
            Self::DeleteObjects => "storage.s3.object.delete_many",
            Self::PostObject | Self::PutObject => "storage.s3.upload",
            Self::CopyObject => "storage.s3.object.copy",
            Self::GetObject => "storage.s3.object.get",
            Self::HeadObject => "storage.s3.object.info",
            Self::GetObjectTagging => "storage.s3.object.get_tagging",
            Self::DeleteObject => "storage.s3.object.delete",
            Self::CreateMultipartUpload => "storage.s3.upload.create_multipart",
            Self::UploadPart => "storage.s3.upload.part",
            Self::UploadPartCopy => "storage.s3.upload.part_copy",
            Self::ListParts => "storage.s3.upload.list_parts",
            Self::CompleteMultipartUpload => "storage.s3.upload.complete_multipart",
            Self::AbortMultipartUpload => "storage.s3.upload.abort_multipart",
        }
    }

    /// Whether the checksums in the headers are those of the body. When a multipart upload is
    /// completed they are those of the object.
    pub(super) fn has_checksums(self) -> bool {
        self != Self::CompleteMultipartUpload
    }

    /// Whether it reads the body. Otherwise the body should be empty and is only verified.
    pub(super) fn takes_body(self) -> bool {
        use Operation::*;
        matches!(
            self,
            PutObject
                | UploadPart
                | CreateBucket
                | DeleteObjects
                | CreateMultipartUpload
                | CompleteMultipartUpload
        )
    }
}

fn reject_unsupported(query: &Query, headers: &HeaderMap) -> Result<(), StorageError> {
    let is_unsupported = |name: &&str| NOT_IMPLEMENTED.contains(name);
    if let Some(name) = query.pairs().map(|(name, _)| name).find(is_unsupported) {
        return Err(not_implemented(name));
    }
    if query.non_empty("versionId").is_some_and(|id| id != "null") {
        return Err(not_implemented("versionId"));
    }
    match UNSUPPORTED_HEADERS
        .iter()
        .find(|name| headers.contains_key(**name))
    {
        Some(name) => Err(not_implemented(name)),
        None => Ok(()),
    }
}

fn service_operation(method: &Method, subresources: &[&str]) -> Option<Operation> {
    (*method == Method::GET && subresources.is_empty()).then_some(Operation::ListBuckets)
}

fn bucket_operation(
    method: &Method,
    subresources: &[&str],
    query: &Query,
    headers: &HeaderMap,
) -> Option<Operation> {
    use Operation::*;
    let is_form = || {
        let kind = headers.get(CONTENT_TYPE)?.to_str().ok()?;
        let kind = kind.get(..19)?;
        Some(kind.eq_ignore_ascii_case("multipart/form-data"))
    };
    let operation = match (method, subresources) {
        (&Method::GET, []) => match query.get("list-type") {
            Some("2") => ListObjectsV2,
            None | Some("" | "1") => ListObjects,
            Some(_) => return None,
        },
        (&Method::GET, ["location"]) => GetBucketLocation,
        (&Method::GET, ["versioning"]) => GetBucketVersioning,
        (&Method::GET, ["versions"]) => ListObjectVersions,
        (&Method::GET, ["uploads"]) => ListMultipartUploads,
        (&Method::PUT, []) => CreateBucket,
        (&Method::HEAD, []) => HeadBucket,
        (&Method::DELETE, []) => DeleteBucket,
        (&Method::POST, ["delete"]) => DeleteObjects,
        (&Method::POST, []) if is_form() == Some(true) => PostObject,
        _ => return None,
    };
    Some(operation)
}

fn object_operation(method: &Method, subresources: &[&str], is_copy: bool) -> Option<Operation> {
    use Operation::*;
    let operation = match (method, subresources) {
        (&Method::GET, []) => GetObject,
        (&Method::HEAD, []) => HeadObject,
        (&Method::GET, ["tagging"]) => GetObjectTagging,
        (&Method::GET, ["uploadId"]) => ListParts,
        (&Method::PUT, []) if is_copy => CopyObject,
        (&Method::PUT, []) => PutObject,
        (&Method::PUT, ["partNumber", "uploadId"]) if is_copy => UploadPartCopy,
        (&Method::PUT, ["partNumber", "uploadId"]) => UploadPart,
        (&Method::DELETE, []) => DeleteObject,
        (&Method::DELETE, ["uploadId"]) => AbortMultipartUpload,
        (&Method::POST, ["uploads"]) => CreateMultipartUpload,
        (&Method::POST, ["uploadId"]) => CompleteMultipartUpload,
        _ => return None,
    };
    Some(operation)
}

fn not_implemented(what: &str) -> StorageError {
    let message = format!("{what} is not implemented");
    StorageError::new(Code::NotImplemented, 501, message)
}

#[cfg(test)]
mod tests {
    use http::{HeaderName, HeaderValue};

    use super::*;

    fn find(method: Method, path: &str, query: &str) -> Option<Operation> {
        let target = Target::parse(path).expect("a path");
        let query = Query::parse(Some(query));
        Operation::find(&method, &target, &query, &HeaderMap::new()).ok()
    }

    #[test]
    fn paths_and_parameters_select_the_operation() {
        use Operation::*;
        let check = |method, path, query, expected| {
            assert_eq!(find(method, path, query), expected, "{path}?{query}");
        };
        check(Method::GET, "", "", Some(ListBuckets));
        check(Method::GET, "/", "x-id=ListBuckets", Some(ListBuckets));
        check(Method::GET, "/b", "", Some(ListObjects));
        check(
            Method::GET,
            "/b/",
            "list-type=2&prefix=a",
            Some(ListObjectsV2),
        );
        check(Method::GET, "/b", "list-type=3", None);
        check(Method::GET, "/b", "location", Some(GetBucketLocation));
        check(Method::GET, "/b", "uploads=", Some(ListMultipartUploads));
        check(Method::POST, "/b", "delete=", Some(DeleteObjects));
        check(
            Method::PUT,
            "/b/k",
            "partNumber=1&uploadId=u",
            Some(UploadPart),
        );
        check(Method::PUT, "/b/k", "uploadId=u", None);
        check(Method::GET, "/b/k", "partNumber=1", None);
        check(Method::GET, "/b/k", "uploadId=u", Some(ListParts));
        check(Method::POST, "/b/k", "uploads", Some(CreateMultipartUpload));
        check(Method::DELETE, "/b/k", "versionId=null", Some(DeleteObject));
        check(Method::DELETE, "/b/k", "versionId=3", None);
        check(Method::GET, "/b", "acl", None);
        check(Method::PUT, "/b", "versioning", None);
        check(Method::PUT, "/b/k", "tagging", None);
        check(Method::PATCH, "/b/k", "", None);
        check(Method::GET, "//k", "", None);
    }

    #[test]
    fn unsupported_headers_are_rejected() {
        let target = Target::parse("/b/k").expect("a path");
        let encryption = HeaderName::from_static("x-amz-server-side-encryption");
        let headers = HeaderMap::from_iter([(encryption, HeaderValue::from_static("AES256"))]);
        let found = Operation::find(&Method::PUT, &target, &Query::default(), &headers);
        assert_eq!(found.expect_err("rejected").status().as_u16(), 501);
    }

    #[test]
    fn a_target_is_decoded_once() {
        let read = |path: &str| Target::parse(path).expect("a path");
        assert_eq!(read("/b/a%2Fb%20c").key, "a/b c");
        assert_eq!(read("/b//a/").key, "/a/");
        assert_eq!(read("/b/%252e").key, "%2e");
        assert_eq!(read("/b").bucket, "b");
        assert!(Target::parse("/b/%zz").is_err());
    }
}
