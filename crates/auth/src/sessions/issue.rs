//! New sessions and their tokens.

use plinth_db::Queries;
use serde::Serialize;
use serde_json::Value;
use time::OffsetDateTime;
use uuid::Uuid;

use super::{claims::claims, counted};
use crate::{
    AuthError,
    config::RefreshTokens,
    hooks,
    model::{
        Object, Session, User, UserBody, refresh_tokens,
        sessions::{self, NewSession},
        subject::Subject,
        users,
    },
    request::RequestContext,
};

/// An authentication method (`amr`, §3.1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Method(pub(crate) String);

impl Method {
    pub(crate) fn new(name: &str) -> Self {
        Self(name.to_owned())
    }
}

/// The parameters of a sign-in.
#[derive(Debug, Clone)]
pub(crate) struct SignIn {
    pub(crate) method: Method,
    /// The latest end of the session, if an identity provider limits it.
    pub(crate) not_after: Option<OffsetDateTime>,
    /// The application of the session, and its scopes.
    pub(crate) oauth_client_id: Option<Uuid>,
    pub(crate) scopes: Option<String>,
}

impl SignIn {
    /// A sign-in by this method.
    pub(crate) fn by(method: &str) -> Self {
        Self {
            method: Method::new(method),
            not_after: None,
            oauth_client_id: None,
            scopes: None,
        }
    }
}

/// The response to sign-ins and refreshes (§1.5).
#[derive(Clone, Serialize)]
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
    /// For response headers; not in the body.
    #[serde(skip)]
    pub(crate) headers: TokenHeaders,
}

/// The `sb-auth-*` response headers.
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

/// Starts a session for `user` and issues its tokens.
pub(crate) async fn sign_in(
    context: &RequestContext,
    db: &mut impl Queries,
    user: User,
    sign_in: SignIn,
) -> Result<TokenBody, AuthError> {
    let now = context.now;
    let session = sessions::insert(db, &new_session(context, user.id, &sign_in), now).await?;
    let refresh_token = match context.config.refresh.tokens {
        RefreshTokens::Chained => {
            refresh_tokens::insert(db, user.id, session.id, None, now).await?
        }
        RefreshTokens::Counted => counted::first_token(db, session.id).await?,
    };
    let user = users::set_last_sign_in(db, user.id, now).await?;
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

/// The row of a new session.
fn new_session<'a>(context: &'a RequestContext, user: Uuid, sign_in: &'a SignIn) -> NewSession<'a> {
    NewSession {
        id: crate::random::uuid(),
        user,
        method: &sign_in.method.0,
        not_after: sign_in.not_after,
        user_agent: &context.client.user_agent,
        ip: context.client.ip,
        tag: context.config.sessions.tags.first().map(String::as_str),
        oauth_client_id: sign_in.oauth_client_id,
        scopes: sign_in.scopes.as_deref(),
    }
}

/// Issues the session's access token, beside an existing refresh token. `method` is for the hook.
pub(crate) async fn issue_access_token(
    context: &RequestContext,
    db: &mut impl Queries,
    user: User,
    session: &Session,
    refresh_token: String,
    method: &str,
) -> Result<TokenBody, AuthError> {
    let subject = Subject::load(db, user, session.id).await?;
    issue_for(context, db, subject, session, refresh_token, method).await
}

/// As [`issue_access_token`], with everything loaded.
pub(super) async fn issue_for(
    context: &RequestContext,
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

/// As [`issue_for`], outside a transaction.
pub(super) async fn issue_without_transaction(
    context: &RequestContext,
    subject: Subject,
    session: &Session,
    refresh_token: String,
    method: &str,
) -> Result<TokenBody, AuthError> {
    let (user, claims) = (subject.user.id, claims(context, &subject, session));
    let claims = hooks::custom_access_token_detached(context, user, claims, method).await?;
    token_body(context, subject, session, refresh_token, claims)
}

fn token_body(
    context: &RequestContext,
    subject: Subject,
    session: &Session,
    refresh_token: String,
    claims: Object,
) -> Result<TokenBody, AuthError> {
    let signed = context.project.keys().keyset.sign(&claims);
    let access_token = signed.map_err(AuthError::signing_token_failed)?;
    // Hooks may return a whole number as a float.
    let exp = claims.get("exp").and_then(Value::as_f64);
    let expires_at = exp.unwrap_or_default() as i64;
    Ok(TokenBody {
        access_token,
        token_type: "bearer",
        expires_in: (expires_at - context.now.unix_timestamp()).max(1),
        expires_at,
        refresh_token,
        user: UserBody::with_relations(subject.user, subject.relations),
        provider_token: None,
        provider_refresh_token: None,
        weak_password: None,
        headers: TokenHeaders {
            session_id: Some(session.id),
            ..TokenHeaders::default()
        },
    })
}
