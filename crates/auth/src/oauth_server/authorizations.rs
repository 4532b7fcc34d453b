//! `auth.oauth_authorizations`: requests for access, from the question to the code.

use plinth_db::{DbError, Params, Queries, Row};
use time::OffsetDateTime;
use uuid::Uuid;

use crate::{
    random,
    request::{Challenge, ChallengeMethod},
};

/// A request for access.
#[derive(Debug, Clone)]
pub(super) struct Authorization {
    pub(super) id: Uuid,
    /// The name by which the user's page knows it.
    pub(super) authorization_id: String,
    pub(super) client_id: Uuid,
    /// Whoever opened the page first.
    pub(super) user_id: Option<Uuid>,
    pub(super) redirect_uri: String,
    pub(super) scope: String,
    /// Empty for none, as the two below.
    pub(super) state: String,
    pub(super) resource: String,
    pub(super) nonce: String,
    pub(super) challenge: Option<Challenge>,
    pub(super) is_pending: bool,
    pub(super) created_at: OffsetDateTime,
    pub(super) expires_at: OffsetDateTime,
}

impl Authorization {
    pub(super) fn is_expired(&self, now: OffsetDateTime) -> bool {
        now > self.expires_at
    }

    fn from_row(row: &Row) -> Result<Self, DbError> {
        let text = |column: &str| -> Result<String, DbError> {
            let value: Option<String> = row.try_get(column)?;
            Ok(value.unwrap_or_default())
        };
        let challenge = text("code_challenge")?;
        let method = ChallengeMethod::parse(&text("code_challenge_method")?);
        Ok(Self {
            id: row.try_get("id")?,
            authorization_id: text("authorization_id")?,
            client_id: row.try_get("client_id")?,
            user_id: row.try_get("user_id")?,
            redirect_uri: text("redirect_uri")?,
            scope: text("scope")?,
            state: text("state")?,
            resource: text("resource")?,
            nonce: text("nonce")?,
            challenge: method.map(|method| Challenge {
                text: challenge,
                method,
            }),
            is_pending: text("status")? == "pending",
            created_at: row.try_get("created_at")?,
            expires_at: row.try_get("expires_at")?,
        })
    }
}

const COLUMNS: &str = "o.id, o.authorization_id, o.client_id, o.user_id, o.redirect_uri, o.scope,
    o.state, o.resource, o.nonce, o.code_challenge,
    o.code_challenge_method::text as code_challenge_method, o.status::text as status,
    o.created_at, o.expires_at";

pub(super) async fn insert(db: &mut impl Queries, new: &Authorization) -> Result<(), DbError> {
    let sql = "insert into auth.oauth_authorizations (
                 id, authorization_id, client_id, redirect_uri, scope, state, resource, nonce,
                 code_challenge, code_challenge_method, created_at, expires_at)
               values ($1, $2, $3, $4, $5, nullif($6, ''), nullif($7, ''), nullif($8, ''), $9,
                 $10::text::auth.code_challenge_method, $11, $12)";
    let challenge = new.challenge.as_ref().map(|it| it.text.as_str());
    let method = new.challenge.as_ref().map(|it| it.method.as_str());
    let params: Params<'_> = &[
        &new.id,
        &new.authorization_id,
        &new.client_id,
        &new.redirect_uri,
        &new.scope,
        &new.state,
        &new.resource,
        &new.nonce,
        &challenge,
        &method,
        &new.created_at,
        &new.expires_at,
    ];
    db.execute(sql, params).await?;
    Ok(())
}

/// By the name that the user's page knows, locked until the transaction ends.
pub(super) async fn lock(
    db: &mut impl Queries,
    authorization_id: &str,
) -> Result<Option<Authorization>, DbError> {
    let sql = format!(
        "select {COLUMNS} from auth.oauth_authorizations o where o.authorization_id = $1
         for update"
    );
    let row = db.query_opt(&sql, &[&authorization_id]).await?;
    row.as_ref().map(Authorization::from_row).transpose()
}

/// By the code that the application shows, locked until the transaction ends.
pub(super) async fn lock_by_code(
    db: &mut impl Queries,
    code: &str,
) -> Result<Option<Authorization>, DbError> {
    let sql = format!(
        "select {COLUMNS} from auth.oauth_authorizations o
         where o.authorization_code = $1 and o.status = 'approved'
         for update"
    );
    let row = db.query_opt(&sql, &[&code]).await?;
    row.as_ref().map(Authorization::from_row).transpose()
}

pub(super) async fn set_user(db: &mut impl Queries, id: Uuid, user: Uuid) -> Result<(), DbError> {
    let sql = "update auth.oauth_authorizations set user_id = $2 where id = $1";
    db.execute(sql, &[&id, &user]).await?;
    Ok(())
}

/// Says yes; the code that the application gets.
pub(super) async fn approve(
    db: &mut impl Queries,
    id: Uuid,
    now: OffsetDateTime,
) -> Result<String, DbError> {
    let sql = "update auth.oauth_authorizations
               set status = 'approved', approved_at = $2, authorization_code = $3 where id = $1";
    let code = random::url_text::<32>();
    db.execute(sql, &[&id, &now, &code]).await?;
    Ok(code)
}

pub(super) async fn deny(db: &mut impl Queries, id: Uuid) -> Result<(), DbError> {
    let sql = "update auth.oauth_authorizations set status = 'denied' where id = $1";
    db.execute(sql, &[&id]).await?;
    Ok(())
}

/// Notes that nobody answered in time.
pub(super) async fn expire(db: &mut impl Queries, id: Uuid) -> Result<(), DbError> {
    let sql = "update auth.oauth_authorizations set status = 'expired'
               where id = $1 and status = 'pending'";
    db.execute(sql, &[&id]).await?;
    Ok(())
}

/// Codes are good for one exchange.
pub(super) async fn delete(db: &mut impl Queries, id: Uuid) -> Result<(), DbError> {
    let sql = "delete from auth.oauth_authorizations where id = $1";
    db.execute(sql, &[&id]).await?;
    Ok(())
}
