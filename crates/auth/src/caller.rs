//! Extractors of the caller: a user, an OAuth application that acts for one, an administrator (auth
//! contract §1.1).

use axum::{
    extract::{FromRequestParts, Request, State},
    http::request::Parts,
    middleware::Next,
    response::{IntoResponse, Response},
};
use http::Method;
use plinth_project::{Credentials, IMPERSONATION_CLAIM};
use plinth_token::VerifiedToken;
use uuid::Uuid;

use crate::{
    AuthError, AuthService,
    audit::Actor,
    model::{Object, Session, User, UserRelations, sessions::Aal, users},
    request::{RequestContext, verified_caller},
    sessions,
};

/// The user of the access token, as the database has them. Never an OAuth application: those need
/// [`UserOrApplication`].
pub(crate) struct SignedIn {
    pub(crate) user: User,
    pub(crate) relations: UserRelations,
    /// Tokens that hooks or tools made may name none.
    pub(crate) session: Option<Session>,
    pub(crate) token: VerifiedToken,
}

/// A user, or an OAuth application that acts for one (§2.16). The user granted the application to
/// identify them, not to take over the account, so few endpoints accept it.
pub(crate) struct UserOrApplication(pub(crate) SignedIn);

/// A caller whose token has one of the project's admin roles.
pub(crate) struct Admin {
    /// The role, for the audit log.
    pub(crate) role: String,
    /// The user, if the token is a user's.
    pub(crate) user: Option<User>,
}

impl FromRequestParts<AuthService> for SignedIn {
    type Rejection = AuthError;

    async fn from_request_parts(
        parts: &mut Parts,
        service: &AuthService,
    ) -> Result<Self, AuthError> {
        let UserOrApplication(signed_in) =
            UserOrApplication::from_request_parts(parts, service).await?;
        signed_in.reject_application()?;
        Ok(signed_in)
    }
}

impl FromRequestParts<AuthService> for UserOrApplication {
    type Rejection = AuthError;

    async fn from_request_parts(
        parts: &mut Parts,
        service: &AuthService,
    ) -> Result<Self, AuthError> {
        let context = RequestContext::from_request_parts(parts, service).await?;
        let caller = verified_caller(parts, context.now)?;
        let Some(token) = caller.token().cloned() else {
            return Err(AuthError::missing_sub_claim());
        };
        if is_impersonation(&token) && !is_open_to_impersonation(&parts.method, parts.uri.path()) {
            return Err(AuthError::impersonation_not_allowed());
        }
        SignedIn::load(&context, token).await.map(Self)
    }
}

impl SignedIn {
    /// Whether the session belongs to an OAuth application.
    pub(crate) fn is_application(&self) -> bool {
        let session = self.session.as_ref();
        session.is_some_and(|session| session.oauth_client_id.is_some())
    }

    /// Whether the token is an operator's, in place of the user.
    pub(crate) fn is_impersonated(&self) -> bool {
        is_impersonation(&self.token)
    }

    /// Whether the user has a second factor and has not proven it in this session.
    pub(crate) fn lacks_second_factor(&self) -> bool {
        let session = self.session.as_ref();
        let is_aal2 = session.is_some_and(|session| session.aal == Aal::Aal2);
        !is_aal2 && self.relations.has_verified_factor()
    }

    fn reject_application(&self) -> Result<(), AuthError> {
        if self.is_application() {
            Err(AuthError::application_not_allowed())
        } else {
            Ok(())
        }
    }

    async fn load(context: &RequestContext, token: VerifiedToken) -> Result<Self, AuthError> {
        let subject = token.sub().filter(|sub| !sub.is_empty());
        let subject = subject.ok_or_else(AuthError::missing_sub_claim)?;
        check_not_id_token(&token)?;
        let user_id: Uuid = subject
            .parse()
            .map_err(|_| AuthError::sub_claim_not_uuid())?;
        let session_id = session_id(&token)?;
        let mut db = context.db().await?;
        let (user, relations, session) = users::find_with_session(&mut db, user_id, session_id)
            .await?
            .ok_or_else(AuthError::user_of_token_not_found)?;
        if session_id.is_some() && session.is_none() {
            return Err(AuthError::session_of_token_not_found());
        }
        if user.is_banned(context.now) {
            return Err(AuthError::user_banned());
        }
        Ok(Self {
            user,
            relations,
            session,
            token,
        })
    }
}

/// Whether an operator got the token in place of a user (console contract N92).
fn is_impersonation(token: &VerifiedToken) -> bool {
    token.claims().contains_key(IMPERSONATION_CLAIM)
}

/// What a token in place of a user is good for: seeing what the user sees, and ending the session.
/// Everything else could change the account, or give out a token that lives longer.
fn is_open_to_impersonation(method: &Method, path: &str) -> bool {
    match path {
        "/user" | "/user/sessions" | "/user/oauth/grants" | "/passkeys" | "/oauth/userinfo" => {
            method == Method::GET || method == Method::HEAD
        }
        "/logout" => method == Method::POST,
        _ => false,
    }
}

/// ID tokens that we issue to applications have the same signing key and subject as access tokens,
/// and must not be accepted in their place. Only access tokens have a role.
fn check_not_id_token(token: &VerifiedToken) -> Result<(), AuthError> {
    match token.role() {
        Some(_) => Ok(()),
        None => Err(AuthError::missing_role_claim()),
    }
}

fn session_id(token: &VerifiedToken) -> Result<Option<Uuid>, AuthError> {
    match token.session_id().filter(|id| !id.is_empty()) {
        None => Ok(None),
        Some(id) => {
            let id = id.parse().map(Some);
            id.map_err(|_| AuthError::session_claim_not_uuid())
        }
    }
}

impl FromRequestParts<AuthService> for Admin {
    type Rejection = AuthError;

    async fn from_request_parts(
        parts: &mut Parts,
        service: &AuthService,
    ) -> Result<Self, AuthError> {
        let context = RequestContext::from_request_parts(parts, service).await?;
        let caller = verified_caller(parts, context.now)?;
        let role = caller.role().to_owned();
        if !context.config.jwt.admin_roles.contains(&role) {
            return Err(AuthError::admin_role_required());
        }
        // API keys have no session; a user's token is valid only while its session is.
        let Some(token) = caller.token().filter(|token| token.session_id().is_some()) else {
            return Ok(Self { role, user: None });
        };
        let signed_in = SignedIn::load(&context, token.clone()).await?;
        signed_in.reject_application()?;
        if signed_in.is_impersonated() {
            return Err(AuthError::impersonation_not_allowed());
        }
        if let Some(session) = &signed_in.session {
            let mut db = context.db().await?;
            let user = &signed_in.user;
            let end = sessions::find_end(&context, &mut db, session, user, None).await?;
            if let Some(reason) = end {
                return Err(AuthError::admin_session_expired(reason));
            }
        }
        Ok(Self {
            role,
            user: Some(signed_in.user),
        })
    }
}

impl Actor for Admin {
    fn describe(&self) -> Object {
        if let Some(user) = &self.user {
            return user.describe();
        }
        let mut actor = Object::new();
        actor.insert("actor_id".to_owned(), Uuid::nil().to_string().into());
        actor.insert("actor_via_sso".to_owned(), false.into());
        actor.insert("actor_username".to_owned(), self.role.as_str().into());
        actor
    }
}

/// Rejects requests without an API key or token of the project. Standalone, the service leaves that
/// to the gateway in front of it, as GoTrue does.
pub(crate) async fn require_api_key(
    State(service): State<AuthService>,
    request: Request,
    next: Next,
) -> Response {
    if service.is_standalone() {
        return next.run(request).await;
    }
    let credentials = request.extensions().get::<Credentials>();
    let is_known = credentials.is_some_and(|credentials| {
        let shown = [&credentials.api_key, &credentials.bearer];
        shown.into_iter().flatten().any(Result::is_ok)
    });
    if is_known {
        next.run(request).await
    } else {
        AuthError::missing_api_key().into_response()
    }
}
