//! `POST /factors`

use axum::Json;
use plinth_db::Queries;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    assurance::{check_may_enrol, check_not_anonymous, has_aal2, lacks_fresh_proof, session},
    totp::TotpBody,
};
use crate::{
    AuthError,
    audit::{self, Action},
    caller::SignedIn,
    contact,
    model::{
        Factor, FactorKind,
        factors::{self, NewFactor},
        users,
    },
    request::{Input, RequestContext},
};

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct EnrolParams {
    factor_type: String,
    friendly_name: String,
    issuer: String,
    phone: String,
}

/// `POST /factors`: enrols a factor, which is unverified at first.
pub(crate) async fn enrol(
    context: RequestContext,
    caller: SignedIn,
    Input(params): Input<EnrolParams>,
) -> Result<Json<Value>, AuthError> {
    check_not_anonymous(&caller)?;
    session(&caller)?;
    let kind = FactorKind::parse(&params.factor_type).ok_or_else(|| {
        AuthError::validation_failed("factor_type needs to be totp, phone, or webauthn")
    })?;
    check_may_enrol(&context.config.mfa, kind)?;
    check_name(&params.friendly_name)?;
    let phone = match kind {
        FactorKind::Phone => Some(phone(&params.phone)?),
        FactorKind::Totp | FactorKind::WebAuthn => None,
    };
    let totp = match kind {
        FactorKind::Totp => Some(TotpBody::new(&context, &caller.user, &params.issuer)?),
        FactorKind::Phone | FactorKind::WebAuthn => None,
    };
    let new = NewFactor {
        user: caller.user.id,
        kind,
        friendly_name: &params.friendly_name,
        secret: totp.as_ref().map(|totp| totp.secret.as_str()),
        phone: phone.as_deref(),
    };

    let mut tx = context.begin().await?;
    // Locked, so that concurrent requests cannot exceed the limit.
    users::lock(&mut tx, caller.user.id).await?;
    let limit = context.now - context.config.mfa.factor_lifetime;
    factors::delete_stale(&mut tx, caller.user.id, limit).await?;
    let existing = factors::list(&mut tx, caller.user.id).await?;
    let existing = replace_phone(&mut tx, existing, phone.as_deref()).await?;
    check_limits(&context, &caller, &existing, new.friendly_name)?;
    let has_verified = existing.iter().any(|factor| factor.is_verified);
    if has_verified && lacks_fresh_proof(&context, &mut tx, &caller).await? {
        return Err(AuthError::aal2_required_to_enroll());
    }
    let id = factors::insert(&mut tx, &new, context.now).await?;
    let traits = json!({ "factor_id": id, "factor_type": kind.as_str() });
    audit::write(
        &context,
        &mut tx,
        &caller.user,
        Action::FactorInProgress,
        traits,
    )
    .await?;
    tx.commit().await?;

    let mut body = json!({
        "id": id, "type": kind.as_str(), "friendly_name": params.friendly_name,
    });
    if let Some(totp) = totp {
        body["totp"] = json!(totp);
    }
    if let Some(phone) = phone {
        body["phone"] = json!(phone);
    }
    Ok(Json(body))
}

fn phone(text: &str) -> Result<String, AuthError> {
    match text {
        "" => Err(AuthError::validation_failed(
            "Phone number required to enroll Phone factor",
        )),
        text => contact::phone(text),
    }
}

/// An unverified factor with the number is replaced; a verified one is a conflict.
async fn replace_phone(
    db: &mut impl Queries,
    existing: Vec<Factor>,
    phone: Option<&str>,
) -> Result<Vec<Factor>, AuthError> {
    let mut remaining = Vec::with_capacity(existing.len());
    for factor in existing {
        if factor.kind != FactorKind::Phone || Some(factor.phone.as_str()) != phone {
            remaining.push(factor);
            continue;
        }
        if factor.is_verified {
            return Err(AuthError::verified_phone_factor_exists());
        }
        factors::delete(db, factor.id).await?;
    }
    Ok(remaining)
}

fn check_limits(
    context: &RequestContext,
    caller: &SignedIn,
    existing: &[Factor],
    friendly_name: &str,
) -> Result<(), AuthError> {
    let config = &context.config.mfa;
    if existing
        .iter()
        .any(|factor| factor.friendly_name == friendly_name)
    {
        return Err(AuthError::factor_name_conflict(friendly_name));
    }
    let verified = existing.iter().filter(|factor| factor.is_verified).count();
    if existing.len() >= config.max_enrolled || verified >= config.max_verified {
        return Err(AuthError::too_many_factors());
    }
    if verified > 0 && !has_aal2(caller.session.as_ref()) {
        return Err(AuthError::aal2_required_to_enroll());
    }
    Ok(())
}

/// Names are part of a unique index, whose entries are bounded.
const MAX_NAME_BYTES: usize = 255;

pub(super) fn check_name(name: &str) -> Result<(), AuthError> {
    match name.len() {
        ..=MAX_NAME_BYTES => Ok(()),
        _ => Err(AuthError::validation_failed(format!(
            "friendly_name cannot be longer than {MAX_NAME_BYTES} bytes"
        ))),
    }
}
