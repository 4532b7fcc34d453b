//! `POST /passkeys/registration/…`: a new way in for somebody who is signed in.

use axum::Json;
use plinth_db::Queries;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    VerifyParams, challenges,
    challenges::Purpose,
    check_assurance, check_enabled, makers, refused,
    store::{self, Passkey, PasskeyBody},
};
use crate::{
    AuthError,
    audit::{self, Action},
    error::Code,
    mfa,
    model::{User, users},
    request::{Context, Input, SignedIn},
    webauthn::{self, CreationOptions, Person, RelyingParty, ResidentKey, check_registration},
};

/// `POST /passkeys/registration/options`
pub(crate) async fn registration_options(
    context: Context,
    caller: SignedIn,
) -> Result<Json<Value>, AuthError> {
    check_may_register(&context, &caller).await?;
    let mut db = context.db().await?;
    let existing = store::list(&mut db, caller.user.id).await?;
    check_limit(&context, &existing)?;
    let exclude: Vec<_> = existing
        .into_iter()
        .map(|passkey| (passkey.credential.id, passkey.credential.transports))
        .collect();
    let challenge = webauthn::new_challenge();
    let user = &caller.user;
    let id = user.id.to_string();
    let options = CreationOptions {
        party: &RelyingParty::of(&context),
        person: person(user, &id),
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
    context: Context,
    caller: SignedIn,
    Input(params): Input<VerifyParams>,
) -> Result<Json<PasskeyBody>, AuthError> {
    check_may_register(&context, &caller).await?;
    let user = &caller.user;
    let id = params.challenge_id()?;
    let challenge = challenges::take(&context, Purpose::Registration, Some(user.id), id).await?;
    let party = RelyingParty::of(&context);
    let credential =
        check_registration(&party, &challenge, &params.credential()?).map_err(refused)?;

    let mut tx = context.begin().await?;
    // One registration at a time, or two could share the last place.
    users::lock(&mut tx, user.id).await?;
    check_limit(&context, &store::list(&mut tx, user.id).await?)?;
    let name = makers::name(credential.aaguid);
    let passkey = store::insert(&mut tx, user.id, &credential, name, context.now).await?;
    let passkey = passkey.ok_or_else(|| {
        AuthError::new(
            422,
            Code::WebauthnCredentialExists,
            "This credential is already registered",
        )
    })?;
    write_audit(&context, &mut tx, user, Action::PasskeyCreated, passkey.id).await?;
    tx.commit().await?;
    Ok(Json(passkey.into()))
}

async fn check_may_register(context: &Context, caller: &SignedIn) -> Result<(), AuthError> {
    check_enabled(context)?;
    mfa::check_not_anonymous(caller)?;
    if caller.user.is_sso_user {
        return Err(AuthError::new(
            422,
            Code::ValidationFailed,
            "SSO users cannot register passkeys",
        ));
    }
    check_assurance(context, caller).await
}

fn check_limit(context: &Context, existing: &[Passkey]) -> Result<(), AuthError> {
    match existing.len() < context.config.webauthn.max_passkeys_per_user {
        true => Ok(()),
        false => Err(AuthError::new(
            422,
            Code::TooManyPasskeys,
            "Maximum number of passkeys reached",
        )),
    }
}

/// The handle is the id; the names are what the device lists the passkey under.
fn person<'a>(user: &'a User, id: &'a str) -> Person<'a> {
    let names = [user.email.as_str(), &user.phone, id];
    let name = names.into_iter().find(|text| !text.is_empty());
    let name = name.unwrap_or(id);
    let given = user.user_metadata.get("name").and_then(Value::as_str);
    Person {
        handle: id,
        name,
        display_name: given.filter(|given| !given.is_empty()).unwrap_or(name),
    }
}

pub(super) async fn write_audit(
    context: &Context,
    db: &mut impl Queries,
    user: &User,
    action: Action,
    passkey: Uuid,
) -> Result<(), AuthError> {
    let traits = json!({ "passkey_id": passkey });
    audit::write(context, db, user, action, traits).await
}
