//! The S3 protocol (storage contract §6): the same buckets and objects, for clients that know no
//! other way.
//!
//! A request is taken apart (`operation`), its signature checked (`authenticate`, `sigv4`), its body
//! checked while it is read (`body`, `aws_chunked`, `checksums`), and done with the rights of whoever
//! signed. Path style only; answers are XML with true statuses.

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
mod list;
mod multipart;
mod operation;
mod patience;
mod policy;
mod post;
mod preconditions;
mod put;
mod query;
mod sigv4;
#[cfg(test)]
mod tests;
mod xml;

use std::sync::Arc;

use axum::{body::Body, response::Response};
use http::{Method, request::Parts};
use plinth_project::{Caller, Project};
use time::OffsetDateTime;
use tokio_util::task::TaskTracker;

use self::{
    authenticate::authenticate,
    body::S3Body,
    operation::{Operation, Target},
    query::Query,
};
use crate::{
    blobs::Blobs,
    config::StorageConfig,
    error::StorageError,
    request::{Context, Place, closing},
};

/// XML that is sent to us names things, and not many.
const MAX_XML: usize = 4 * 1024 * 1024;

/// Where a request is answered.
pub(crate) struct Scene {
    pub(crate) project: Project,
    pub(crate) config: Arc<StorageConfig>,
    pub(crate) blobs: Blobs,
    pub(crate) tasks: TaskTracker,
}

impl Scene {
    fn context(self, parts: Parts, operation: Operation, caller: Caller) -> Context {
        let Self {
            project,
            config,
            blobs,
            tasks,
        } = self;
        Context::of_caller(
            project,
            config,
            blobs,
            parts,
            operation.name(),
            tasks,
            caller,
        )
    }
}

/// A request whose signature is good.
struct Request {
    context: Arc<Context>,
    target: Target,
    query: Query,
    /// Whether the signature stood in the URL.
    is_link: bool,
}

impl Request {
    fn place(&self) -> Place {
        Place {
            bucket: self.target.bucket.clone(),
            key: self.target.key.clone(),
        }
    }
}

/// Every request below `/s3`.
pub(crate) async fn serve(scene: Scene, parts: Parts, body: Body) -> Response {
    let is_head = parts.method == Method::HEAD;
    let may_have_file = parts.method == Method::PUT || parts.method == Method::POST;
    let path = parts.uri.path();
    let path = path.strip_prefix("/s3").unwrap_or(path).to_owned();
    let answer = answer(scene, parts, body, &path).await;
    answer.unwrap_or_else(|error| {
        let response = error::respond(&error, path.trim_start_matches('/'), is_head);
        // The rest of a file that was refused is not worth reading.
        match may_have_file {
            true => closing(response),
            false => response,
        }
    })
}

async fn answer(
    scene: Scene,
    mut parts: Parts,
    body: Body,
    path: &str,
) -> Result<Response, StorageError> {
    if !scene.config.has_s3 {
        return Err(StorageError::no_such_route(&parts.method, parts.uri.path()));
    }
    let target = Target::read(path)?;
    let query = Query::read(parts.uri.query());
    let operation = Operation::find(&parts.method, &target, &query, &parts.headers);
    if matches!(operation, Ok(Operation::PostObject)) {
        return post::post(scene, parts, body, target).await;
    }
    let now = OffsetDateTime::now_utc();
    let region = &scene.config.s3_region;
    let proof = authenticate(&scene.project, region, &mut parts, &query, now)?;
    // Parameters of a link may be headers that choose another operation.
    let operation =
        operation.and_then(|_| Operation::find(&parts.method, &target, &query, &parts.headers))?;
    let has_checksums = operation.has_checksums();
    let mut body = S3Body::new(body, proof.payload, &parts.headers, has_checksums)?;
    let caller = proof.caller.clone();
    let request = Request {
        context: Arc::new(scene.context(parts, operation, proof.caller)),
        target,
        query,
        is_link: proof.is_link,
    };
    let mut response = run(operation, &request, &mut body).await?;
    // For the access log.
    response.extensions_mut().insert(caller);
    Ok(response)
}

async fn run(
    operation: Operation,
    request: &Request,
    body: &mut S3Body,
) -> Result<Response, StorageError> {
    if !operation.takes_body() {
        body.read_small(MAX_XML).await?;
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
        Operation::ListMultipartUploads => multipart::list_uploads(request).await,
        Operation::DeleteObjects => delete::many(request, body).await,
        Operation::PutObject => put::put(request, body).await,
        Operation::CopyObject => copy::copy(request).await,
        Operation::GetObject => get::get(request).await,
        Operation::HeadObject => get::head(request).await,
        Operation::GetObjectTagging => get::tagging(request).await,
        Operation::DeleteObject => delete::one(request).await,
        Operation::CreateMultipartUpload => multipart::create(request, body).await,
        Operation::UploadPart => multipart::upload_part(request, body).await,
        Operation::UploadPartCopy => multipart::upload_part_copy(request).await,
        Operation::ListParts => multipart::list_parts(request).await,
        Operation::CompleteMultipartUpload => multipart::complete(request, body).await,
        Operation::AbortMultipartUpload => multipart::abort(request).await,
        // It has no signature of the usual kind and went another way.
        Operation::PostObject => Err(StorageError::invalid_request("This form has no policy")),
    }
}
