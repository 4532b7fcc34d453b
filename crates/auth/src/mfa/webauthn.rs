//! Factors that are a security key.

use plinth_db::Queries;
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

use super::store::{self, Challenge};
use crate::{
    AuthError,
    error::Code,
    model::{Factor, FactorKind, User, factors},
    request::Context,
    webauthn::{
        self, CreationOptions, Credential, Person, RelyingParty, ResidentKey, check_assertion,
        check_registration, request_options,
    },
    wire_time,
};

/// More than any authenticator answers.
const MAX_ANSWER_BYTES: usize = 64 * 1024;

/// `webauthn` of a request. `rpId` and `rpOrigins` may stand there too; ours are what counts.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct WebAuthnParams {
    #[serde(rename = "type")]
    kind: String,
    credential_response: Value,
}

/// What is asked: `create` of a factor that is new, `request` of one that is known.
fn kind(factor: &Factor) -> &'static str {
    match factor.is_verified {
        false => "create",
        true => "request",
    }
}

/// What the browser is to be asked, and what the challenge remembers of it.
pub(super) async fn ask(
    context: &Context,
    db: &mut impl Queries,
    user: &User,
    factor: &Factor,
) -> Result<(Value, Value), AuthError> {
    let party = RelyingParty::of(context);
    let challenge = webauthn::new_challenge();
    let lifetime = context.config.mfa.challenge_lifetime;
    let options = match factor.is_verified {
        true => {
            let known = credential(factor)?;
            let allow = [(known.id, known.transports)];
            request_options(&party, &challenge, &allow, lifetime)
        }
        false => {
            let id = user.id.to_string();
            let name = [&user.email, &user.phone, &id];
            let name = name.into_iter().find(|text| !text.is_empty());
            let name = name.unwrap_or(&id);
            CreationOptions {
                party: &party,
                person: Person {
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
        }
    };
    let asked = json!({
        "type": kind(factor), "credential_options": { "publicKey": options },
    });
    let remembered = json!({ "challenge": challenge, "rpId": party.id });
    Ok((asked, remembered))
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

/// Refuses what cannot be an answer, before anything is looked up.
pub(super) fn check_params(
    params: Option<WebAuthnParams>,
    factor: &Factor,
) -> Result<WebAuthnParams, AuthError> {
    let Some(params) = params else {
        return Err(AuthError::invalid("WebAuthn config required"));
    };
    if !["create", "request"].contains(&params.kind.as_str()) {
        return Err(AuthError::invalid(
            "WebAuthn type must be create or request",
        ));
    }
    if params.credential_response.is_null() {
        return Err(AuthError::invalid("credential_response required"));
    }
    if params.kind != kind(factor) {
        return Err(AuthError::invalid(format!(
            "WebAuthn type must be {} for this factor",
            kind(factor)
        )));
    }
    if params.credential_response.to_string().len() > MAX_ANSWER_BYTES {
        return Err(AuthError::invalid("credential_response is too large"));
    }
    Ok(params)
}

/// Checks the answer and keeps what is to be known of the key from now on.
pub(super) async fn accept(
    context: &Context,
    db: &mut impl Queries,
    factor: &Factor,
    challenge: &Challenge,
    params: &WebAuthnParams,
) -> Result<(), AuthError> {
    let party = RelyingParty::of(context);
    let asked = challenge.web_authn.as_ref();
    let text = asked.and_then(|asked| asked["challenge"].as_str());
    let text = text.unwrap_or_default();
    let checked = match factor.is_verified {
        false => check_registration(&party, text, &parse(params)?),
        true => check_assertion(&party, text, &credential(factor)?, &parse(params)?),
    };
    let credential = checked.map_err(|refusal| {
        tracing::info!("a security key was refused: {refusal}");
        AuthError::new(
            422,
            Code::MfaVerificationFailed,
            "The security key could not be verified",
        )
    })?;
    let answered = json!({
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
    store::update_credential(
        db,
        factor.id,
        &json,
        credential.aaguid,
        &answered,
        context.now,
    )
    .await?;
    Ok(())
}

fn parse<T: for<'de> Deserialize<'de>>(params: &WebAuthnParams) -> Result<T, AuthError> {
    T::deserialize(&params.credential_response)
        .map_err(|_| AuthError::invalid("Invalid credential_response"))
}

fn credential(factor: &Factor) -> Result<Credential, AuthError> {
    let stored = factor.web_authn_credential.as_ref();
    stored
        .and_then(Credential::from_json)
        .ok_or_else(|| AuthError::internal("Unexpected failure", "a factor has no credential"))
}
