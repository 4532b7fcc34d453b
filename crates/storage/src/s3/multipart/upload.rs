//! An upload that is under way.

use serde_json::{Value, json};

use crate::{
    error::{Code, StorageError},
    objects::{Intent, probe},
    request::{Context, Place, check_bucket, check_key},
    s3::{Request, put::About},
};

/// A row of `storage.s3_multipart_uploads`.
pub(super) struct Upload {
    pub(super) id: String,
    pub(super) place: Place,
    pub(super) about: About,
    /// How many bytes its parts have.
    pub(super) size: u64,
    signature: String,
}

impl Upload {
    /// The upload that a request is about.
    pub(super) async fn of_request(request: &Request) -> Result<Self, StorageError> {
        const SQL: &str = "
            select in_progress_size, upload_signature, metadata, user_metadata
            from storage.s3_multipart_uploads
            where id = $1 and bucket_id = $2 and key = $3
        ";
        let place = request.place();
        check_bucket(&place.bucket)?;
        check_key(&place.key)?;
        let id = request.query.get("uploadId").unwrap_or_default().to_owned();
        let work = request.context.as_service_role().read_only();
        let rows = work.query(SQL, &[&id, &place.bucket, &place.key]).await?;
        let row = rows.first().ok_or_else(StorageError::no_such_upload)?;
        let metadata: Option<Value> = row.get("metadata");
        let text = |name: &str| {
            let text = metadata.as_ref()?.get(name)?.as_str()?;
            Some(text.to_owned())
        };
        let user_metadata: Option<Value> = row.get("user_metadata");
        Ok(Self {
            about: About {
                content_type: text("mimetype").unwrap_or_default(),
                cache_control: text("cacheControl").unwrap_or_default(),
                user_metadata: user_metadata.unwrap_or_else(|| json!({})),
            },
            size: size_of(row.get("in_progress_size")),
            signature: row.get("upload_signature"),
            id,
            place,
        })
    }

    /// Refuses whoever may not write the object, and a row that somebody else has changed.
    pub(super) async fn check(
        &self,
        context: &Context,
        length: Option<u64>,
    ) -> Result<(), StorageError> {
        check_signature(context, &self.id, self.size, &self.signature)?;
        let intent = Intent {
            place: &self.place,
            may_replace: true,
            content_type: Some(&self.about.content_type),
            content_length: length,
            user_metadata: Some(&self.about.user_metadata),
        };
        probe(context, &intent).await
    }
}

/// The count of bytes is a limit; whoever can change the row must not be able to move it.
pub(super) fn signature(context: &Context, id: &str, size: u64) -> Result<String, StorageError> {
    let keys = context.project.keys();
    let claims = json!({ "upload": id, "size": size });
    keys.url_signing
        .sign(&claims)
        .map_err(StorageError::internal)
}

pub(super) fn check_signature(
    context: &Context,
    id: &str,
    size: u64,
    signature: &str,
) -> Result<(), StorageError> {
    let keys = context.project.keys();
    let is_good = keys.url_signing.verify(signature).is_ok_and(|token| {
        let claims = token.claims();
        claims.get("upload") == Some(&json!(id)) && claims.get("size") == Some(&json!(size))
    });
    match is_good {
        true => Ok(()),
        false => {
            let message = "The upload was changed by somebody else";
            Err(StorageError::new(
                Code::InvalidUploadSignature,
                400,
                message,
            ))
        }
    }
}

/// A count as Postgres has it.
pub(super) fn size_of(number: i64) -> u64 {
    u64::try_from(number).unwrap_or_default()
}
