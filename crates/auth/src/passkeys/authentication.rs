//! `POST /passkeys/authentication/…`: the device says who it is that signs in.

use axum::Json;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    VerifyParams, challenges, challenges::Purpose, check_enabled, failed, refused,
    registration::write_audit, store,
};
use crate::{
    AuthError,
    audit::Action,
    captcha,
    error::Code,
    model::{User, users},
    rate_limit::{self, Bucket},
    request::{Context, Input, MetaSecurity},
    sessions::{SignIn, TokenBody, sign_in},
    webauthn::{self, AssertionResponse, RelyingParty, check_assertion, request_options},
};

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct OptionsParams {
    gotrue_meta_security: MetaSecurity,
}

/// `POST /passkeys/authentication/options`
pub(crate) async fn authentication_options(
    context: Context,
    Input(params): Input<OptionsParams>,
) -> Result<Json<Value>, AuthError> {
    check_enabled(&context)?;
    rate_limit::check(&context, Bucket::Passkey)?;
    captcha::check(&context, &params.gotrue_meta_security).await?;
    let challenge = webauthn::new_challenge();
    let lifetime = context.config.webauthn.challenge_lifetime;
    let options = request_options(&RelyingParty::of(&context), &challenge, &[], lifetime);
    let mut db = context.db().await?;
    let (id, ends) =
        challenges::insert(&context, &mut db, Purpose::Authentication, None, &challenge).await?;
    Ok(Json(json!({
        "challenge_id": id, "options": options, "expires_at": ends.unix_timestamp(),
    })))
}

/// `POST /passkeys/authentication/verify`
pub(crate) async fn authentication_verify(
    context: Context,
    Input(params): Input<VerifyParams>,
) -> Result<TokenBody, AuthError> {
    check_enabled(&context)?;
    let id = params.challenge_id()?;
    let challenge = challenges::take(&context, Purpose::Authentication, None, id).await?;
    let answer: AssertionResponse = params.credential()?;
    let party = RelyingParty::of(&context);

    let mut tx = context.begin().await?;
    let passkey = store::lock_by_credential(&mut tx, answer.credential_id()).await?;
    let passkey = passkey.ok_or_else(|| failed("Credential verification failed"))?;
    let handle = passkey.user_id.to_string();
    if answer.user_handle() != Some(handle.as_bytes()) {
        return Err(failed("Credential verification failed"));
    }
    let used = check_assertion(&party, &challenge, &passkey.credential, &answer);
    let used = used.map_err(refused)?;
    let user = users::load(&mut tx, passkey.user_id).await?;
    check_user(&context, &user)?;
    store::update_used(&mut tx, passkey.id, &used, context.now).await?;
    write_audit(&context, &mut tx, &user, Action::Login, passkey.id).await?;
    let tokens = sign_in(&context, &mut tx, user, SignIn::by("passkey")).await?;
    tx.commit().await?;
    Ok(tokens)
}

fn check_user(context: &Context, user: &User) -> Result<(), AuthError> {
    if !user.email.is_empty() && user.email_confirmed_at.is_none() {
        return Err(AuthError::new(
            403,
            Code::EmailNotConfirmed,
            "Email not confirmed",
        ));
    }
    if !user.phone.is_empty() && user.phone_confirmed_at.is_none() {
        return Err(AuthError::new(
            403,
            Code::PhoneNotConfirmed,
            "Phone not confirmed",
        ));
    }
    match user.is_banned(context.now) {
        true => Err(AuthError::new(403, Code::UserBanned, "User is banned")),
        false => Ok(()),
    }
}
