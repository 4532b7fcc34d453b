//! The body of `POST /admin/users` and `PUT /admin/users/{id}`, and the changes that it asks for.

use serde::Deserialize;
use time::OffsetDateTime;

use super::ban::Ban;
use crate::{
    AuthError,
    contact::{self, Contact},
    model::{Object, User, users},
};

/// The body as it is sent.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct UserParams {
    pub(super) id: String,
    pub(super) aud: String,
    role: String,
    email: String,
    phone: String,
    pub(super) password: Option<String>,
    pub(super) password_hash: String,
    email_confirm: bool,
    phone_confirm: bool,
    pub(super) user_metadata: Option<Object>,
    app_metadata: Option<Object>,
    ban_duration: String,
}

/// The validated changes.
#[derive(Debug, Clone, Default)]
pub(super) struct Changes {
    pub(super) role: Option<String>,
    pub(super) email: Option<String>,
    pub(super) phone: Option<String>,
    pub(super) confirms_email: bool,
    pub(super) confirms_phone: bool,
    pub(super) user_metadata: Option<Object>,
    pub(super) app_metadata: Option<Object>,
    pub(super) ban: Option<Ban>,
}

impl Changes {
    pub(super) fn parse(params: &UserParams) -> Result<Self, AuthError> {
        let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let email = given(&params.email).map(|it| contact::email(&it));
        let phone = given(&params.phone).map(|it| contact::phone(&it));
        Ok(Self {
            role: given(params.role.trim()),
            email: email.transpose()?,
            phone: phone.transpose()?,
            confirms_email: params.email_confirm,
            confirms_phone: params.phone_confirm,
            user_metadata: params.user_metadata.clone(),
            app_metadata: params.app_metadata.clone(),
            ban: Ban::parse(&params.ban_duration)?,
        })
    }

    /// Applies the changes to the user.
    pub(super) fn apply(&self, user: &mut User, now: OffsetDateTime) {
        if let Some(role) = &self.role {
            user.role.clone_from(role);
        }
        if self.confirms_email {
            user.email_confirmed_at = Some(now);
            let key = "email_verified".to_owned();
            user.user_metadata.insert(key, true.into());
        }
        if self.confirms_phone {
            user.phone_confirmed_at = Some(now);
        }
        if let Some(email) = &self.email {
            user.email.clone_from(email);
            user.is_anonymous &= !self.confirms_email;
        }
        if let Some(phone) = &self.phone {
            user.phone.clone_from(phone);
            user.is_anonymous &= !self.confirms_phone;
        }
        if let Some(changes) = &self.app_metadata {
            users::merge(&mut user.app_metadata, changes);
        }
        if let Some(changes) = &self.user_metadata {
            users::merge(&mut user.user_metadata, changes);
        }
        match self.ban {
            None => {}
            Some(Ban::Lift) => user.banned_until = None,
            Some(Ban::For(duration)) => user.banned_until = now.checked_add(duration),
        }
    }

    /// The contacts that were given.
    pub(super) fn contacts(&self) -> Vec<Contact> {
        let email = self.email.clone().map(Contact::Email);
        let phone = self.phone.clone().map(Contact::Phone);
        email.into_iter().chain(phone).collect()
    }

    /// Whether this contact is confirmed by the request.
    pub(super) fn confirms_contact(&self, contact: &Contact) -> bool {
        match contact {
            Contact::Email(_) => self.confirms_email,
            Contact::Phone(_) => self.confirms_phone,
        }
    }

    /// Whether pending tokens have to be revoked: because of a confirmation, or because they were
    /// sent to the old address or number.
    pub(super) fn ends_pending(&self, user: &User) -> bool {
        let is_moved = |new: &Option<String>, old: &str| new.as_deref().is_some_and(|it| it != old);
        self.confirms_email
            || self.confirms_phone
            || is_moved(&self.email, &user.email)
            || is_moved(&self.phone, &user.phone)
    }
}
