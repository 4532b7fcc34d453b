//! On whose word something is uploaded: read anew with every request.

use super::refusal::Refusal;
use crate::{
    error::{Code, StorageError},
    objects::Right,
    request::{Context, Place},
};

/// What the request may do there, as far as it can tell without the database.
pub(super) fn right(
    context: &Context,
    is_signed: bool,
    place: &Place,
) -> Result<Right, StorageError> {
    if !is_signed {
        let may_replace = context.header("x-upsert") == Some("true");
        return Ok(Right::of_caller(context, may_replace));
    }
    let token = context
        .header("x-signature")
        .filter(|token| !token.is_empty())
        .ok_or_else(|| StorageError::invalid_signature("Missing x-signature header"))?;
    Right::of_token(context, place, token)
}

/// Refuses a request of nobody that is known.
pub(super) fn require_caller(context: &Context) -> Result<(), Refusal> {
    let refuse = |error: StorageError| match error.code() {
        // Without a token there is nothing to read, which these routes call a bad token.
        Code::InvalidRequest => StorageError::access_denied("Invalid Compact JWS"),
        _ => error,
    };
    let caller = context.caller();
    caller.map_err(|error| Refusal::Caller(refuse(error)))?;
    Ok(())
}
