//! The payload of the send-email hook (auth contract §9).

use plinth_db::Queries;
use serde::Serialize;
use serde_json::json;

use super::{EmailChange, Notification, TokenMail, kind::Kind, link};
use crate::{
    AuthError,
    model::{Object, User, users},
    request::RequestContext,
};

/// `email_data`; fields that do not apply are empty.
#[derive(Default, Serialize)]
pub(super) struct EmailData<'a> {
    token: &'a str,
    token_hash: &'a str,
    redirect_to: String,
    email_action_type: &'static str,
    site_url: String,
    token_new: &'a str,
    token_hash_new: &'a str,
    old_email: &'a str,
    old_phone: &'a str,
    provider: &'a str,
    factor_type: &'a str,
}

impl<'a> EmailData<'a> {
    fn new(context: &RequestContext, kind: Kind, redirect_to: String) -> Self {
        Self {
            redirect_to,
            email_action_type: kind.action(),
            site_url: link::external_url(context),
            ..Self::default()
        }
    }

    pub(super) fn of_token_mail(context: &RequestContext, mail: &TokenMail<'a>) -> Self {
        Self {
            token: mail.otp,
            token_hash: mail.token_hash,
            ..Self::new(context, mail.kind.into(), mail.redirect_to.to_owned())
        }
    }

    /// The names are swapped, and existing hooks rely on it: where both addresses must confirm,
    /// `token` and `token_hash_new` belong to the current one.
    pub(super) fn of_change(context: &RequestContext, change: &EmailChange<'a>) -> Self {
        let redirect_to = change.redirect_to.to_owned();
        let data = Self {
            token_hash: change.new.hash,
            ..Self::new(context, Kind::EmailChange, redirect_to)
        };
        match &change.current {
            Some(current) => Self {
                token: current.otp,
                token_new: change.new.otp,
                token_hash_new: current.hash,
                ..data
            },
            None => Self {
                token: change.new.otp,
                ..data
            },
        }
    }

    pub(super) fn of_notification(
        context: &RequestContext,
        notification: &Notification<'a>,
    ) -> Self {
        let mut data = Self::new(context, notification.into(), context.redirect_to());
        match notification {
            Notification::PasswordChanged => {}
            Notification::EmailChanged { old_email } => data.old_email = old_email,
            Notification::PhoneChanged { old_phone } => data.old_phone = old_phone,
            Notification::IdentityLinked { provider }
            | Notification::IdentityUnlinked { provider } => {
                data.provider = provider;
            }
            Notification::FactorEnrolled { factor_type }
            | Notification::FactorUnenrolled { factor_type } => {
                data.factor_type = factor_type;
            }
        }
        data
    }
}

/// The payload, without the metadata that every hook gets.
pub(super) async fn payload(
    db: &mut impl Queries,
    user: &User,
    new_email: Option<&str>,
    data: &EmailData<'_>,
) -> Result<Object, AuthError> {
    let mut body = users::load_body(db, user.clone()).await?;
    // The row is updated only after the mails are sent.
    if let Some(new_email) = new_email {
        new_email.clone_into(&mut body.new_email);
    }
    Ok(Object::from_iter([
        ("user".to_owned(), json!(body)),
        ("email_data".to_owned(), json!(data)),
    ]))
}
