//! What belongs to one user: removal, factors, passkeys (client contract S79, S80).

use super::super::api::{AuthApi, Call, segment};
use super::super::{AuthError, Passkey};
use super::{removal, user_path};
use crate::call_options::{CallOptions, with_call_options, with_handle_options};
use crate::user::Factor;

/// Removing an account; see [`Users::delete`](super::Users::delete).
#[must_use = "nothing is sent before `send`"]
pub struct DeleteUserRequest {
    api: AuthApi,
    id: String,
    is_soft: bool,
    options: CallOptions,
}

with_call_options!(DeleteUserRequest);

impl DeleteUserRequest {
    pub(super) fn new(api: &AuthApi, id: &str) -> Self {
        Self {
            api: api.clone(),
            id: id.to_owned(),
            is_soft: false,
            options: CallOptions::default(),
        }
    }

    /// Keeps an empty row in place of the user, so that what refers to it stays.
    pub fn soft(mut self) -> Self {
        self.is_soft = true;
        self
    }

    /// Removes the account.
    pub async fn send(self) -> Result<(), AuthError> {
        let call = Call::delete(user_path(&self.id, "")?).body(removal(self.is_soft));
        self.api.for_call(&self.options)?.done(call).await
    }
}

/// One user; see [`AdminClient::user`](super::AdminClient::user).
#[derive(Clone, Debug)]
pub struct AdminUser {
    api: AuthApi,
    id: String,
}

with_handle_options!(AdminUser, AdminFactors, AdminPasskeys);

impl AdminUser {
    fn with_options(&self, options: &CallOptions) -> Self {
        Self {
            api: self.api.with_options(options),
            id: self.id.clone(),
        }
    }

    pub(super) fn new(api: &AuthApi, id: &str) -> Self {
        Self {
            api: api.clone(),
            id: id.to_owned(),
        }
    }

    /// The user's second factors.
    pub fn factors(self) -> AdminFactors {
        AdminFactors(self)
    }

    /// The user's passkeys.
    pub fn passkeys(self) -> AdminPasskeys {
        AdminPasskeys(self)
    }
}

/// A user's second factors.
#[derive(Clone, Debug)]
pub struct AdminFactors(AdminUser);

impl AdminFactors {
    fn with_options(&self, options: &CallOptions) -> Self {
        Self(self.0.with_options(options))
    }

    /// All of them.
    pub async fn list(&self) -> Result<Vec<Factor>, AuthError> {
        let call = Call::get(user_path(&self.0.id, "/factors")?);
        self.0.api.json(call).await
    }

    /// Removes one, for a user who has lost it.
    pub async fn delete(&self, factor_id: &str) -> Result<(), AuthError> {
        let path = user_path(&self.0.id, &format!("/factors/{}", segment(factor_id)))?;
        self.0.api.done(Call::delete(path)).await
    }
}

/// A user's passkeys.
#[derive(Clone, Debug)]
pub struct AdminPasskeys(AdminUser);

impl AdminPasskeys {
    fn with_options(&self, options: &CallOptions) -> Self {
        Self(self.0.with_options(options))
    }

    /// All of them.
    pub async fn list(&self) -> Result<Vec<Passkey>, AuthError> {
        let call = Call::get(user_path(&self.0.id, "/passkeys")?);
        self.0.api.json(call).await
    }

    /// Removes one.
    pub async fn delete(&self, passkey_id: &str) -> Result<(), AuthError> {
        let path = user_path(&self.0.id, &format!("/passkeys/{}", segment(passkey_id)))?;
        self.0.api.done(Call::delete(path)).await
    }
}
