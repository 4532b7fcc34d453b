//! Who is signed in.

use std::fmt;
use std::sync::Arc;

use plinth_client::auth::Claims;
use plinth_client::{Session as StoredSession, UnverifiedUser};
use plinth_token::Secret;
use uuid::Uuid;

use crate::verify::Proven;

/// A user whose access token has been verified. Cheap to clone.
///
/// As an extractor it lets nobody else in: who is not signed in gets 401, or is sent to the
/// sign-in page. `Option<Session>` lets everybody in.
#[derive(Clone)]
pub struct Session(Arc<Parts>);

struct Parts {
    proven: Arc<Proven>,
    access_token: Secret,
    stored: Option<StoredSession>,
}

impl Session {
    pub(crate) fn from_cookies(proven: Arc<Proven>, stored: StoredSession) -> Self {
        Self(Arc::new(Parts {
            proven,
            access_token: Secret::new(stored.access_token()),
            stored: Some(stored),
        }))
    }

    pub(crate) fn from_bearer(proven: Arc<Proven>, access_token: &str) -> Self {
        Self(Arc::new(Parts {
            proven,
            access_token: Secret::new(access_token),
            stored: None,
        }))
    }

    /// The user's id: whom decisions are about.
    pub fn user_id(&self) -> Uuid {
        self.0.proven.user_id
    }

    /// What the verified token says. Decide by this.
    pub fn claims(&self) -> &Claims {
        &self.0.proven.claims
    }

    /// The Postgres role of the user's requests.
    pub fn role(&self) -> &str {
        self.claims().role().unwrap_or_default()
    }

    /// Whether the user has shown a second factor.
    pub fn is_aal2(&self) -> bool {
        self.claims().aal() == Some("aal2")
    }

    /// The id of this sign-in.
    pub fn session_id(&self) -> &str {
        self.claims().session_id().unwrap_or_default()
    }

    /// When the access token ends, in seconds since 1970.
    pub fn expires_at(&self) -> i64 {
        self.0.proven.exp
    }

    /// The user as the cookie describes them. Anybody can edit a cookie: show it, and decide
    /// nothing by it. Absent where the cookie holds tokens only, or a bearer token was sent.
    pub fn unverified_user(&self) -> Option<UnverifiedUser> {
        self.0.stored.as_ref()?.user()
    }

    /// The access token, for calls on the user's behalf.
    pub fn access_token(&self) -> &Secret {
        &self.0.access_token
    }

    /// The session as the cookies hold it; nothing where a bearer token was sent.
    pub fn stored(&self) -> Option<&StoredSession> {
        self.0.stored.as_ref()
    }
}

/// Who, never by which tokens.
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

/// How a request was recognised. An extractor too, for pages that tell "signed out" from "not
/// known at the moment".
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum SessionState {
    /// Nobody, as far as can be known.
    Anonymous,
    /// A user.
    SignedIn(Session),
    /// There are session cookies, but the auth service that would have to refresh them cannot be
    /// reached. The cookies are kept; a later request will do.
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
