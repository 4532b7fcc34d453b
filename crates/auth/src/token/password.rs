//! Sign-in with a password.

use serde::Deserialize;
use serde_json::json;

use crate::{
    AuthError,
    audit::{self, Action},
    captcha,
    error::Code,
    hooks::{self, Decision},
    model::{User, sessions, users},
    password::{self, Verdict},
    request::{
        Context, MetaSecurity,
        contact::{self, Contact},
    },
    sessions::{SignIn, TokenBody, sign_in},
};

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct PasswordParams {
    email: String,
    phone: String,
    password: String,
    gotrue_meta_security: MetaSecurity,
}

/// `grant_type=password`
pub(super) async fn grant(
    context: &Context,
    params: PasswordParams,
) -> Result<TokenBody, AuthError> {
    captcha::check(context, &params.gotrue_meta_security).await?;
    let contact = read_contact(context, &params)?;
    let found = find(context, &contact).await?;
    let (user, verdict) = check_password(context, found, &params.password).await?;
    check_confirmed(&user, &contact)?;
    let rehashed = match verdict.needs_rehash {
        true => {
            let cost = context.config.password.cost;
            Some(
                context
                    .service
                    .hasher()
                    .hash(&params.password, cost)
                    .await?,
            )
        }
        false => None,
    };
    let mut tx = context.begin().await?;
    if let Some(hash) = rehashed {
        // Unless the password was changed meanwhile.
        let sql = "update auth.users set encrypted_password = $2
                   where id = $1 and encrypted_password = $3";
        let params: plinth_db::Params<'_> = &[&user.id, &hash, &user.encrypted_password];
        plinth_db::Queries::execute(&mut tx, sql, params).await?;
    }
    let traits = json!({ "provider": contact.provider() });
    audit::write(context, &mut tx, &user, Action::Login, traits).await?;
    let mut body = sign_in(context, &mut tx, user, SignIn::by("password")).await?;
    tx.commit().await?;
    // Only told: who cannot be asked about the password keeps nobody out.
    let weakness = password::weakness(context, &params.password).await;
    if let Some(weakness) = weakness.inspect_err(AuthError::log).ok().flatten() {
        body.weak_password = Some(json!({
            "message": weakness.message, "reasons": weakness.reasons,
        }));
    }
    Ok(body)
}

/// The number is taken as it comes: it only has to be somebody's.
fn read_contact(context: &Context, params: &PasswordParams) -> Result<Contact, AuthError> {
    let external = &context.config.external;
    match (params.email.as_str(), params.phone.as_str()) {
        ("", "") => Err(AuthError::invalid("missing email or phone")),
        (email, "") if external.is_email_enabled => Ok(Contact::Email(email.to_lowercase())),
        (_, "") => Err(AuthError::new(
            422,
            Code::EmailProviderDisabled,
            "Email logins are disabled",
        )),
        ("", phone) if external.is_phone_enabled => Ok(Contact::Phone(contact::bare_phone(phone))),
        ("", _) => Err(AuthError::new(
            422,
            Code::PhoneProviderDisabled,
            "Phone logins are disabled",
        )),
        _ => Err(AuthError::invalid(
            "Only an email address or phone number should be provided on login.",
        )),
    }
}

async fn find(context: &Context, contact: &Contact) -> Result<Option<User>, AuthError> {
    let mut db = context.db().await?;
    let audience = context.audience();
    Ok(match contact {
        Contact::Email(email) => users::find_by_email(&mut db, email, audience).await?,
        Contact::Phone(phone) => users::find_by_phone(&mut db, phone, audience).await?,
    })
}

/// The user, if the password is theirs. Nobody to compare with takes just as long.
async fn check_password(
    context: &Context,
    found: Option<User>,
    typed: &str,
) -> Result<(User, Verdict), AuthError> {
    let hasher = context.service.hasher();
    let cost = context.config.password.cost;
    let Some(user) = found.filter(User::has_password) else {
        hasher.pretend(typed, cost).await?;
        return Err(wrong());
    };
    if user.is_banned(context.now) {
        return Err(AuthError::new(400, Code::UserBanned, "User is banned"));
    }
    let verdict = hasher.verify(&user.encrypted_password, typed, cost).await?;
    let decision = hooks::password_verification_attempt(context, user.id, verdict.is_match).await?;
    if let Decision::Reject { message, signs_out } = decision {
        if signs_out {
            sessions::delete_all_but(&mut context.db().await?, user.id, None).await?;
        }
        return Err(AuthError::new(400, Code::InvalidCredentials, message));
    }
    match verdict.is_match {
        true => Ok((user, verdict)),
        false => Err(wrong()),
    }
}

fn check_confirmed(user: &User, contact: &Contact) -> Result<(), AuthError> {
    match contact {
        Contact::Email(_) if !user.is_email_confirmed() => Err(AuthError::new(
            400,
            Code::EmailNotConfirmed,
            "Email not confirmed",
        )),
        Contact::Phone(_) if !user.is_phone_confirmed() => Err(AuthError::new(
            400,
            Code::PhoneNotConfirmed,
            "Phone not confirmed",
        )),
        _ => Ok(()),
    }
}

fn wrong() -> AuthError {
    AuthError::new(400, Code::InvalidCredentials, "Invalid login credentials")
}
