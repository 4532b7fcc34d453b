//! Completes a multipart upload: its parts become an object.

use axum::response::Response;

use super::{
    completion_lease::CompletionLease,
    part_list::{StoredPart, multipart_etag, parse_part_list, select_parts, stored_parts},
    upload::Upload,
};
use crate::{
    blobs::{Version, WrittenBlob, discard, register_pending},
    buckets::BucketRules,
    error::StorageError,
    objects::{CompletedUpload, NewObject, Object, UserMetadata, commit_upload},
    request::RequestContext,
    s3::{S3Request, body::S3Body, keep_alive::respond_with_keep_alive, xml::Xml},
};

/// Enough for ten thousand parts with their checksums.
const MAX_PARTS_XML_BYTES: usize = 8 * 1024 * 1024;

/// `POST /{bucket}/{key}?uploadId=`
pub(in crate::s3) async fn complete(
    request: &S3Request,
    body: &mut S3Body,
) -> Result<Response, StorageError> {
    let xml = body.read_all(MAX_PARTS_XML_BYTES).await?;
    let listed = parse_part_list(&xml)?;
    let upload = Upload::load(request).await?;
    let context = request.context.clone();
    let stored = stored_parts(&context, &upload.id).await?;
    let parts = select_parts(listed, stored)?;
    let size: u64 = parts.iter().map(|part| part.size).sum();
    let rules = BucketRules::load(&context, &upload.path.bucket).await?;
    if size > rules.max_file_size(context.config.file_size_limit) {
        return Err(StorageError::too_large());
    }
    upload.check_write(&context, Some(size)).await?;
    let lease = CompletionLease::acquire(&context.project.db, &upload.id).await?;
    let resource = upload.path.joined();
    let owned = context.clone();
    let work = async move {
        let created = create_object(&owned, upload, parts, size).await;
        lease.release().await;
        created.map(|object| result(&object))
    };
    respond_with_keep_alive(
        async move { context.run_to_completion(work).await },
        resource,
    )
    .await
}

fn result(object: &Object) -> Xml {
    Xml::document("CompleteMultipartUploadResult", |xml| {
        xml.text("Location", format!("{}/{}", object.bucket_id, object.name));
        xml.text("Bucket", &object.bucket_id);
        xml.text("Key", &object.name);
        xml.optional_text("ETag", object.details().etag());
    })
}

/// If the process dies meanwhile, the upload still exists and can be completed again.
async fn create_object(
    context: &RequestContext,
    upload: Upload,
    parts: Vec<StoredPart>,
    size: u64,
) -> Result<Object, StorageError> {
    let version = concatenate(context, &parts, size).await?;
    let written = WrittenBlob {
        size,
        md5: multipart_etag(&parts),
    };
    let object = NewObject {
        path: &upload.path,
        version,
        metadata: upload.info.metadata(&written, context.now),
        user_metadata: UserMetadata::Given(Some(upload.info.user_metadata)),
        owner: context.owner(),
        may_replace: true,
    };
    commit_upload(context, object, CompletedUpload::Multipart(&upload.id)).await
}

async fn concatenate(
    context: &RequestContext,
    parts: &[StoredPart],
    size: u64,
) -> Result<Version, StorageError> {
    let versions: Option<Vec<_>> = parts.iter().map(|part| part.version).collect();
    let versions = versions.ok_or_else(StorageError::missing_blob)?;
    let whole = Version::generate();
    let db = &context.project.db;
    register_pending(db, &context.blobs, &whole).await?;
    let concatenated = context.blobs.concatenate(&versions, &whole, size).await;
    match concatenated {
        Ok(Some(found)) if found == size => Ok(whole),
        other => {
            discard(db, &whole).await;
            match other {
                Err(error) => Err(error.into()),
                Ok(_) => Err(StorageError::internal("the blob of a part is missing")),
            }
        }
    }
}
