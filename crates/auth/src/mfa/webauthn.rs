//! Security keys as second factors.

use plinth_db::Queries;
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::{
    AuthError,
    model::{Factor, FactorKind, User, factors, mfa_challenges::MfaChallenge},
    request::RequestContext,
    webauthn::{
        self, CreationOptions, Credential, RelyingParty, ResidentKey, WebAuthnUser,
        check_assertion, check_registration, request_options,
    },
    wire_time,
};

/// Far above the size of any response.
const MAX_RESPONSE_BYTES: usize = 64 * 1024;

/// `webauthn` of a request. `rpId` and `rpOrigins` are ignored: those of the settings count.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct WebAuthnParams {
    #[serde(rename = "type")]
    kind: String,
    credential_response: Value,
}

/// The ceremony: `create` for an unverified factor, `request` for a verified one.
fn kind(factor: &Factor) -> &'static str {
    if factor.is_verified {
        "request"
    } else {
        "create"
    }
}

/// The options for the browser, and what is stored with the challenge.
pub(super) async fn build_challenge(
    context: &RequestContext,
    db: &mut impl Queries,
    user: &User,
    factor: &Factor,
) -> Result<(Value, Value), AuthError> {
    let party = RelyingParty::from_context(context);
    let challenge = webauthn::new_challenge();
    let lifetime = context.config.mfa.challenge_lifetime;
    let options = if factor.is_verified {
        let known = credential(factor)?;
        let allow = [(known.id, known.transports)];
        request_options(&party, &challenge, &allow, lifetime)
    } else {
        let id = user.id.to_string();
        let name = [&user.email, &user.phone, &id];
        let name = name.into_iter().find(|text| !text.is_empty());
        let name = name.unwrap_or(&id);
        CreationOptions {
            party: &party,
            user: WebAuthnUser {
                handle: &id,
                name,
                display_name: name,
            },
            challenge: &challenge,
            resident_key: ResidentKey::Discouraged,
            exclude: &known_credentials(db, user.id).await?,
            lifetime,
        }
        .to_json()
    };
    let options = json!({
        "type": kind(factor), "credential_options": { "publicKey": options },
    });
    let stored = json!({ "challenge": challenge, "rpId": party.id });
    Ok((options, stored))
}

async fn known_credentials(
    db: &mut impl Queries,
    user: Uuid,
) -> Result<Vec<(Vec<u8>, Vec<String>)>, AuthError> {
    let factors = factors::list(db, user).await?;
    let known = factors
        .iter()
        .filter(|factor| factor.is_verified && factor.kind == FactorKind::WebAuthn)
        .filter_map(|factor| Credential::from_json(factor.web_authn_credential.as_ref()?));
    Ok(known.map(|known| (known.id, known.transports)).collect())
}

/// Rejects malformed parameters before anything is looked up.
pub(super) fn check_params(
    params: Option<WebAuthnParams>,
    factor: &Factor,
) -> Result<WebAuthnParams, AuthError> {
    let Some(params) = params else {
        return Err(AuthError::validation_failed("WebAuthn config required"));
    };
    if !["create", "request"].contains(&params.kind.as_str()) {
        return Err(AuthError::validation_failed(
            "WebAuthn type must be create or request",
        ));
    }
    if params.credential_response.is_null() {
        return Err(AuthError::validation_failed("credential_response required"));
    }
    if params.kind != kind(factor) {
        return Err(AuthError::validation_failed(format!(
            "WebAuthn type must be {} for this factor",
            kind(factor)
        )));
    }
    if params.credential_response.to_string().len() > MAX_RESPONSE_BYTES {
        return Err(AuthError::validation_failed(
            "credential_response is too large",
        ));
    }
    Ok(params)
}

/// Verifies the response and stores the credential.
pub(super) async fn verify_response(
    context: &RequestContext,
    db: &mut impl Queries,
    factor: &Factor,
    challenge: &MfaChallenge,
    params: &WebAuthnParams,
) -> Result<(), AuthError> {
    let party = RelyingParty::from_context(context);
    let stored = challenge.web_authn.as_ref();
    let text = stored.and_then(|stored| stored["challenge"].as_str());
    let text = text.unwrap_or_default();
    let checked = if factor.is_verified {
        check_assertion(&party, text, &credential(factor)?, &parse(params)?)
    } else {
        check_registration(&party, text, &parse(params)?)
    };
    let credential = checked.map_err(|error| {
        tracing::info!("security key rejected: {error}");
        AuthError::security_key_not_verified()
    })?;
    let response = json!({
        "challenge": {
            "challenge_id": challenge.id,
            "factor_id": challenge.factor_id,
            "created_at": wire_time::render(challenge.created_at),
            "ip_address": challenge.ip,
            "web_authn_session_data": challenge.web_authn,
        },
        "type": params.kind,
        "credential_response": params.credential_response,
    });
    let json = credential.to_json();
    factors::update_credential(
        db,
        factor.id,
        &json,
        credential.aaguid,
        &response,
        context.now,
    )
    .await?;
    Ok(())
}

fn parse<T: for<'de> Deserialize<'de>>(params: &WebAuthnParams) -> Result<T, AuthError> {
    T::deserialize(&params.credential_response)
        .map_err(|_| AuthError::validation_failed("Invalid credential_response"))
}

fn credential(factor: &Factor) -> Result<Credential, AuthError> {
    let stored = factor.web_authn_credential.as_ref();
    stored
        .and_then(Credential::from_json)
        .ok_or_else(|| AuthError::unexpected("a factor has no credential"))
}
