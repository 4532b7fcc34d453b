//! The S3 protocol (storage contract §6), over the same buckets and objects.
//!
//! `operation` finds what a request asks for, `authenticate`, `signature` and `sigv4` verify who
//! signed it, `body`, `aws_chunked` and `checksums` verify its body while it is read, and the
//! handler runs as the caller who signed. Path-style URLs only.

mod authenticate;
mod aws_chunked;
mod body;
mod buckets;
mod checksums;
mod copy;
mod delete;
mod encode;
mod error;
mod get;
mod keep_alive;
mod list;
mod multipart;
mod operation;
mod policy;
mod post;
mod preconditions;
mod put;
mod query;
mod signature;
mod signer;
mod sigv4;
#[cfg(test)]
mod tests;
mod xml;

use std::sync::Arc;

use axum::{body::Body, response::Response};
use http::{Method, request::Parts};
use time::OffsetDateTime;

use self::{
    authenticate::authenticate,
    body::S3Body,
    operation::{Operation, Target},
    query::Query,
};
use crate::{
    error::StorageError,
    request::{ObjectPath, ProjectContext, RequestContext, close_connection},
};

/// The largest XML body, but for the list of parts.
const MAX_XML_BYTES: usize = 4 * 1024 * 1024;

/// A request whose signature was verified.
struct S3Request {
    context: Arc<RequestContext>,
    target: Target,
    query: Query,
    /// Whether the signature was in the URL.
    is_presigned: bool,
}

impl S3Request {
    fn object_path(&self) -> ObjectPath {
        ObjectPath {
            bucket: self.target.bucket.clone(),
            key: self.target.key.clone(),
        }
    }
}

/// Every request; `path` has bucket and key.
pub(crate) async fn serve(
    project: ProjectContext,
    parts: Parts,
    body: Body,
    path: &str,
) -> Response {
    let is_head = parts.method == Method::HEAD;
    let may_have_file = parts.method == Method::PUT || parts.method == Method::POST;
    let handled = handle(project, parts, body, path).await;
    handled.unwrap_or_else(|error| {
        let response = error::respond(&error, path.trim_start_matches('/'), is_head);
        // The rest of a rejected file is not read.
        if may_have_file {
            close_connection(response)
        } else {
            response
        }
    })
}

async fn handle(
    project: ProjectContext,
    mut parts: Parts,
    body: Body,
    path: &str,
) -> Result<Response, StorageError> {
    if !project.config.has_s3 {
        return Err(StorageError::no_such_route(&parts.method, parts.uri.path()));
    }
    let target = Target::parse(path)?;
    let query = Query::parse(parts.uri.query());
    let operation = Operation::find(&parts.method, &target, &query, &parts.headers);
    if matches!(operation, Ok(Operation::PostObject)) {
        return post::post(project, parts, body, target).await;
    }
    let now = OffsetDateTime::now_utc();
    let region = &project.config.s3_region;
    let authenticated = authenticate(&project.project, region, &mut parts, &query, now)?;
    // Parameters of a presigned URL may be headers that select another operation.
    let operation =
        operation.and_then(|_| Operation::find(&parts.method, &target, &query, &parts.headers))?;
    let has_checksums = operation.has_checksums();
    let mut body = S3Body::new(body, authenticated.payload, &parts.headers, has_checksums)?;
    let caller = authenticated.caller.clone();
    let request = S3Request {
        context: Arc::new(RequestContext::with_caller(
            project,
            parts,
            operation.name(),
            authenticated.caller,
        )),
        target,
        query,
        is_presigned: authenticated.is_presigned,
    };
    let mut response = dispatch(operation, &request, &mut body).await?;
    // For the access log.
    response.extensions_mut().insert(caller);
    Ok(response)
}

async fn dispatch(
    operation: Operation,
    request: &S3Request,
    body: &mut S3Body,
) -> Result<Response, StorageError> {
    if !operation.takes_body() {
        body.read_all(MAX_XML_BYTES).await?;
    }
    match operation {
        Operation::ListBuckets => buckets::list(request).await,
        Operation::CreateBucket => buckets::create(request, body).await,
        Operation::HeadBucket => buckets::head(request).await,
        Operation::DeleteBucket => buckets::delete(request).await,
        Operation::GetBucketLocation => buckets::location(request).await,
        Operation::GetBucketVersioning => buckets::versioning(request).await,
        Operation::ListObjects => list::list_v1(request).await,
        Operation::ListObjectsV2 => list::list_v2(request).await,
        Operation::ListObjectVersions => list::list_versions(request).await,
        Operation::ListMultipartUploads => multipart::list_uploads(request).await,
        Operation::DeleteObjects => delete::delete_objects(request, body).await,
        Operation::PutObject => put::put(request, body).await,
        Operation::CopyObject => copy::copy(request).await,
        Operation::GetObject => get::get(request).await,
        Operation::HeadObject => get::head(request).await,
        Operation::GetObjectTagging => get::tagging(request).await,
        Operation::DeleteObject => delete::delete_object(request).await,
        Operation::CreateMultipartUpload => multipart::create(request, body).await,
        Operation::UploadPart => multipart::upload_part(request, body).await,
        Operation::UploadPartCopy => multipart::upload_part_copy(request).await,
        Operation::ListParts => multipart::list_parts(request).await,
        Operation::CompleteMultipartUpload => multipart::complete(request, body).await,
        Operation::AbortMultipartUpload => multipart::abort(request).await,
        // Handled before: the signature is in the form.
        Operation::PostObject => Err(StorageError::invalid_request("This form has no policy")),
    }
}
