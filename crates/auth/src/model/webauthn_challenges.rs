//! `auth.webauthn_challenges`: what passkeys are to sign, each once.

use plinth_db::{DbError, Params, Queries};
use serde_json::json;
use time::OffsetDateTime;
use uuid::Uuid;

/// What the challenge is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
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

/// A challenge to be inserted. Without a user, any user may respond to it.
pub(crate) struct NewChallenge<'a> {
    pub(crate) id: Uuid,
    pub(crate) purpose: Purpose,
    pub(crate) user: Option<Uuid>,
    pub(crate) challenge: &'a str,
    pub(crate) created_at: OffsetDateTime,
    pub(crate) expires_at: OffsetDateTime,
}

pub(crate) async fn insert(db: &mut impl Queries, new: &NewChallenge<'_>) -> Result<(), DbError> {
    let sql = "insert into auth.webauthn_challenges
                 (id, user_id, challenge_type, session_data, created_at, expires_at)
               values ($1, $2, $3, $4, $5, $6)";
    let data = json!({ "challenge": new.challenge });
    let params: Params<'_> = &[
        &new.id,
        &new.user,
        &new.purpose.as_str(),
        &data,
        &new.created_at,
        &new.expires_at,
    ];
    db.execute(sql, params).await?;
    Ok(())
}

/// Deletes a challenge and returns it with the time at which it expires.
pub(crate) async fn take_challenge(
    db: &mut impl Queries,
    purpose: Purpose,
    user: Option<Uuid>,
    id: Uuid,
) -> Result<Option<(String, OffsetDateTime)>, DbError> {
    let sql = "delete from auth.webauthn_challenges
               where id = $1 and challenge_type = $2 and user_id is not distinct from $3
               returning session_data->>'challenge' as challenge, expires_at";
    let row = db.query_opt(sql, &[&id, &purpose.as_str(), &user]).await?;
    let Some(row) = row else {
        return Ok(None);
    };
    let challenge: Option<String> = row.try_get("challenge")?;
    Ok(Some((
        challenge.unwrap_or_default(),
        row.try_get("expires_at")?,
    )))
}
