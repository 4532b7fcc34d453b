//! The session of the current user.

use std::fmt;
use std::sync::Arc;

use plinth_client::auth::Claims;
use plinth_client::{Session as StoredSession, UnverifiedUser};
use plinth_token::Secret;
use uuid::Uuid;

use crate::verify::VerifiedClaims;

/// A user whose access token has been verified. Cheap to clone.
///
/// As an extractor it requires a signed-in user: others get 401, or a redirect to the sign-in page.
/// `Option<Session>` accepts every caller.
#[derive(Clone)]
pub struct Session(Arc<Parts>);

struct Parts {
    claims: Arc<VerifiedClaims>,
    access_token: Secret,
    stored: Option<StoredSession>,
}

impl Session {
    pub(crate) fn from_cookies(claims: Arc<VerifiedClaims>, stored: StoredSession) -> Self {
        Self(Arc::new(Parts {
            claims,
            access_token: Secret::new(stored.access_token()),
            stored: Some(stored),
        }))
    }

    pub(crate) fn from_bearer(claims: Arc<VerifiedClaims>, access_token: &str) -> Self {
        Self(Arc::new(Parts {
            claims,
            access_token: Secret::new(access_token),
            stored: None,
        }))
    }

    /// The user's id.
    pub fn user_id(&self) -> Uuid {
        self.0.claims.user_id
    }

    /// The verified claims. Base decisions on these.
    pub fn claims(&self) -> &Claims {
        &self.0.claims.claims
    }

    /// The Postgres role of the user's requests.
    pub fn role(&self) -> &str {
        self.claims().role().unwrap_or_default()
    }

    /// Whether a second factor was verified.
    pub fn is_aal2(&self) -> bool {
        self.claims().aal() == Some("aal2")
    }

    /// The id of this session.
    pub fn session_id(&self) -> &str {
        self.claims().session_id().unwrap_or_default()
    }

    /// When the access token ends, in seconds since 1970.
    pub fn expires_at(&self) -> i64 {
        self.0.claims.exp
    }

    /// The user as stored in the cookie. Cookies can be edited: display it, but base no decision on it. `None`
    /// where the cookie holds tokens only, or a bearer token was sent.
    pub fn unverified_user(&self) -> Option<UnverifiedUser> {
        self.0.stored.as_ref()?.user()
    }

    /// The access token, for calls on the user's behalf.
    pub fn access_token(&self) -> &Secret {
        &self.0.access_token
    }

    /// The session as stored in the cookies; `None` where a bearer token was sent.
    pub fn stored(&self) -> Option<&StoredSession> {
        self.0.stored.as_ref()
    }
}

/// Tokens are not printed.
impl fmt::Debug for Session {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Session")
            .field("user_id", &self.user_id())
            .field("session_id", &self.session_id())
            .field("role", &self.role())
            .finish_non_exhaustive()
    }
}

/// Session state of a request. An extractor too, for pages that distinguish "signed out" from "currently
/// unknown".
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum SessionState {
    /// Not signed in.
    Anonymous,
    /// Signed in.
    SignedIn(Session),
    /// There are session cookies, but the auth service needed to refresh them is unavailable. The cookies
    /// are kept for a later request.
    Unavailable,
}

impl SessionState {
    /// The user, if there is one.
    pub fn session(&self) -> Option<&Session> {
        match self {
            Self::SignedIn(session) => Some(session),
            Self::Anonymous | Self::Unavailable => None,
        }
    }

    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Anonymous => "anonymous",
            Self::SignedIn(_) => "signed_in",
            Self::Unavailable => "unavailable",
        }
    }
}
