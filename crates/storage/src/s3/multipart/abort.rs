//! Aborts a multipart upload.

use axum::{body::Body, response::Response};
use http::StatusCode;

use super::upload::Upload;
use crate::{error::StorageError, objects::respond, s3::S3Request};

/// `DELETE /{bucket}/{key}?uploadId=`
pub(in crate::s3) async fn abort(request: &S3Request) -> Result<Response, StorageError> {
    let upload = Upload::load(request).await?;
    upload.check_write(&request.context, None).await?;
    // The rows of its parts are deleted by cascade.
    const SQL: &str = "delete from storage.s3_multipart_uploads where id = $1";
    let work = request.context.as_service_role();
    work.query(SQL, &[&upload.id]).await?;
    Ok(respond(
        StatusCode::NO_CONTENT,
        Default::default(),
        Body::empty(),
    ))
}
