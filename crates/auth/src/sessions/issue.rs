//! A new session and its first tokens.

use plinth_db::{DbError, Queries, Row};
use serde::Serialize;
use serde_json::Value;
use time::OffsetDateTime;
use uuid::Uuid;

use super::{chained, claims::claims, counted};
use crate::{
    AuthError,
    config::RefreshTokens,
    hooks,
    model::{
        Belongings, Object, Session, User, UserBody,
        sessions::{self, AmrClaim},
        users,
    },
    request::Context,
};

/// How somebody proved who they are (§3.1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Method(pub(crate) String);

impl Method {
    pub(crate) fn new(name: &str) -> Self {
        Self(name.to_owned())
    }
}

/// A sign-in to be.
#[derive(Debug, Clone)]
pub(crate) struct SignIn {
    pub(crate) method: Method,
    /// When the session ends at the latest, if somebody outside said so.
    pub(crate) not_after: Option<OffsetDateTime>,
    /// The application that the session belongs to, and what it may see.
    pub(crate) oauth_client_id: Option<Uuid>,
    pub(crate) scopes: Option<String>,
}

impl SignIn {
    /// The everyday one.
    pub(crate) fn by(method: &str) -> Self {
        Self {
            method: Method::new(method),
            not_after: None,
            oauth_client_id: None,
            scopes: None,
        }
    }
}

/// What a client gets when it signs in or refreshes (§1.5).
#[derive(Debug, Clone, Serialize)]
pub(crate) struct TokenBody {
    pub(crate) access_token: String,
    pub(crate) token_type: &'static str,
    pub(crate) expires_in: i64,
    pub(crate) expires_at: i64,
    pub(crate) refresh_token: String,
    pub(crate) user: UserBody,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) provider_token: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) provider_refresh_token: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) weak_password: Option<Value>,
    /// Told to whatever stands before us, never in the body.
    #[serde(skip)]
    pub(crate) headers: TokenHeaders,
}

/// `sb-auth-*` of the response.
#[derive(Debug, Clone, Default)]
pub(crate) struct TokenHeaders {
    pub(crate) session_id: Option<Uuid>,
    pub(crate) is_rotated: Option<bool>,
    pub(crate) reuse_cause: Option<&'static str>,
}

impl axum::response::IntoResponse for TokenBody {
    fn into_response(self) -> axum::response::Response {
        let headers = self.headers.clone();
        let user = self.user.id;
        let mut response = axum::Json(self).into_response();
        let mut set = |name: &'static str, value: String| {
            if let Ok(value) = value.parse() {
                response.headers_mut().insert(name, value);
            }
        };
        set("sb-auth-user-id", user.to_string());
        if let Some(id) = headers.session_id {
            set("sb-auth-session-id", id.to_string());
        }
        if let Some(is_rotated) = headers.is_rotated {
            set("sb-auth-refresh-token-rotated", is_rotated.to_string());
        }
        if let Some(cause) = headers.reuse_cause {
            set("sb-auth-refresh-token-reuse", "true".to_owned());
            set("sb-auth-refresh-token-reuse-cause", cause.to_owned());
        }
        let no_store = http::HeaderValue::from_static("no-store");
        response
            .headers_mut()
            .insert(http::header::CACHE_CONTROL, no_store);
        response
    }
}

/// Opens a session for `user` and gives its tokens.
pub(crate) async fn sign_in(
    context: &Context,
    db: &mut impl Queries,
    user: User,
    sign_in: SignIn,
) -> Result<TokenBody, AuthError> {
    let now = context.now;
    let session = insert_session(context, db, user.id, &sign_in).await?;
    let refresh_token = match context.config.refresh.tokens {
        RefreshTokens::Chained => chained::insert(db, user.id, session.id, None, now).await?,
        RefreshTokens::Counted => counted::first(db, session.id).await?,
    };
    let user = users::update(db, user.id, now, "last_sign_in_at = $1", &[&now]).await?;
    issue_access_token(
        context,
        db,
        user,
        &session,
        refresh_token,
        &sign_in.method.0,
    )
    .await
}

async fn insert_session(
    context: &Context,
    db: &mut impl Queries,
    user: Uuid,
    sign_in: &SignIn,
) -> Result<Session, DbError> {
    let now = context.now;
    let sql = format!(
        "insert into auth.sessions as s (
           id, user_id, created_at, updated_at, aal, not_after, user_agent, ip, tag,
           oauth_client_id, scopes)
         values ($1, $2, $3, $3, 'aal1', $4, $5, $6::text::inet, $7, $8, $9)
         returning {}",
        sessions::COLUMNS
    );
    let id = crate::random::uuid();
    let tag = context.config.sessions.tags.first();
    let ip = context.client.ip.to_string();
    let params: plinth_db::Params<'_> = &[
        &id,
        &user,
        &now,
        &sign_in.not_after,
        &context.client.user_agent,
        &ip,
        &tag,
        &sign_in.oauth_client_id,
        &sign_in.scopes,
    ];
    let row = db.query_opt(&sql, params).await?;
    let row = row.ok_or_else(|| DbError::Misuse("an insert gave no row".to_owned()))?;
    sessions::add_amr(db, id, &sign_in.method.0, now).await?;
    Session::from_row(&row)
}

/// Whom an access token speaks of: the user with all that is theirs, and how they proved in the
/// session who they are.
pub(super) struct Subject {
    pub(super) user: User,
    pub(super) belongings: Belongings,
    pub(super) amr: Vec<AmrClaim>,
}

impl Subject {
    /// What [`Self::from_row`] reads, of tables that are called `u` and `s`.
    pub(super) fn columns() -> String {
        let (users, amr) = (users::COLUMNS, sessions::AMR);
        format!("{users}, {}, {amr}", Belongings::columns())
    }

    pub(super) fn from_row(row: &Row) -> Result<Self, DbError> {
        Ok(Self {
            user: User::from_row(row)?,
            belongings: Belongings::from_row(row)?,
            amr: sessions::amr_from_row(row)?,
        })
    }

    /// What is missing of a user who was read already.
    async fn load(db: &mut impl Queries, user: User, session: Uuid) -> Result<Self, DbError> {
        let sql = format!(
            "select {}, {} from (select $1::uuid as id) u, (select $2::uuid as id) s",
            Belongings::columns(),
            sessions::AMR
        );
        let row = db.query_opt(&sql, &[&user.id, &session]).await?;
        let row = row.ok_or_else(|| DbError::Misuse("one row became none".to_owned()))?;
        Ok(Self {
            user,
            belongings: Belongings::from_row(&row)?,
            amr: sessions::amr_from_row(&row)?,
        })
    }
}

/// The access token of a session as user and session are now, beside a refresh token that is
/// already made. `method` is what the hook is told.
pub(crate) async fn issue_access_token(
    context: &Context,
    db: &mut impl Queries,
    user: User,
    session: &Session,
    refresh_token: String,
    method: &str,
) -> Result<TokenBody, AuthError> {
    let subject = Subject::load(db, user, session.id).await?;
    issue_for(context, db, subject, session, refresh_token, method).await
}

/// The same for a user of whom everything is known.
pub(super) async fn issue_for(
    context: &Context,
    db: &mut impl Queries,
    subject: Subject,
    session: &Session,
    refresh_token: String,
    method: &str,
) -> Result<TokenBody, AuthError> {
    let (user, claims) = (subject.user.id, claims(context, &subject, session));
    let claims = hooks::custom_access_token(context, db, user, claims, method).await?;
    token_body(context, subject, session, refresh_token, claims)
}

/// The same outside of any transaction.
pub(super) async fn issue_unlocked(
    context: &Context,
    subject: Subject,
    session: &Session,
    refresh_token: String,
    method: &str,
) -> Result<TokenBody, AuthError> {
    let (user, claims) = (subject.user.id, claims(context, &subject, session));
    let claims = hooks::custom_access_token_alone(context, user, claims, method).await?;
    token_body(context, subject, session, refresh_token, claims)
}

fn token_body(
    context: &Context,
    subject: Subject,
    session: &Session,
    refresh_token: String,
    claims: Object,
) -> Result<TokenBody, AuthError> {
    let signed = context.project.keys().keyset.sign(&claims);
    let access_token =
        signed.map_err(|error| AuthError::internal("error generating jwt token", error))?;
    // A hook's whole number may have a point.
    let exp = claims.get("exp").and_then(Value::as_f64);
    let expires_at = exp.unwrap_or_default() as i64;
    Ok(TokenBody {
        access_token,
        token_type: "bearer",
        expires_in: (expires_at - context.now.unix_timestamp()).max(1),
        expires_at,
        refresh_token,
        user: UserBody::whole(subject.user, subject.belongings),
        provider_token: None,
        provider_refresh_token: None,
        weak_password: None,
        headers: TokenHeaders {
            session_id: Some(session.id),
            ..TokenHeaders::default()
        },
    })
}
