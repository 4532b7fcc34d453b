//! `POST /factors`

use axum::Json;
use plinth_db::Queries;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    assurance::{check_may_enrol, check_not_anonymous, has_aal2, needs_aal2, session},
    store::{self, NewFactor},
    totp::TotpBody,
};
use crate::{
    AuthError,
    audit::{self, Action},
    error::Code,
    model::{Factor, FactorKind, factors, users},
    request::{Context, Input, SignedIn, contact},
};

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct EnrolParams {
    factor_type: String,
    friendly_name: String,
    issuer: String,
    phone: String,
}

/// `POST /factors`: a factor that counts once it is verified.
pub(crate) async fn enrol(
    context: Context,
    caller: SignedIn,
    Input(params): Input<EnrolParams>,
) -> Result<Json<Value>, AuthError> {
    check_not_anonymous(&caller)?;
    session(&caller)?;
    let kind = FactorKind::parse(&params.factor_type)
        .ok_or_else(|| AuthError::invalid("factor_type needs to be totp, phone, or webauthn"))?;
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
    // One enrolment at a time, or two could share the last place.
    users::lock(&mut tx, caller.user.id).await?;
    let limit = context.now - context.config.mfa.factor_lifetime;
    store::delete_stale(&mut tx, caller.user.id, limit).await?;
    let existing = factors::list(&mut tx, caller.user.id).await?;
    let existing = replace_phone(&mut tx, existing, phone.as_deref()).await?;
    check_limits(&context, &caller, &existing, new.friendly_name)?;
    let id = store::insert(&mut tx, &new, context.now).await?;
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
        "" => Err(AuthError::invalid(
            "Phone number required to enroll Phone factor",
        )),
        text => contact::phone(text),
    }
}

/// A number that was never confirmed may be tried again; one that was may not.
async fn replace_phone(
    db: &mut impl Queries,
    existing: Vec<Factor>,
    phone: Option<&str>,
) -> Result<Vec<Factor>, AuthError> {
    let mut kept = Vec::with_capacity(existing.len());
    for factor in existing {
        if factor.kind != FactorKind::Phone || Some(factor.phone.as_str()) != phone {
            kept.push(factor);
            continue;
        }
        if factor.is_verified {
            return Err(AuthError::new(
                422,
                Code::MfaVerifiedFactorExists,
                "A verified phone factor already exists, unenroll the existing factor to continue",
            ));
        }
        store::delete(db, factor.id).await?;
    }
    Ok(kept)
}

fn check_limits(
    context: &Context,
    caller: &SignedIn,
    existing: &[Factor],
    friendly_name: &str,
) -> Result<(), AuthError> {
    let config = &context.config.mfa;
    if existing
        .iter()
        .any(|factor| factor.friendly_name == friendly_name)
    {
        return Err(name_conflict(friendly_name));
    }
    let verified = existing.iter().filter(|factor| factor.is_verified).count();
    if existing.len() >= config.max_enrolled || verified >= config.max_verified {
        return Err(AuthError::new(
            422,
            Code::TooManyEnrolledMfaFactors,
            "Maximum number of verified factors reached, unenroll to continue",
        ));
    }
    if verified > 0 && !has_aal2(caller.session.as_ref()) {
        return Err(needs_aal2("AAL2 required to enroll a new factor"));
    }
    Ok(())
}

/// Names are unique among a user's factors, and an index holds only so much.
const MAX_NAME_BYTES: usize = 255;

pub(super) fn check_name(name: &str) -> Result<(), AuthError> {
    match name.len() {
        ..=MAX_NAME_BYTES => Ok(()),
        _ => Err(AuthError::invalid(format!(
            "friendly_name cannot be longer than {MAX_NAME_BYTES} bytes"
        ))),
    }
}

pub(super) fn name_conflict(name: &str) -> AuthError {
    AuthError::new(
        422,
        Code::MfaFactorNameConflict,
        format!("A factor with the friendly name {name:?} for this user already exists"),
    )
}
