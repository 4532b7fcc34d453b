//! What permits an upload: checked anew with every request.

use super::error::TusError;
use crate::{
    error::{Code, StorageError},
    objects::UploadPermission,
    request::{ObjectPath, RequestContext},
};

/// The permission that the request carries; policies are not checked here.
pub(super) fn upload_permission(
    context: &RequestContext,
    is_signed: bool,
    path: &ObjectPath,
) -> Result<UploadPermission, StorageError> {
    if !is_signed {
        let may_replace = context.header("x-upsert") == Some("true");
        return Ok(UploadPermission::from_caller(context, may_replace));
    }
    let token = context
        .header("x-signature")
        .filter(|token| !token.is_empty())
        .ok_or_else(|| StorageError::invalid_signature("Missing x-signature header"))?;
    UploadPermission::from_token(context, path, token)
}

/// Rejects a request without a valid credential.
pub(super) fn require_caller(context: &RequestContext) -> Result<(), TusError> {
    let as_invalid_token = |error: StorageError| match error.code() {
        // These routes report a missing token as an invalid one.
        Code::InvalidRequest => StorageError::access_denied("Invalid Compact JWS"),
        _ => error,
    };
    let caller = context.caller();
    caller.map_err(|error| TusError::Unauthenticated(as_invalid_token(error)))?;
    Ok(())
}
