//! `POST /passkeys/authentication/…`: signs in with a passkey.

use axum::Json;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    VerifyParams, challenges, check_enabled, registration::write_audit, verification_error,
};
use crate::{
    AuthError,
    audit::Action,
    captcha,
    model::{User, passkeys, users, webauthn_challenges::Purpose},
    rate_limit::{self, Bucket},
    request::{Input, MetaSecurity, RequestContext},
    sessions::{SignIn, TokenBody, sign_in},
    webauthn::{self, AssertionResponse, RelyingParty, check_assertion, request_options},
};

#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct OptionsParams {
    gotrue_meta_security: MetaSecurity,
}

/// `POST /passkeys/authentication/options`
pub(crate) async fn authentication_options(
    context: RequestContext,
    Input(params): Input<OptionsParams>,
) -> Result<Json<Value>, AuthError> {
    check_enabled(&context)?;
    rate_limit::check(&context, Bucket::Passkey)?;
    captcha::check(&context, &params.gotrue_meta_security).await?;
    let challenge = webauthn::new_challenge();
    let lifetime = context.config.webauthn.challenge_lifetime;
    let options = request_options(
        &RelyingParty::from_context(&context),
        &challenge,
        &[],
        lifetime,
    );
    let mut db = context.db().await?;
    let (id, ends) =
        challenges::insert(&context, &mut db, Purpose::Authentication, None, &challenge).await?;
    Ok(Json(json!({
        "challenge_id": id, "options": options, "expires_at": ends.unix_timestamp(),
    })))
}

/// `POST /passkeys/authentication/verify`
pub(crate) async fn authentication_verify(
    context: RequestContext,
    Input(params): Input<VerifyParams>,
) -> Result<TokenBody, AuthError> {
    check_enabled(&context)?;
    let id = params.challenge_id()?;
    let challenge = challenges::take_challenge(&context, Purpose::Authentication, None, id).await?;
    let response: AssertionResponse = params.credential()?;
    let party = RelyingParty::from_context(&context);

    let mut tx = context.begin().await?;
    let passkey = passkeys::lock_by_credential(&mut tx, response.credential_id()).await?;
    let passkey = passkey.ok_or_else(AuthError::passkey_not_verified)?;
    let handle = passkey.user_id.to_string();
    if response.user_handle() != Some(handle.as_bytes()) {
        return Err(AuthError::passkey_not_verified());
    }
    let used = check_assertion(&party, &challenge, &passkey.credential, &response);
    let used = used.map_err(verification_error)?;
    let user = users::load(&mut tx, passkey.user_id).await?;
    check_user(&context, &user)?;
    passkeys::update_used(&mut tx, passkey.id, &used, context.now).await?;
    write_audit(&context, &mut tx, &user, Action::Login, passkey.id).await?;
    let tokens = sign_in(&context, &mut tx, user, SignIn::by("passkey")).await?;
    tx.commit().await?;
    Ok(tokens)
}

fn check_user(context: &RequestContext, user: &User) -> Result<(), AuthError> {
    if !user.email.is_empty() && user.email_confirmed_at.is_none() {
        return Err(AuthError::email_not_confirmed_for_passkey());
    }
    if !user.phone.is_empty() && user.phone_confirmed_at.is_none() {
        return Err(AuthError::phone_not_confirmed_for_passkey());
    }
    if user.is_banned(context.now) {
        Err(AuthError::user_banned())
    } else {
        Ok(())
    }
}
