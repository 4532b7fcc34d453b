//! Access tokens of requests (client contract R3).

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use crate::auth::{Auth, AuthError};
use crate::runtime::{BoxFuture, MaybeSend, MaybeSync};

/// Returns the access token of a request.
pub trait TokenSource: MaybeSend + MaybeSync + 'static {
    /// The user's token; `None` for requests without a user.
    fn token(&self) -> BoxFuture<'_, Result<Option<String>, AuthError>>;
}

impl TokenSource for Auth {
    fn token(&self) -> BoxFuture<'_, Result<Option<String>, AuthError>> {
        Box::pin(async move {
            let session = self.session().await?;
            Ok(session.map(|session| session.access_token().to_owned()))
        })
    }
}

/// The tokens of a third-party auth service.
#[derive(Clone)]
pub struct ThirdParty(Arc<dyn TokenSource>);

impl ThirdParty {
    pub(crate) fn new<F, T>(give: F) -> Self
    where
        F: Fn() -> T + MaybeSend + MaybeSync + 'static,
        T: Future<Output = Option<String>> + MaybeSend + 'static,
    {
        Self(Arc::new(Callback(give)))
    }
}

impl TokenSource for ThirdParty {
    fn token(&self) -> BoxFuture<'_, Result<Option<String>, AuthError>> {
        self.0.token()
    }
}

impl fmt::Debug for ThirdParty {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ThirdParty").finish_non_exhaustive()
    }
}

struct Callback<F>(F);

impl<F, T> TokenSource for Callback<F>
where
    F: Fn() -> T + MaybeSend + MaybeSync + 'static,
    T: Future<Output = Option<String>> + MaybeSend + 'static,
{
    fn token(&self) -> BoxFuture<'_, Result<Option<String>, AuthError>> {
        let token = (self.0)();
        Box::pin(async move { Ok(token.await) })
    }
}
