//! Starts a multipart upload.

use axum::response::Response;
use http::StatusCode;
use serde_json::json;
use uuid::Uuid;

use super::upload::sign_upload;
use crate::{
    blobs::Version,
    buckets::BucketRules,
    error::StorageError,
    objects::{WriteIntent, probe_write},
    request::{check_bucket, check_key, check_type},
    s3::{MAX_XML_BYTES, S3Request, body::S3Body, put::ObjectInfo, xml::Xml},
};

/// `POST /{bucket}/{key}?uploads`
pub(in crate::s3) async fn create(
    request: &S3Request,
    body: &mut S3Body,
) -> Result<Response, StorageError> {
    body.read_all(MAX_XML_BYTES).await?;
    let context = &request.context;
    let path = request.object_path();
    check_bucket(&path.bucket)?;
    let rules = BucketRules::load(context, &path.bucket).await?;
    let info = ObjectInfo::from_headers(context.headers());
    check_type(&info.content_type, &rules.allowed_mime_types)?;
    check_key(&path.key, context.config.key_rules)?;
    let intent = WriteIntent {
        path: &path,
        may_replace: true,
        content_type: Some(&info.content_type),
        content_length: None,
        user_metadata: Some(&info.user_metadata),
    };
    probe_write(context, &intent).await?;
    const SQL: &str = "
        insert into storage.s3_multipart_uploads
            (id, upload_signature, bucket_id, key, version, owner_id, metadata, user_metadata)
        values ($1, $2, $3, $4, $5, $6, $7, $8)
    ";
    let id = Uuid::new_v4().to_string();
    let signature = sign_upload(context, &id, 0)?;
    let version = Version::generate().to_string();
    let owner = context.owner();
    let mut metadata = json!({
        "mimetype": info.content_type,
        "cacheControl": info.cache_control,
    });
    info.headers.write_to(&mut metadata);
    context
        .as_service_role()
        .query(
            SQL,
            &[
                &id,
                &signature,
                &path.bucket,
                &path.key,
                &version,
                &owner,
                &metadata,
                &info.user_metadata,
            ],
        )
        .await?;
    let xml = Xml::document("InitiateMultipartUploadResult", |xml| {
        xml.text("Bucket", &path.bucket);
        xml.text("Key", &path.key);
        xml.text("UploadId", &id);
    });
    Ok(xml.into_response(StatusCode::OK))
}
