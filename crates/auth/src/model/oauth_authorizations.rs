//! `auth.oauth_authorizations`: requests for access, from `/oauth/authorize` to the exchange of the
//! code.

use plinth_db::{DbError, Params, Queries, Row};
use time::OffsetDateTime;
use uuid::Uuid;

use crate::{
    pkce::{Challenge, ChallengeMethod},
    random,
};

/// A request for access.
#[derive(Clone)]
pub(crate) struct Authorization {
    pub(crate) id: Uuid,
    /// The id that the consent page uses.
    pub(crate) authorization_id: String,
    pub(crate) client_id: Uuid,
    /// The user who opened the consent page first.
    pub(crate) user_id: Option<Uuid>,
    pub(crate) redirect_uri: String,
    pub(crate) scope: String,
    /// Empty for none, like the next two.
    pub(crate) state: String,
    pub(crate) resource: String,
    pub(crate) nonce: String,
    pub(crate) challenge: Option<Challenge>,
    pub(crate) is_pending: bool,
    pub(crate) created_at: OffsetDateTime,
    pub(crate) expires_at: OffsetDateTime,
}

impl Authorization {
    pub(crate) fn is_expired(&self, now: OffsetDateTime) -> bool {
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

pub(crate) async fn insert(db: &mut impl Queries, new: &Authorization) -> Result<(), DbError> {
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

/// By the id that the consent page uses, locked until the transaction ends.
pub(crate) async fn lock(
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

/// By the authorization code, locked until the transaction ends.
pub(crate) async fn lock_by_code(
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

pub(crate) async fn set_user(db: &mut impl Queries, id: Uuid, user: Uuid) -> Result<(), DbError> {
    let sql = "update auth.oauth_authorizations set user_id = $2 where id = $1";
    db.execute(sql, &[&id, &user]).await?;
    Ok(())
}

/// Approves the request; returns the authorization code.
pub(crate) async fn approve(
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

pub(crate) async fn deny(db: &mut impl Queries, id: Uuid) -> Result<(), DbError> {
    let sql = "update auth.oauth_authorizations set status = 'denied' where id = $1";
    db.execute(sql, &[&id]).await?;
    Ok(())
}

/// Marks the request as expired.
pub(crate) async fn expire(db: &mut impl Queries, id: Uuid) -> Result<(), DbError> {
    let sql = "update auth.oauth_authorizations set status = 'expired'
               where id = $1 and status = 'pending'";
    db.execute(sql, &[&id]).await?;
    Ok(())
}

pub(crate) async fn delete(db: &mut impl Queries, id: Uuid) -> Result<(), DbError> {
    let sql = "delete from auth.oauth_authorizations where id = $1";
    db.execute(sql, &[&id]).await?;
    Ok(())
}

/// All of a user's for one client, with codes that were not exchanged yet.
pub(crate) async fn delete_for_client(
    db: &mut impl Queries,
    user: Uuid,
    client: Uuid,
) -> Result<(), DbError> {
    let sql = "delete from auth.oauth_authorizations where user_id = $1 and client_id = $2";
    db.execute(sql, &[&user, &client]).await?;
    Ok(())
}

/// All of a user's.
pub(crate) async fn delete_all(db: &mut impl Queries, user: Uuid) -> Result<(), DbError> {
    let sql = "delete from auth.oauth_authorizations where user_id = $1";
    db.execute(sql, &[&user]).await?;
    Ok(())
}
