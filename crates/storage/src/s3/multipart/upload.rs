//! A multipart upload in progress.

use serde_json::{Value, json};

use crate::{
    error::{Code, StorageError},
    objects::{StoredHeaders, WriteIntent, probe_write},
    request::{ObjectPath, RequestContext, check_bucket, check_key},
    s3::{S3Request, put::ObjectInfo},
};

/// A row of `storage.s3_multipart_uploads`.
pub(super) struct Upload {
    pub(super) id: String,
    pub(super) path: ObjectPath,
    pub(super) info: ObjectInfo,
    /// The size of its parts in total.
    pub(super) size: u64,
    signature: String,
}

impl Upload {
    /// The upload of a request.
    pub(super) async fn load(request: &S3Request) -> Result<Self, StorageError> {
        const SQL: &str = "
            select in_progress_size, upload_signature, metadata, user_metadata
            from storage.s3_multipart_uploads
            where id = $1 and bucket_id = $2 and key = $3
        ";
        let path = request.object_path();
        check_bucket(&path.bucket)?;
        check_key(&path.key, request.context.config.key_rules)?;
        let id = request.query.get("uploadId").unwrap_or_default().to_owned();
        let work = request.context.as_service_role().read_only();
        let rows = work.query(SQL, &[&id, &path.bucket, &path.key]).await?;
        let row = rows.first().ok_or_else(StorageError::no_such_upload)?;
        let metadata: Option<Value> = row.get("metadata");
        let text = |name: &str| {
            let text = metadata.as_ref()?.get(name)?.as_str()?;
            Some(text.to_owned())
        };
        let user_metadata: Option<Value> = row.get("user_metadata");
        Ok(Self {
            info: ObjectInfo {
                content_type: text("mimetype").unwrap_or_default(),
                cache_control: text("cacheControl").unwrap_or_default(),
                headers: StoredHeaders::from_metadata(metadata.as_ref()),
                user_metadata: user_metadata.unwrap_or_else(|| json!({})),
            },
            size: byte_count(row.get("in_progress_size")),
            signature: row.get("upload_signature"),
            id,
            path,
        })
    }

    /// Rejects a caller who may not write the object, and a row that was tampered with.
    pub(super) async fn check_write(
        &self,
        context: &RequestContext,
        length: Option<u64>,
    ) -> Result<(), StorageError> {
        verify_signature(context, &self.id, self.size, &self.signature)?;
        let intent = WriteIntent {
            path: &self.path,
            may_replace: true,
            content_type: Some(&self.info.content_type),
            content_length: length,
            user_metadata: Some(&self.info.user_metadata),
        };
        probe_write(context, &intent).await
    }
}

/// Signs id and size: users can update the row, but must not get around the size limit.
pub(super) fn sign_upload(
    context: &RequestContext,
    id: &str,
    size: u64,
) -> Result<String, StorageError> {
    let keys = context.project.keys();
    let claims = json!({ "upload": id, "size": size });
    keys.url_signing
        .sign(&claims)
        .map_err(StorageError::internal)
}

pub(super) fn verify_signature(
    context: &RequestContext,
    id: &str,
    size: u64,
    signature: &str,
) -> Result<(), StorageError> {
    let keys = context.project.keys();
    let is_good = keys.url_signing.verify(signature).is_ok_and(|token| {
        let claims = token.claims();
        claims.get("upload") == Some(&json!(id)) && claims.get("size") == Some(&json!(size))
    });
    if is_good {
        Ok(())
    } else {
        let message = "The row of the upload was modified";
        Err(StorageError::new(
            Code::InvalidUploadSignature,
            400,
            message,
        ))
    }
}

/// A count of bytes; negative ones are 0.
pub(super) fn byte_count(number: i64) -> u64 {
    u64::try_from(number).unwrap_or_default()
}
