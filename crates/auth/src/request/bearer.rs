//! Who is signed in, and who administers (auth contract §1.1).

use axum::{
    extract::{FromRequestParts, Request, State},
    http::request::Parts,
    middleware::Next,
    response::{IntoResponse, Response},
};
use http::{HeaderMap, header};
use plinth_project::{Caller, CallerError, Credentials};
use plinth_token::{ClaimRules, VerifiedToken};
use time::OffsetDateTime;
use uuid::Uuid;

use super::Context;
use crate::{
    AuthConfig, AuthError, AuthService,
    error::Code,
    model::{Belongings, Session, User, users},
    sessions,
};

/// The user whose access token came with the request, as the database knows them now. Never an
/// application that they let in: those have [`OnBehalf`].
pub(crate) struct SignedIn {
    pub(crate) user: User,
    pub(crate) belongings: Belongings,
    /// Tokens that hooks or tools made may have none.
    pub(crate) session: Option<Session>,
    pub(crate) token: VerifiedToken,
}

/// A user, or an application that acts for one (§2.16). What somebody agreed to when they let it in
/// was to be recognised, not that it may take the account over.
pub(crate) struct OnBehalf(pub(crate) SignedIn);

/// Somebody whose token has an administrating role.
pub(crate) struct Admin {
    /// Their role, which the audit log names.
    pub(crate) role: String,
    /// Their account, if the token is a user's.
    pub(crate) user: Option<User>,
}

impl FromRequestParts<AuthService> for SignedIn {
    type Rejection = AuthError;

    async fn from_request_parts(
        parts: &mut Parts,
        service: &AuthService,
    ) -> Result<Self, AuthError> {
        let OnBehalf(signed_in) = OnBehalf::from_request_parts(parts, service).await?;
        signed_in.check_in_person()?;
        Ok(signed_in)
    }
}

impl FromRequestParts<AuthService> for OnBehalf {
    type Rejection = AuthError;

    async fn from_request_parts(
        parts: &mut Parts,
        service: &AuthService,
    ) -> Result<Self, AuthError> {
        let context = Context::from_request_parts(parts, service).await?;
        let caller = bearer(parts, context.now)?;
        let Some(token) = caller.token().cloned() else {
            return Err(missing_subject());
        };
        SignedIn::load(&context, token).await.map(Self)
    }
}

impl SignedIn {
    /// Whether an application has the session.
    pub(crate) fn is_application(&self) -> bool {
        let session = self.session.as_ref();
        session.is_some_and(|session| session.oauth_client_id.is_some())
    }

    fn check_in_person(&self) -> Result<(), AuthError> {
        match self.is_application() {
            false => Ok(()),
            true => Err(AuthError::new(
                403,
                Code::NoAuthorization,
                "Applications cannot do this in place of their user",
            )),
        }
    }

    async fn load(context: &Context, token: VerifiedToken) -> Result<Self, AuthError> {
        let subject = token.sub().filter(|sub| !sub.is_empty());
        let subject = subject.ok_or_else(missing_subject)?;
        check_not_id_token(&token)?;
        let user_id: Uuid = subject.parse().map_err(|_| {
            AuthError::new(400, Code::BadJwt, "invalid claim: sub claim must be a UUID")
        })?;
        let session_id = session_id(&token)?;
        let mut db = context.db().await?;
        let (user, belongings, session) = users::find_with_session(&mut db, user_id, session_id)
            .await?
            .ok_or_else(|| {
                AuthError::new(
                    403,
                    Code::UserNotFound,
                    "User from sub claim in JWT does not exist",
                )
            })?;
        if session_id.is_some() && session.is_none() {
            return Err(AuthError::new(
                403,
                Code::SessionNotFound,
                "Session from session_id claim in JWT does not exist",
            ));
        }
        if user.is_banned(context.now) {
            return Err(AuthError::new(403, Code::UserBanned, "User is banned"));
        }
        Ok(Self {
            user,
            belongings,
            session,
            token,
        })
    }
}

/// What tells applications who somebody is has the same key and the same subject as what lets that
/// person in, and an application must not pass the one off as the other. Only the latter has a role.
fn check_not_id_token(token: &VerifiedToken) -> Result<(), AuthError> {
    match token.role() {
        Some(_) => Ok(()),
        None => Err(AuthError::new(
            403,
            Code::BadJwt,
            "invalid claim: missing role claim",
        )),
    }
}

fn session_id(token: &VerifiedToken) -> Result<Option<Uuid>, AuthError> {
    match token.session_id().filter(|id| !id.is_empty()) {
        None => Ok(None),
        Some(id) => id.parse().map(Some).map_err(|_| {
            let message = "invalid claim: session_id claim must be a UUID";
            AuthError::new(403, Code::BadJwt, message)
        }),
    }
}

impl FromRequestParts<AuthService> for Admin {
    type Rejection = AuthError;

    async fn from_request_parts(
        parts: &mut Parts,
        service: &AuthService,
    ) -> Result<Self, AuthError> {
        let context = Context::from_request_parts(parts, service).await?;
        let caller = bearer(parts, context.now)?;
        let role = caller.role().to_owned();
        if !context.config.jwt.admin_roles.contains(&role) {
            return Err(AuthError::new(403, Code::NotAdmin, "User not allowed"));
        }
        // Keys have no session; a user's token is good only as long as its session is.
        let Some(token) = caller.token().filter(|token| token.session_id().is_some()) else {
            return Ok(Self { role, user: None });
        };
        let signed_in = SignedIn::load(&context, token.clone()).await?;
        signed_in.check_in_person()?;
        if let Some(session) = &signed_in.session {
            let mut db = context.db().await?;
            let user = &signed_in.user;
            sessions::check_valid(&context, &mut db, session, user, None, 403).await?;
        }
        Ok(Self {
            role,
            user: Some(signed_in.user),
        })
    }
}

/// Whether the request carries a good token of an administrating role. Enough to be spared a
/// captcha; [`Admin`] asks more.
pub(super) fn has_admin_token(parts: &Parts, config: &AuthConfig, now: OffsetDateTime) -> bool {
    let is_admin = |caller: Caller| {
        let mut roles = config.jwt.admin_roles.iter();
        roles.any(|role| role == caller.role())
    };
    bearer(parts, now).is_ok_and(is_admin)
}

/// Whoever showed a good bearer token.
fn bearer(parts: &Parts, now: OffsetDateTime) -> Result<Caller, AuthError> {
    let credentials = parts.extensions.get::<Credentials>();
    let shown = credentials.and_then(|credentials| credentials.bearer.clone());
    let caller = match shown {
        None => return Err(no_bearer()),
        Some(Err(CallerError::Missing)) => return Err(no_bearer()),
        Some(Err(_)) if !is_one_word(&parts.headers) => return Err(no_bearer()),
        Some(Err(error)) => return Err(bad_token(&error)),
        Some(Ok(caller)) => caller,
    };
    if let Some(token) = caller.token() {
        let rules = ClaimRules::exact(now.unix_timestamp());
        token.check(&rules).map_err(|error| bad_token(&error))?;
    }
    Ok(caller)
}

/// Whether something that could be a token stands after the scheme.
fn is_one_word(headers: &HeaderMap) -> bool {
    let value = headers.get(header::AUTHORIZATION);
    let text = value.and_then(|value| value.to_str().ok());
    text.is_some_and(|text| text.split_ascii_whitespace().count() == 2)
}

fn no_bearer() -> AuthError {
    AuthError::new(
        401,
        Code::NoAuthorization,
        "This endpoint requires a valid Bearer token",
    )
}

fn bad_token(error: &dyn std::fmt::Display) -> AuthError {
    AuthError::new(
        403,
        Code::BadJwt,
        format!("invalid JWT: unable to parse or verify signature, {error}"),
    )
}

fn missing_subject() -> AuthError {
    AuthError::new(403, Code::BadJwt, "invalid claim: missing sub claim")
}

/// Lets only those through who show a key of the project. Alone, as in the program that it
/// replaces, the service leaves that to whatever stands before it.
pub(crate) async fn require_key(
    State(service): State<AuthService>,
    request: Request,
    next: Next,
) -> Response {
    if service.is_alone() {
        return next.run(request).await;
    }
    let credentials = request.extensions().get::<Credentials>();
    let is_known = credentials.is_some_and(|credentials| {
        let shown = [&credentials.api_key, &credentials.bearer];
        shown.into_iter().flatten().any(Result::is_ok)
    });
    match is_known {
        true => next.run(request).await,
        false => AuthError::new(401, Code::NoAuthorization, "No API key found in request")
            .into_response(),
    }
}
