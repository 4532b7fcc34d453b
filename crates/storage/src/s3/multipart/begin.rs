//! Beginning an upload, and giving it up.

use axum::{body::Body, response::Response};
use http::StatusCode;
use serde_json::json;
use uuid::Uuid;

use super::upload::{Upload, signature};
use crate::{
    blobs::Version,
    buckets::BucketRules,
    error::StorageError,
    objects::{Intent, probe, respond},
    request::{check_bucket, check_key, check_type},
    s3::{MAX_XML, Request, body::S3Body, put::About, xml::Xml},
};

/// `POST /{bucket}/{key}?uploads`
pub(in crate::s3) async fn create(
    request: &Request,
    body: &mut S3Body,
) -> Result<Response, StorageError> {
    body.read_small(MAX_XML).await?;
    let context = &request.context;
    let place = request.place();
    check_bucket(&place.bucket)?;
    let rules = BucketRules::get(context, &place.bucket).await?;
    let about = About::of_headers(context.headers());
    check_type(&about.content_type, &rules.allowed_mime_types)?;
    check_key(&place.key)?;
    let intent = Intent {
        place: &place,
        may_replace: true,
        content_type: Some(&about.content_type),
        content_length: None,
        user_metadata: Some(&about.user_metadata),
    };
    probe(context, &intent).await?;
    const SQL: &str = "
        insert into storage.s3_multipart_uploads
            (id, upload_signature, bucket_id, key, version, owner_id, metadata, user_metadata)
        values ($1, $2, $3, $4, $5, $6, $7, $8)
    ";
    let id = Uuid::new_v4().to_string();
    let signature = signature(context, &id, 0)?;
    let version = Version::generate().to_string();
    let owner = context.owner();
    let metadata = json!({
        "mimetype": about.content_type,
        "cacheControl": about.cache_control,
    });
    context
        .as_service_role()
        .query(
            SQL,
            &[
                &id,
                &signature,
                &place.bucket,
                &place.key,
                &version,
                &owner,
                &metadata,
                &about.user_metadata,
            ],
        )
        .await?;
    let xml = Xml::document("InitiateMultipartUploadResult", |xml| {
        xml.text("Bucket", &place.bucket);
        xml.text("Key", &place.key);
        xml.text("UploadId", &id);
    });
    Ok(xml.into_response(StatusCode::OK))
}

/// `DELETE /{bucket}/{key}?uploadId=`
pub(in crate::s3) async fn abort(request: &Request) -> Result<Response, StorageError> {
    let upload = Upload::of_request(request).await?;
    upload.check(&request.context, None).await?;
    // Its parts go with it.
    const SQL: &str = "delete from storage.s3_multipart_uploads where id = $1";
    let work = request.context.as_service_role();
    work.query(SQL, &[&upload.id]).await?;
    Ok(respond(
        StatusCode::NO_CONTENT,
        Default::default(),
        Body::empty(),
    ))
}
