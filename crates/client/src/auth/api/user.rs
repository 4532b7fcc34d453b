//! Calls with a user's access token.

use http::Method;
use serde_json::Value;

use super::call::segment;
use super::{AuthApi, Call};
use crate::auth::AuthError;
use crate::user::User;

/// Which sessions a sign-out ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    /// All of the user's, everywhere.
    #[default]
    Global,
    /// This one.
    Local,
    /// All but this one.
    Others,
}

impl Scope {
    /// The value in the request.
    pub fn name(self) -> &'static str {
        match self {
            Self::Global => "global",
            Self::Local => "local",
            Self::Others => "others",
        }
    }
}

impl AuthApi {
    /// `GET /user`: the user of the token, if its session is still valid.
    pub async fn user(&self, token: &str) -> Result<User, AuthError> {
        self.user_of(Call::get("/user").token(token)).await
    }

    /// `GET /user` by the `Authorization` header that all calls carry.
    pub(crate) async fn user_by_header(&self) -> Result<User, AuthError> {
        self.user_of(Call::get("/user")).await
    }

    /// `PUT /user`.
    pub async fn update_user(
        &self,
        token: &str,
        body: Value,
        redirect_to: Option<&str>,
    ) -> Result<User, AuthError> {
        let call = Call::new(Method::PUT, "/user").body(body);
        self.user_of(call.token(token).redirect_to(redirect_to))
            .await
    }

    /// `GET /reauthenticate`: sends a code that a password change may require.
    pub async fn reauthenticate(&self, token: &str) -> Result<(), AuthError> {
        self.done(Call::get("/reauthenticate").token(token)).await
    }

    /// `POST /logout`.
    pub async fn sign_out(&self, token: &str, scope: Scope) -> Result<(), AuthError> {
        let call = Call::new(Method::POST, "/logout").query("scope", scope.name());
        self.done(call.token(token)).await
    }

    /// `GET /user/identities/authorize`: the URL for linking another identity.
    pub(crate) async fn link_identity(
        &self,
        token: &str,
        query: &[(&str, String)],
    ) -> Result<String, AuthError> {
        let call = Call::get("/user/identities/authorize").token(token);
        let call = query
            .iter()
            .fold(call, |call, (name, value)| call.query(name, value));
        self.url_of(call).await
    }

    /// `DELETE /user/identities/{identity_id}`.
    pub async fn unlink_identity(&self, token: &str, identity_id: &str) -> Result<(), AuthError> {
        let path = format!("/user/identities/{}", segment(identity_id));
        self.done(Call::delete(path).token(token)).await
    }
}
