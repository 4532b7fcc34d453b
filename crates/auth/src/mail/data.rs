//! The data of templates (auth contract §7.2).

use serde_json::{Value, json};

use super::{EmailChange, Notification, Token, TokenMail, TokenMailKind, link};
use crate::{model::User, request::RequestContext};

/// For a mail with a token.
pub(super) fn of_token_mail(context: &RequestContext, mail: &TokenMail<'_>) -> Value {
    let mut data = of_user(context, mail.user, &mail.user.email);
    data["Token"] = mail.otp.into();
    let (path_of, verification_type) = match mail.kind {
        TokenMailKind::Confirmation => ("confirmation", "signup"),
        TokenMailKind::Recovery => ("recovery", "recovery"),
        TokenMailKind::MagicLink => ("recovery", "magiclink"),
        TokenMailKind::Invite => ("invite", "invite"),
        TokenMailKind::Reauthentication => return data,
    };
    let parts = link::Parts {
        path_of,
        verification_type,
        token_hash: mail.token_hash,
        redirect_to: mail.redirect_to,
    };
    add_link(&mut data, context, &parts);
    data
}

/// For one of the mails of a change of address.
pub(super) fn of_change(
    context: &RequestContext,
    change: &EmailChange<'_>,
    to: &str,
    token: &Token<'_>,
) -> Value {
    let mut data = of_user(context, change.user, &change.user.email);
    data["Token"] = token.otp.into();
    data["NewEmail"] = change.new_email.into();
    data["SendingTo"] = to.into();
    let parts = link::Parts {
        path_of: "email_change",
        verification_type: "email_change",
        token_hash: token.hash,
        redirect_to: change.redirect_to,
    };
    add_link(&mut data, context, &parts);
    data
}

/// For a notification.
pub(super) fn of_notification(
    context: &RequestContext,
    user: &User,
    to: &str,
    notification: &Notification<'_>,
) -> Value {
    // The address may have been removed together with the identity.
    let email = match notification {
        Notification::IdentityUnlinked { .. } => to,
        _ => &user.email,
    };
    let mut data = of_user(context, user, email);
    match notification {
        Notification::PasswordChanged => {}
        Notification::EmailChanged { old_email } => data["OldEmail"] = (*old_email).into(),
        Notification::PhoneChanged { old_phone } => {
            data["Phone"] = user.phone.as_str().into();
            data["OldPhone"] = (*old_phone).into();
        }
        Notification::IdentityLinked { provider } | Notification::IdentityUnlinked { provider } => {
            data["Provider"] = (*provider).into();
        }
        Notification::FactorEnrolled { factor_type }
        | Notification::FactorUnenrolled { factor_type } => {
            data["FactorType"] = (*factor_type).into();
        }
    }
    data
}

fn of_user(context: &RequestContext, user: &User, email: &str) -> Value {
    let brand = &context.config.mail.brand;
    json!({
        "SiteURL": context.config.site(),
        "SiteName": brand.name,
        "Accent": brand.accent,
        "Email": email,
        "Data": user.user_metadata,
    })
}

fn add_link(data: &mut Value, context: &RequestContext, parts: &link::Parts<'_>) {
    data["ConfirmationURL"] = link::build(context, parts).into();
    data["TokenHash"] = parts.token_hash.into();
    data["RedirectTo"] = parts.redirect_to.into();
}
