//! `POST /passkeys/registration/…`: registers a passkey for a signed-in user.

use axum::Json;
use plinth_db::Queries;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    VerifyParams, authenticator_names, challenges, check_assurance, check_enabled,
    verification_error,
};
use crate::{
    AuthError,
    audit::{self, Action},
    caller::SignedIn,
    mfa,
    model::{
        User,
        passkeys::{self, Passkey, PasskeyBody},
        users,
        webauthn_challenges::Purpose,
    },
    request::{Input, RequestContext},
    webauthn::{
        self, CreationOptions, RelyingParty, ResidentKey, WebAuthnUser, check_registration,
    },
};

/// `POST /passkeys/registration/options`
pub(crate) async fn registration_options(
    context: RequestContext,
    caller: SignedIn,
) -> Result<Json<Value>, AuthError> {
    check_may_register(&context, &caller).await?;
    let mut db = context.db().await?;
    let existing = passkeys::list(&mut db, caller.user.id).await?;
    check_limit(&context, &existing)?;
    let exclude: Vec<_> = existing
        .into_iter()
        .map(|passkey| (passkey.credential.id, passkey.credential.transports))
        .collect();
    let challenge = webauthn::new_challenge();
    let user = &caller.user;
    let id = user.id.to_string();
    let options = CreationOptions {
        party: &RelyingParty::from_context(&context),
        user: webauthn_user(user, &id),
        challenge: &challenge,
        resident_key: ResidentKey::Required,
        exclude: &exclude,
        lifetime: context.config.webauthn.challenge_lifetime,
    }
    .to_json();
    let purpose = Purpose::Registration;
    let (id, ends) =
        challenges::insert(&context, &mut db, purpose, Some(user.id), &challenge).await?;
    Ok(Json(json!({
        "challenge_id": id, "options": options, "expires_at": ends.unix_timestamp(),
    })))
}

/// `POST /passkeys/registration/verify`
pub(crate) async fn registration_verify(
    context: RequestContext,
    caller: SignedIn,
    Input(params): Input<VerifyParams>,
) -> Result<Json<PasskeyBody>, AuthError> {
    check_may_register(&context, &caller).await?;
    let user = &caller.user;
    let id = params.challenge_id()?;
    let challenge =
        challenges::take_challenge(&context, Purpose::Registration, Some(user.id), id).await?;
    let party = RelyingParty::from_context(&context);
    let credential = check_registration(&party, &challenge, &params.credential()?)
        .map_err(verification_error)?;

    let mut tx = context.begin().await?;
    // Concurrent registrations could exceed the limit.
    users::lock(&mut tx, user.id).await?;
    check_limit(&context, &passkeys::list(&mut tx, user.id).await?)?;
    let name = authenticator_names::name(credential.aaguid);
    let passkey = passkeys::insert(&mut tx, user.id, &credential, name, context.now).await?;
    let passkey = passkey.ok_or_else(AuthError::passkey_exists)?;
    write_audit(&context, &mut tx, user, Action::PasskeyCreated, passkey.id).await?;
    tx.commit().await?;
    Ok(Json(passkey.into()))
}

async fn check_may_register(context: &RequestContext, caller: &SignedIn) -> Result<(), AuthError> {
    check_enabled(context)?;
    mfa::check_not_anonymous(caller)?;
    if caller.user.is_sso_user {
        return Err(AuthError::sso_user_passkey());
    }
    check_assurance(context, caller).await
}

fn check_limit(context: &RequestContext, existing: &[Passkey]) -> Result<(), AuthError> {
    if existing.len() < context.config.webauthn.max_passkeys_per_user {
        Ok(())
    } else {
        Err(AuthError::too_many_passkeys())
    }
}

/// The handle is the user's id; authenticators display the names.
fn webauthn_user<'a>(user: &'a User, id: &'a str) -> WebAuthnUser<'a> {
    let names = [user.email.as_str(), &user.phone, id];
    let name = names.into_iter().find(|text| !text.is_empty());
    let name = name.unwrap_or(id);
    let given = user.user_metadata.get("name").and_then(Value::as_str);
    WebAuthnUser {
        handle: id,
        name,
        display_name: given.filter(|given| !given.is_empty()).unwrap_or(name),
    }
}

pub(super) async fn write_audit(
    context: &RequestContext,
    db: &mut impl Queries,
    user: &User,
    action: Action,
    passkey: Uuid,
) -> Result<(), AuthError> {
    let traits = json!({ "passkey_id": passkey });
    audit::write(context, db, user, action, traits).await
}
