//! What templates can name (auth contract §7.2).

use serde_json::{Value, json};

use super::{EmailChange, Letter, LetterKind, Notice, Token, link};
use crate::{model::User, request::Context};

/// For a letter with a token.
pub(super) fn of_letter(context: &Context, letter: &Letter<'_>) -> Value {
    let mut data = of_user(context, letter.user, &letter.user.email);
    data["Token"] = letter.otp.into();
    let (path_of, verification_type) = match letter.kind {
        LetterKind::Confirmation => ("confirmation", "signup"),
        LetterKind::Recovery => ("recovery", "recovery"),
        LetterKind::MagicLink => ("recovery", "magiclink"),
        LetterKind::Invite => ("invite", "invite"),
        LetterKind::Reauthentication => return data,
    };
    let parts = link::Parts {
        path_of,
        verification_type,
        token_hash: letter.token_hash,
        redirect_to: letter.redirect_to,
    };
    add_link(&mut data, context, &parts);
    data
}

/// For one of the letters of a change of address.
pub(super) fn of_change(
    context: &Context,
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

/// For a notice.
pub(super) fn of_notice(context: &Context, user: &User, to: &str, notice: &Notice<'_>) -> Value {
    // An identity may have taken the address it brought along with it.
    let email = match notice {
        Notice::IdentityUnlinked { .. } => to,
        _ => &user.email,
    };
    let mut data = of_user(context, user, email);
    match notice {
        Notice::PasswordChanged => {}
        Notice::EmailChanged { old_email } => data["OldEmail"] = (*old_email).into(),
        Notice::PhoneChanged { old_phone } => {
            data["Phone"] = user.phone.as_str().into();
            data["OldPhone"] = (*old_phone).into();
        }
        Notice::IdentityLinked { provider } | Notice::IdentityUnlinked { provider } => {
            data["Provider"] = (*provider).into();
        }
        Notice::FactorEnrolled { factor_type } | Notice::FactorUnenrolled { factor_type } => {
            data["FactorType"] = (*factor_type).into();
        }
    }
    data
}

fn of_user(context: &Context, user: &User, email: &str) -> Value {
    json!({
        "SiteURL": context.config.site(),
        "Email": email,
        "Data": user.user_metadata,
    })
}

fn add_link(data: &mut Value, context: &Context, parts: &link::Parts<'_>) {
    data["ConfirmationURL"] = link::build(context, parts).into();
    data["TokenHash"] = parts.token_hash.into();
    data["RedirectTo"] = parts.redirect_to.into();
}
