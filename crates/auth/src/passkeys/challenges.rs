//! `auth.webauthn_challenges`: what passkeys are to answer, once.

use plinth_db::{DbError, Queries};
use serde_json::json;
use time::OffsetDateTime;
use uuid::Uuid;

use crate::{AuthError, error::Code, random, request::Context};

/// What for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    Registration,
    Authentication,
}

impl Purpose {
    fn as_str(self) -> &'static str {
        match self {
            Self::Registration => "registration",
            Self::Authentication => "authentication",
        }
    }
}

/// Keeps a challenge; gives its id and when it ends. Without a user it may be anybody's.
pub(super) async fn insert(
    context: &Context,
    db: &mut impl Queries,
    purpose: Purpose,
    user: Option<Uuid>,
    challenge: &str,
) -> Result<(Uuid, OffsetDateTime), DbError> {
    let sql = "insert into auth.webauthn_challenges
                 (id, user_id, challenge_type, session_data, created_at, expires_at)
               values ($1, $2, $3, $4, $5, $6)";
    let id = random::uuid();
    let ends = context.now + context.config.webauthn.challenge_lifetime;
    let data = json!({ "challenge": challenge });
    let purpose = purpose.as_str();
    let params: plinth_db::Params<'_> = &[&id, &user, &purpose, &data, &context.now, &ends];
    db.execute(sql, params).await?;
    Ok((id, ends))
}

/// Takes a challenge: whatever becomes of the answer, there is no second one.
pub(super) async fn take(
    context: &Context,
    purpose: Purpose,
    user: Option<Uuid>,
    id: Uuid,
) -> Result<String, AuthError> {
    let sql = "delete from auth.webauthn_challenges
               where id = $1 and challenge_type = $2 and user_id is not distinct from $3
               returning session_data->>'challenge' as challenge, expires_at";
    let mut db = context.db().await?;
    let row = db.query_opt(sql, &[&id, &purpose.as_str(), &user]).await?;
    let Some(row) = row else {
        return Err(AuthError::new(
            400,
            Code::WebauthnChallengeNotFound,
            "Challenge not found or already used",
        ));
    };
    let ends: OffsetDateTime = row.try_get("expires_at")?;
    if context.now > ends {
        return Err(AuthError::new(
            400,
            Code::WebauthnChallengeExpired,
            "Challenge has expired",
        ));
    }
    let challenge: Option<String> = row.try_get("challenge")?;
    Ok(challenge.unwrap_or_default())
}
