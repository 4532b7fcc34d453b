//! Parts become an object.

use axum::response::Response;

use super::{
    choice::{Part, choose, etag_of, read_parts, stored_parts},
    turn::Turn,
    upload::Upload,
};
use crate::{
    blobs::{Version, Written, announce, discard},
    buckets::BucketRules,
    error::StorageError,
    objects::{Arrival, Ends, Object, UserMetadata, commit_ending, metadata},
    request::Context,
    s3::{Request, body::S3Body, patience::document_in_time, xml::Xml},
};

/// Ten thousand parts with their checksums.
const MAX_PARTS_XML: usize = 8 * 1024 * 1024;

/// `POST /{bucket}/{key}?uploadId=`
pub(in crate::s3) async fn complete(
    request: &Request,
    body: &mut S3Body,
) -> Result<Response, StorageError> {
    let xml = body.read_small(MAX_PARTS_XML).await?;
    let named = read_parts(&xml)?;
    let upload = Upload::of_request(request).await?;
    let context = request.context.clone();
    let stored = stored_parts(&context, &upload.id).await?;
    let parts = choose(named, stored)?;
    let size: u64 = parts.iter().map(|part| part.size).sum();
    let rules = BucketRules::get(&context, &upload.place.bucket).await?;
    if size > rules.limit(context.config.file_size_limit) {
        return Err(StorageError::too_large());
    }
    upload.check(&context, Some(size)).await?;
    let turn = Turn::take(&context.project.db, &upload.id).await?;
    let resource = upload.place.path();
    let owned = context.clone();
    let work = async move {
        let made = make(&owned, upload, parts, size).await;
        turn.release().await;
        made.map(|object| result(&object))
    };
    document_in_time(async move { context.to_the_end(work).await }, resource).await
}

fn result(object: &Object) -> Xml {
    Xml::document("CompleteMultipartUploadResult", |xml| {
        xml.text("Location", format!("{}/{}", object.bucket_id, object.name));
        xml.text("Bucket", &object.bucket_id);
        xml.text("Key", &object.name);
        xml.maybe("ETag", object.facts().etag());
    })
}

/// Should the process die before the end, the upload is still there and can be completed again.
async fn make(
    context: &Context,
    upload: Upload,
    parts: Vec<Part>,
    size: u64,
) -> Result<Object, StorageError> {
    let version = join(context, &parts, size).await?;
    let written = Written {
        size,
        md5: etag_of(&parts),
    };
    let arrival = Arrival {
        place: &upload.place,
        version,
        metadata: metadata(
            &written,
            &upload.about.content_type,
            &upload.about.cache_control,
            None,
            context.now,
        ),
        user_metadata: UserMetadata::Given(Some(upload.about.user_metadata)),
        owner: context.owner(),
        may_replace: true,
    };
    commit_ending(context, arrival, Ends::Multipart(&upload.id)).await
}

async fn join(context: &Context, parts: &[Part], size: u64) -> Result<Version, StorageError> {
    let versions: Option<Vec<_>> = parts.iter().map(|part| part.version).collect();
    let versions = versions.ok_or_else(StorageError::no_such_bytes)?;
    let whole = Version::generate();
    let db = &context.project.db;
    announce(db, &context.blobs, &whole).await?;
    let joined = context.blobs.join(&versions, &whole, size).await;
    match joined {
        Ok(Some(joined)) if joined == size => Ok(whole),
        other => {
            discard(db, &whole).await;
            match other {
                Err(error) => Err(error.into()),
                Ok(_) => Err(StorageError::internal("bytes of a part are missing")),
            }
        }
    }
}
