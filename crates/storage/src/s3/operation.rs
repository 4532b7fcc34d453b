//! What an S3 request asks for (storage contract §6.2).

use http::{HeaderMap, Method, header::CONTENT_TYPE};

use super::query::Query;
use crate::{
    error::{Code, StorageError},
    request::decode,
};

/// The operations that there are.
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
    ListMultipartUploads,
    DeleteObjects,
    /// From a form.
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

/// The bucket and the key in a path. Either may be missing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) bucket: String,
    pub(super) key: String,
}

impl Target {
    /// Reads what stands behind `/s3`.
    pub(super) fn read(path: &str) -> Result<Self, StorageError> {
        let rest = path.strip_prefix('/').unwrap_or(path);
        let (bucket, key) = rest.split_once('/').unwrap_or((rest, ""));
        Ok(Self {
            bucket: decode(bucket)?,
            key: decode(key)?,
        })
    }
}

/// Parts of buckets and objects that S3 knows and Plinth does not.
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
    "versions",
    "website",
];
/// Parts that some operation is about.
const SUBRESOURCES: &[&str] = &[
    "delete",
    "location",
    "partNumber",
    "tagging",
    "uploadId",
    "uploads",
    "versioning",
];
/// Headers that ask for what Plinth does not do, where silence would be a promise.
const REFUSED_HEADERS: &[&str] = &[
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
        refuse_unknown(query, headers)?;
        let parts: Vec<_> = SUBRESOURCES
            .iter()
            .copied()
            .filter(|name| query.has(name))
            .collect();
        let is_copy = headers.contains_key("x-amz-copy-source");
        let found = match (target.bucket.is_empty(), target.key.is_empty()) {
            (true, true) => of_service(method, &parts),
            (true, false) => None,
            (false, true) => of_bucket(method, &parts, query, headers),
            (false, false) => of_object(method, &parts, is_copy),
        };
        found.ok_or_else(|| not_implemented("This operation"))
    }

    /// As policies know it (storage contract §10.4).
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::ListBuckets => "storage.s3.bucket.list",
            Self::CreateBucket => "storage.s3.bucket.create",
            Self::HeadBucket => "storage.s3.bucket.head",
            Self::DeleteBucket => "storage.s3.bucket.delete",
            Self::GetBucketLocation => "storage.s3.bucket.get_location",
            Self::GetBucketVersioning => "storage.s3.bucket.get_versioning",
            Self::ListObjects | Self::ListObjectsV2 => "storage.s3.object.list",
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

    /// Whether the checksums of the headers are those of the body. When an upload is completed they
    /// are those of the object.
    pub(super) fn has_checksums(self) -> bool {
        self != Self::CompleteMultipartUpload
    }

    /// Whether it reads the body. Elsewhere there should be none, and it is only checked.
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

fn refuse_unknown(query: &Query, headers: &HeaderMap) -> Result<(), StorageError> {
    let is_unknown = |name: &&str| NOT_IMPLEMENTED.contains(name);
    if let Some(name) = query.pairs().map(|(name, _)| name).find(is_unknown) {
        return Err(not_implemented(name));
    }
    if query.filled("versionId").is_some_and(|id| id != "null") {
        return Err(not_implemented("versionId"));
    }
    match REFUSED_HEADERS
        .iter()
        .find(|name| headers.contains_key(**name))
    {
        Some(name) => Err(not_implemented(name)),
        None => Ok(()),
    }
}

fn of_service(method: &Method, parts: &[&str]) -> Option<Operation> {
    (*method == Method::GET && parts.is_empty()).then_some(Operation::ListBuckets)
}

fn of_bucket(
    method: &Method,
    parts: &[&str],
    query: &Query,
    headers: &HeaderMap,
) -> Option<Operation> {
    use Operation::*;
    let is_form = || {
        let kind = headers.get(CONTENT_TYPE)?.to_str().ok()?;
        let kind = kind.get(..19)?;
        Some(kind.eq_ignore_ascii_case("multipart/form-data"))
    };
    let operation = match (method, parts) {
        (&Method::GET, []) => match query.get("list-type") {
            Some("2") => ListObjectsV2,
            None | Some("" | "1") => ListObjects,
            Some(_) => return None,
        },
        (&Method::GET, ["location"]) => GetBucketLocation,
        (&Method::GET, ["versioning"]) => GetBucketVersioning,
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

fn of_object(method: &Method, parts: &[&str], is_copy: bool) -> Option<Operation> {
    use Operation::*;
    let operation = match (method, parts) {
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
        let target = Target::read(path).expect("a path");
        let query = Query::read(Some(query));
        Operation::find(&method, &target, &query, &HeaderMap::new()).ok()
    }

    #[test]
    fn paths_and_parameters_choose_the_operation() {
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
    fn promises_that_would_not_be_kept_are_refused() {
        let target = Target::read("/b/k").expect("a path");
        let encryption = HeaderName::from_static("x-amz-server-side-encryption");
        let headers = HeaderMap::from_iter([(encryption, HeaderValue::from_static("AES256"))]);
        let found = Operation::find(&Method::PUT, &target, &Query::default(), &headers);
        assert_eq!(found.expect_err("refused").status().as_u16(), 501);
    }

    #[test]
    fn a_target_is_decoded_once() {
        let read = |path: &str| Target::read(path).expect("a path");
        assert_eq!(read("/b/a%2Fb%20c").key, "a/b c");
        assert_eq!(read("/b//a/").key, "/a/");
        assert_eq!(read("/b/%252e").key, "%2e");
        assert_eq!(read("/b").bucket, "b");
        assert!(Target::read("/b/%zz").is_err());
    }
}
