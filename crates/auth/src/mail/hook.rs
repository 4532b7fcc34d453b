//! What the send-email hook is told (auth contract §9).

use plinth_db::Queries;
use serde::Serialize;
use serde_json::json;

use super::{EmailChange, Letter, Notice, kind::Kind, link};
use crate::{
    AuthError,
    model::{Object, User, users},
    request::Context,
};

/// `email_data`; what does not apply is empty.
#[derive(Debug, Default, Serialize)]
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
    fn new(context: &Context, kind: Kind, redirect_to: String) -> Self {
        Self {
            redirect_to,
            email_action_type: kind.action(),
            site_url: link::external_url(context),
            ..Self::default()
        }
    }

    pub(super) fn of_letter(context: &Context, letter: &Letter<'a>) -> Self {
        Self {
            token: letter.otp,
            token_hash: letter.token_hash,
            ..Self::new(context, letter.kind.into(), letter.redirect_to.to_owned())
        }
    }

    /// The names are crossed, and people's hooks rely on it: where both addresses must agree,
    /// `token` and `token_hash_new` belong to the present one.
    pub(super) fn of_change(context: &Context, change: &EmailChange<'a>) -> Self {
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

    pub(super) fn of_notice(context: &Context, notice: &Notice<'a>) -> Self {
        let mut data = Self::new(context, notice.into(), context.redirect_to());
        match notice {
            Notice::PasswordChanged => {}
            Notice::EmailChanged { old_email } => data.old_email = old_email,
            Notice::PhoneChanged { old_phone } => data.old_phone = old_phone,
            Notice::IdentityLinked { provider } | Notice::IdentityUnlinked { provider } => {
                data.provider = provider;
            }
            Notice::FactorEnrolled { factor_type } | Notice::FactorUnenrolled { factor_type } => {
                data.factor_type = factor_type;
            }
        }
        data
    }
}

/// The whole call, except what every hook is told.
pub(super) async fn payload(
    db: &mut impl Queries,
    user: &User,
    new_email: Option<&str>,
    data: &EmailData<'_>,
) -> Result<Object, AuthError> {
    let mut body = users::load_body(db, user.clone()).await?;
    // The row gets it only after the mails went out.
    if let Some(new_email) = new_email {
        new_email.clone_into(&mut body.new_email);
    }
    Ok(Object::from_iter([
        ("user".to_owned(), json!(body)),
        ("email_data".to_owned(), json!(data)),
    ]))
}
