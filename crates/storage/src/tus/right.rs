//! On whose word something is uploaded: the caller's, or that of a token for one object.

use super::refusal::Refusal;
use crate::{
    error::{Code, StorageError},
    objects::{Intent, probe, refuse_taken},
    request::{Context, Place},
    signed_url::{self, Scope},
};

/// On what terms somebody uploads. Read anew with every request.
pub(super) struct Right {
    pub(super) owner: Option<String>,
    pub(super) may_replace: bool,
    /// A token has settled that it is allowed; nobody's policies are asked.
    is_granted: bool,
}

impl Right {
    /// What the request may do there, as far as it can tell without the database.
    pub(super) fn read(
        context: &Context,
        is_signed: bool,
        place: &Place,
    ) -> Result<Self, StorageError> {
        if !is_signed {
            return Ok(Self {
                owner: context.owner().map(str::to_owned),
                may_replace: context.header("x-upsert") == Some("true"),
                is_granted: false,
            });
        }
        let token = context
            .header("x-signature")
            .filter(|token| !token.is_empty())
            .ok_or_else(|| StorageError::invalid_signature("Missing x-signature header"))?;
        let grant = signed_url::check(context, Scope::Upload, &place.path(), token)?;
        Ok(Self {
            owner: grant.owner().map(str::to_owned),
            may_replace: grant.may_replace(),
            is_granted: true,
        })
    }

    /// Refuses what policies, or a name that is taken, would refuse.
    pub(super) async fn check(
        &self,
        context: &Context,
        intent: Intent<'_>,
    ) -> Result<(), StorageError> {
        match (self.is_granted, intent.may_replace) {
            (true, true) => Ok(()),
            (true, false) => refuse_taken(context, intent.place).await,
            (false, _) => probe(context, &intent).await,
        }
    }
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
