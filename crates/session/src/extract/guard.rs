//! Extractors with further requirements.

use std::marker::PhantomData;
use std::ops::Deref;

use axum::extract::FromRequestParts;
use http::request::Parts;

use super::{context, page_to_return_from};
use crate::rejection::{Problem, SessionRejection};
use crate::session::Session;

/// A user with a verified second factor. Others get 403 `insufficient_aal`, or a redirect to the MFA
/// page.
#[derive(Clone, Debug)]
pub struct RequireAal2(pub Session);

impl Deref for RequireAal2 {
    type Target = Session;

    fn deref(&self) -> &Session {
        &self.0
    }
}

impl<S: Send + Sync> FromRequestParts<S> for RequireAal2 {
    type Rejection = SessionRejection;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Self::Rejection> {
        let session = signed_in(parts, state).await?;
        if session.is_aal2() {
            return Ok(Self(session));
        }
        let to = page_to_return_from(parts, context(parts)?.config().mfa_path.as_deref());
        Err(SessionRejection::or_redirect(Problem::InsufficientAal, to))
    }
}

/// The name of a role, as a type.
///
/// ```
/// struct Editor;
/// impl plinth_session::RoleName for Editor {
///     const NAME: &'static str = "editor";
/// }
/// ```
pub trait RoleName: Send + 'static {
    /// The required `role` claim.
    const NAME: &'static str;
}

/// A user of one role. The layer must also [let the role in](crate::SessionLayerBuilder::allow_role).
/// Others get 403 `insufficient_role`.
pub struct RequireRole<R> {
    session: Session,
    role: PhantomData<R>,
}

impl<R> Deref for RequireRole<R> {
    type Target = Session;

    fn deref(&self) -> &Session {
        &self.session
    }
}

impl<S: Send + Sync, R: RoleName> FromRequestParts<S> for RequireRole<R> {
    type Rejection = SessionRejection;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Self::Rejection> {
        let session = signed_in(parts, state).await?;
        if session.role() != R::NAME {
            return Err(SessionRejection::new(Problem::WrongRole));
        }
        Ok(Self {
            session,
            role: PhantomData,
        })
    }
}

async fn signed_in<S: Send + Sync>(
    parts: &mut Parts,
    state: &S,
) -> Result<Session, SessionRejection> {
    <Session as FromRequestParts<S>>::from_request_parts(parts, state).await
}
