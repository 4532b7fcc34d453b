//! Challenges of passkeys: issued once, used once.

use plinth_db::{DbError, Queries};
use time::OffsetDateTime;
use uuid::Uuid;

use crate::{
    AuthError,
    model::webauthn_challenges::{self, NewChallenge, Purpose},
    random,
    request::RequestContext,
};

/// Stores a challenge; returns its id and when it expires. Without a user, any user may respond.
pub(super) async fn insert(
    context: &RequestContext,
    db: &mut impl Queries,
    purpose: Purpose,
    user: Option<Uuid>,
    challenge: &str,
) -> Result<(Uuid, OffsetDateTime), DbError> {
    let new = NewChallenge {
        id: random::uuid(),
        purpose,
        user,
        challenge,
        created_at: context.now,
        expires_at: context.now + context.config.webauthn.challenge_lifetime,
    };
    webauthn_challenges::insert(db, &new).await?;
    Ok((new.id, new.expires_at))
}

/// Consumes a challenge, even if verification fails later.
pub(super) async fn take_challenge(
    context: &RequestContext,
    purpose: Purpose,
    user: Option<Uuid>,
    id: Uuid,
) -> Result<String, AuthError> {
    let mut db = context.db().await?;
    let taken = webauthn_challenges::take_challenge(&mut db, purpose, user, id).await?;
    let (challenge, expires_at) = taken.ok_or_else(AuthError::passkey_challenge_not_found)?;
    if context.now > expires_at {
        return Err(AuthError::passkey_challenge_expired());
    }
    Ok(challenge)
}
