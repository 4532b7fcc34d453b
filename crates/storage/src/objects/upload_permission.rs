//! What permits an upload: the policies of the caller, or a signed upload URL for one object.

use super::probe_write::{WriteIntent, probe_write};
use crate::{
    error::{Code, StorageError},
    request::{ObjectPath, RequestContext},
    signed_url::{self, Scope},
};

/// The permission to upload an object.
pub(crate) struct UploadPermission {
    pub(crate) owner: Option<String>,
    pub(crate) may_replace: bool,
    /// By a signed URL: no policies are checked.
    is_signed: bool,
}

impl UploadPermission {
    /// That of the caller; policies will be checked.
    pub(crate) fn from_caller(context: &RequestContext, may_replace: bool) -> Self {
        Self {
            owner: context.owner().map(str::to_owned),
            may_replace,
            is_signed: false,
        }
    }

    /// That of a signed upload URL for this object.
    pub(crate) fn from_token(
        context: &RequestContext,
        path: &ObjectPath,
        token: &str,
    ) -> Result<Self, StorageError> {
        let grant = signed_url::verify(context, Scope::Upload, &path.joined(), token)?;
        Ok(Self {
            owner: grant.owner().map(str::to_owned),
            may_replace: grant.may_replace(),
            is_signed: true,
        })
    }

    /// Fails if policies reject the object, or if it exists and may not be replaced.
    pub(crate) async fn check(
        &self,
        context: &RequestContext,
        intent: &WriteIntent<'_>,
    ) -> Result<(), StorageError> {
        match (self.is_signed, intent.may_replace) {
            (true, true) => Ok(()),
            (true, false) => reject_existing(context, intent.path).await,
            (false, _) => probe_write(context, intent).await,
        }
    }
}

/// A signed URL may be used again, but without the permission to replace only until the object
/// exists.
async fn reject_existing(context: &RequestContext, path: &ObjectPath) -> Result<(), StorageError> {
    const SQL: &str = "select from storage.objects where bucket_id = $1 and name = $2";
    let ObjectPath { bucket, key } = path;
    let rows = context
        .as_service_role()
        .read_only()
        .query(SQL, &[bucket, key])
        .await?;
    if rows.is_empty() {
        Ok(())
    } else {
        Err(StorageError::already_exists(Code::KeyAlreadyExists))
    }
}
