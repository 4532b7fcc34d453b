//! Sign-in with a password.

use serde::Deserialize;
use serde_json::json;

use crate::{
    AuthError,
    audit::{self, Action},
    captcha,
    contact::{self, Contact},
    hooks::{self, Decision},
    model::{User, sessions, users},
    password::{self, Verdict},
    request::{MetaSecurity, RequestContext},
    sessions::{SignIn, TokenBody, sign_in},
};

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct PasswordParams {
    email: String,
    phone: String,
    password: String,
    gotrue_meta_security: MetaSecurity,
}

/// `grant_type=password`
pub(super) async fn grant(
    context: &RequestContext,
    params: PasswordParams,
) -> Result<TokenBody, AuthError> {
    captcha::check(context, &params.gotrue_meta_security).await?;
    let contact = read_contact(context, &params)?;
    let found = find(context, &contact).await?;
    let (user, verdict) = check_password(context, found, &params.password).await?;
    check_confirmed(&user, &contact)?;
    let rehashed = if verdict.needs_rehash {
        let cost = context.config.password.cost;
        Some(
            context
                .service
                .hasher()
                .hash(&params.password, cost)
                .await?,
        )
    } else {
        None
    };
    let mut tx = context.begin().await?;
    if let Some(hash) = rehashed {
        users::rehash_password(&mut tx, &user, &hash).await?;
    }
    let traits = json!({ "provider": contact.provider() });
    audit::write(context, &mut tx, &user, Action::Login, traits).await?;
    let mut body = sign_in(context, &mut tx, user, SignIn::by("password")).await?;
    tx.commit().await?;
    // For the response only: an unreachable password check must not prevent the sign-in.
    let weakness = password::find_weakness(context, &params.password).await;
    if let Some(weakness) = weakness.inspect_err(AuthError::log).ok().flatten() {
        body.weak_password = Some(json!({
            "message": weakness.message, "reasons": weakness.reasons,
        }));
    }
    Ok(body)
}

/// Unvalidated: it only has to match a user.
fn read_contact(context: &RequestContext, params: &PasswordParams) -> Result<Contact, AuthError> {
    let external = &context.config.external;
    match (params.email.as_str(), params.phone.as_str()) {
        ("", "") => Err(AuthError::validation_failed("missing email or phone")),
        (email, "") if external.is_email_enabled => Ok(Contact::Email(email.to_lowercase())),
        (_, "") => Err(AuthError::email_logins_disabled()),
        ("", phone) if external.is_phone_enabled => Ok(Contact::Phone(contact::bare_phone(phone))),
        ("", _) => Err(AuthError::phone_logins_disabled()),
        _ => Err(AuthError::validation_failed(
            "Only an email address or phone number should be provided on login.",
        )),
    }
}

async fn find(context: &RequestContext, contact: &Contact) -> Result<Option<User>, AuthError> {
    let mut db = context.db().await?;
    let audience = context.audience();
    Ok(match contact {
        Contact::Email(email) => users::find_by_email(&mut db, email, audience).await?,
        Contact::Phone(phone) => users::find_by_phone(&mut db, phone, audience).await?,
    })
}

/// The user, if the password matches. Takes as long if there is no user.
async fn check_password(
    context: &RequestContext,
    found: Option<User>,
    typed: &str,
) -> Result<(User, Verdict), AuthError> {
    let hasher = context.service.hasher();
    let cost = context.config.password.cost;
    let Some(user) = found.filter(User::has_password) else {
        hasher.hash_dummy(typed, cost).await?;
        return Err(AuthError::invalid_credentials());
    };
    if user.is_banned(context.now) {
        return Err(AuthError::user_banned_on_grant());
    }
    let verdict = hasher.verify(&user.encrypted_password, typed, cost).await?;
    let decision = hooks::password_verification_attempt(context, user.id, verdict.is_match).await?;
    if let Decision::Reject { message, signs_out } = decision {
        if signs_out {
            sessions::delete_all_but(&mut context.db().await?, user.id, None).await?;
        }
        return Err(AuthError::password_attempt_rejected(message));
    }
    if verdict.is_match {
        Ok((user, verdict))
    } else {
        Err(AuthError::invalid_credentials())
    }
}

fn check_confirmed(user: &User, contact: &Contact) -> Result<(), AuthError> {
    match contact {
        Contact::Email(_) if !user.is_email_confirmed() => Err(AuthError::email_not_confirmed()),
        Contact::Phone(_) if !user.is_phone_confirmed() => Err(AuthError::phone_not_confirmed()),
        _ => Ok(()),
    }
}
