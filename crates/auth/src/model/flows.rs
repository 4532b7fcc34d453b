//! `auth.flow_state`: pending sign-ins, by PKCE or through a provider (auth contract §5.4).

use plinth_db::{DbError, Queries, Row};
use time::OffsetDateTime;
use uuid::Uuid;

use crate::pkce::{Challenge, ChallengeMethod};

/// A pending sign-in.
#[derive(Clone)]
pub(crate) struct Flow {
    pub(crate) id: Uuid,
    /// Known from the start in mail flows, after the callback in provider flows.
    pub(crate) user_id: Option<Uuid>,
    pub(crate) auth_code: Option<String>,
    pub(crate) challenge: Option<Challenge>,
    pub(crate) provider_type: String,
    pub(crate) provider_access_token: Option<String>,
    pub(crate) provider_refresh_token: Option<String>,
    /// One of [`FlowMethod`], as text.
    pub(crate) authentication_method: String,
    pub(crate) created_at: OffsetDateTime,
    pub(crate) auth_code_issued_at: Option<OffsetDateTime>,
    pub(crate) invite_token: Option<String>,
    pub(crate) referrer: Option<String>,
    pub(crate) oauth_client_state_id: Option<Uuid>,
    pub(crate) linking_target_id: Option<Uuid>,
    pub(crate) is_email_optional: bool,
}

/// How the user authenticates in the flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FlowMethod {
    OAuth,
    EmailSignup,
    MagicLink,
    Recovery,
    EmailChange,
    Invite,
}

impl FlowMethod {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::OAuth => "oauth",
            Self::EmailSignup => "email/signup",
            Self::MagicLink => "magiclink",
            Self::Recovery => "recovery",
            Self::EmailChange => "email_change",
            Self::Invite => "invite",
        }
    }
}

const COLUMNS: &str = "w.id, w.user_id, w.auth_code,
    w.code_challenge_method::text as code_challenge_method, w.code_challenge, w.provider_type,
    w.provider_access_token, w.provider_refresh_token, w.authentication_method, w.created_at,
    w.auth_code_issued_at, w.invite_token, w.referrer, w.oauth_client_state_id,
    w.linking_target_id, w.email_optional";

impl Flow {
    fn from_row(row: &Row) -> Result<Self, DbError> {
        let method: Option<String> = row.try_get("code_challenge_method")?;
        let text: Option<String> = row.try_get("code_challenge")?;
        let method = method.as_deref().and_then(ChallengeMethod::parse);
        let challenge = text.zip(method);
        let created_at: Option<OffsetDateTime> = row.try_get("created_at")?;
        Ok(Self {
            id: row.try_get("id")?,
            user_id: row.try_get("user_id")?,
            auth_code: row.try_get("auth_code")?,
            challenge: challenge
                .filter(|(text, _)| !text.is_empty())
                .map(|(text, method)| Challenge { text, method }),
            provider_type: row.try_get("provider_type")?,
            provider_access_token: row.try_get("provider_access_token")?,
            provider_refresh_token: row.try_get("provider_refresh_token")?,
            authentication_method: row.try_get("authentication_method")?,
            created_at: created_at.unwrap_or(OffsetDateTime::UNIX_EPOCH),
            auth_code_issued_at: row.try_get("auth_code_issued_at")?,
            invite_token: row.try_get("invite_token")?,
            referrer: row.try_get("referrer")?,
            oauth_client_state_id: row.try_get("oauth_client_state_id")?,
            linking_target_id: row.try_get("linking_target_id")?,
            is_email_optional: row.try_get("email_optional")?,
        })
    }
}

/// A PKCE flow that begins with a mail.
pub(crate) async fn insert_for_mail(
    db: &mut impl Queries,
    user: Uuid,
    method: FlowMethod,
    challenge: &Challenge,
    now: OffsetDateTime,
) -> Result<(), DbError> {
    let flow = Flow {
        id: crate::random::uuid(),
        user_id: Some(user),
        auth_code: Some(crate::random::uuid().to_string()),
        challenge: Some(challenge.clone()),
        provider_type: method.as_str().to_owned(),
        provider_access_token: None,
        provider_refresh_token: None,
        authentication_method: method.as_str().to_owned(),
        created_at: now,
        auth_code_issued_at: None,
        invite_token: None,
        referrer: None,
        oauth_client_state_id: None,
        linking_target_id: None,
        is_email_optional: false,
    };
    insert(db, &flow).await
}

pub(crate) async fn insert(db: &mut impl Queries, flow: &Flow) -> Result<(), DbError> {
    let sql = "insert into auth.flow_state (
                 id, user_id, auth_code, code_challenge_method, code_challenge, provider_type,
                 provider_access_token, provider_refresh_token, authentication_method, created_at,
                 updated_at, auth_code_issued_at, invite_token, referrer, oauth_client_state_id,
                 linking_target_id, email_optional)
               values ($1, $2, $3, $4::text::auth.code_challenge_method, $5, $6, $7, $8, $9, $10,
                 $10, $11, $12, $13, $14, $15, $16)";
    let method = flow.challenge.as_ref().map(|it| it.method.as_str());
    let challenge = flow.challenge.as_ref().map(|it| it.text.as_str());
    // GoTrue cannot read NULL in these two.
    let access_token = flow.provider_access_token.as_deref().unwrap_or_default();
    let refresh_token = flow.provider_refresh_token.as_deref().unwrap_or_default();
    let params: plinth_db::Params<'_> = &[
        &flow.id,
        &flow.user_id,
        &flow.auth_code,
        &method,
        &challenge,
        &flow.provider_type,
        &access_token,
        &refresh_token,
        &flow.authentication_method,
        &flow.created_at,
        &flow.auth_code_issued_at,
        &flow.invite_token,
        &flow.referrer,
        &flow.oauth_client_state_id,
        &flow.linking_target_id,
        &flow.is_email_optional,
    ];
    db.execute(sql, params).await?;
    Ok(())
}

/// By id, locked until the transaction ends.
pub(crate) async fn lock(db: &mut impl Queries, id: Uuid) -> Result<Option<Flow>, DbError> {
    let sql = format!("select {COLUMNS} from auth.flow_state w where w.id = $1 for update");
    let row = db.query_opt(&sql, &[&id]).await?;
    row.as_ref().map(Flow::from_row).transpose()
}

/// By the authorization code, locked until the transaction ends.
pub(crate) async fn lock_by_code(
    db: &mut impl Queries,
    code: &str,
) -> Result<Option<Flow>, DbError> {
    let sql = format!("select {COLUMNS} from auth.flow_state w where w.auth_code = $1 for update");
    let row = db.query_opt(&sql, &[&code]).await?;
    row.as_ref().map(Flow::from_row).transpose()
}

/// The newest flow of this user and method: the one that the newest mail belongs to.
pub(crate) async fn find_newest(
    db: &mut impl Queries,
    user: Uuid,
    method: FlowMethod,
) -> Result<Option<Flow>, DbError> {
    let sql = format!(
        "select {COLUMNS} from auth.flow_state w
         where w.user_id = $1 and w.authentication_method = $2
         order by w.created_at desc limit 1"
    );
    let row = db.query_opt(&sql, &[&user, &method.as_str()]).await?;
    row.as_ref().map(Flow::from_row).transpose()
}

/// Sets when the authorization code was issued.
pub(crate) async fn issue_code(
    db: &mut impl Queries,
    id: Uuid,
    now: OffsetDateTime,
) -> Result<(), DbError> {
    let sql = "update auth.flow_state set auth_code_issued_at = $2, updated_at = $2 where id = $1";
    db.execute(sql, &[&id, &now]).await?;
    Ok(())
}

/// Stores the user and the provider's tokens after the callback.
pub(crate) async fn bind(
    db: &mut impl Queries,
    id: Uuid,
    user: Uuid,
    access_token: &str,
    refresh_token: &str,
    now: OffsetDateTime,
) -> Result<(), DbError> {
    let sql = "update auth.flow_state
               set user_id = $2, provider_access_token = $3, provider_refresh_token = $4,
                 auth_code_issued_at = $5, updated_at = $5
               where id = $1";
    db.execute(sql, &[&id, &user, &access_token, &refresh_token, &now])
        .await?;
    Ok(())
}

pub(crate) async fn delete(db: &mut impl Queries, id: Uuid) -> Result<(), DbError> {
    db.execute("delete from auth.flow_state where id = $1", &[&id])
        .await?;
    Ok(())
}

/// All of a user's.
pub(crate) async fn delete_all(db: &mut impl Queries, user: Uuid) -> Result<(), DbError> {
    let sql = "delete from auth.flow_state where user_id = $1";
    db.execute(sql, &[&user]).await?;
    Ok(())
}
