//! `POST /admin/users` and `PUT /admin/users/{id}`.

use http::Method;
use serde::Serialize;

use super::super::AuthError;
use super::super::api::{AuthApi, Call};
use super::super::body::{Body, to_value};
use super::user_path;
use crate::call_options::{CallOptions, with_call_options};
use crate::user::User;

/// Making an account; see [`Users::create`](super::Users::create).
#[must_use = "nothing is sent before `send`"]
pub struct CreateUserRequest {
    api: AuthApi,
    body: Result<Body, AuthError>,
    options: CallOptions,
}

/// Changing an account; see [`Users::update`](super::Users::update).
#[must_use = "nothing is sent before `send`"]
pub struct UpdateUserByIdRequest {
    api: AuthApi,
    id: String,
    body: Result<Body, AuthError>,
    options: CallOptions,
}

with_call_options!(CreateUserRequest, UpdateUserByIdRequest);

macro_rules! with_attributes {
    ($($builder:ty),*) => {$(
        impl $builder {
            /// The address.
            pub fn email(self, email: impl Into<String>) -> Self {
                self.with("email", email.into())
            }

            /// The phone number.
            pub fn phone(self, phone: impl Into<String>) -> Self {
                self.with("phone", phone.into())
            }

            /// The password.
            pub fn password(self, password: impl Into<String>) -> Self {
                self.with("password", password.into())
            }

            /// A password's hash from elsewhere.
            pub fn password_hash(self, hash: impl Into<String>) -> Self {
                self.with("password_hash", hash.into())
            }

            /// The address counts as confirmed.
            pub fn email_confirmed(self) -> Self {
                self.with("email_confirm", true)
            }

            /// The number counts as confirmed.
            pub fn phone_confirmed(self) -> Self {
                self.with("phone_confirm", true)
            }

            /// The Postgres role of the user's requests.
            pub fn role(self, role: impl Into<String>) -> Self {
                self.with("role", role.into())
            }

            /// Shuts the user out for a time such as `24h`; `none` lets them in again.
            pub fn ban_duration(self, duration: impl Into<String>) -> Self {
                self.with("ban_duration", duration.into())
            }

            /// What the user may change themselves, an object.
            pub fn user_metadata(self, data: &impl Serialize) -> Self {
                self.with_data("user_metadata", data)
            }

            /// What only the server may change, an object.
            pub fn app_metadata(self, data: &impl Serialize) -> Self {
                self.with_data("app_metadata", data)
            }

            fn with(mut self, name: &str, value: impl Into<serde_json::Value>) -> Self {
                self.body = self.body.map(|body| body.with(name, value));
                self
            }

            fn with_data(mut self, name: &str, data: &impl Serialize) -> Self {
                let data = to_value(data);
                self.body = self.body.and_then(|body| Ok(body.with(name, data?)));
                self
            }
        }
    )*};
}

with_attributes!(CreateUserRequest, UpdateUserByIdRequest);

impl CreateUserRequest {
    pub(super) fn new(api: &AuthApi) -> Self {
        Self {
            api: api.clone(),
            body: Ok(Body::default()),
            options: CallOptions::default(),
        }
    }

    /// With this id, a UUID.
    pub fn id(self, id: impl Into<String>) -> Self {
        self.with("id", id.into())
    }

    /// Makes the account.
    pub async fn send(self) -> Result<User, AuthError> {
        let api = self.api.for_call(&self.options)?;
        api.user_of(Call::post("/admin/users", self.body?.finish()))
            .await
    }
}

impl UpdateUserByIdRequest {
    pub(super) fn new(api: &AuthApi, id: &str) -> Self {
        Self {
            api: api.clone(),
            id: id.to_owned(),
            body: Ok(Body::default()),
            options: CallOptions::default(),
        }
    }

    /// Changes the account.
    pub async fn send(self) -> Result<User, AuthError> {
        let api = self.api.for_call(&self.options)?;
        let call = Call::new(Method::PUT, user_path(&self.id, "")?);
        api.user_of(call.body(self.body?.finish())).await
    }
}
