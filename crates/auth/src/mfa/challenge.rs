//! `POST /factors/{id}/challenge`

use axum::Json;
use plinth_project::ServiceTransaction;
use serde::Deserialize;
use serde_json::{Value, json};
use time::Duration;

use super::{
    assurance::{
        FactorPath, check_may_confirm, check_may_verify, check_not_anonymous, factor_id, find_own,
    },
    sent_code, webauthn,
};
use crate::{
    AuthError,
    audit::{self, Action},
    caller::SignedIn,
    model::{
        Conflict, Factor, FactorKind, factors,
        mfa_challenges::{self, MfaChallenge},
    },
    random,
    rate_limit::{self, Bucket},
    request::{Input, RequestContext},
    sms::Channel,
};

/// `last_challenged_at` is unique, so a conflict is retried with another microsecond.
const ATTEMPTS: i64 = 5;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ChallengeParams {
    channel: String,
}

/// `POST /factors/{id}/challenge`: creates a challenge, and sends its code.
pub(crate) async fn challenge(
    context: RequestContext,
    caller: SignedIn,
    path: FactorPath,
    Input(params): Input<ChallengeParams>,
) -> Result<Json<Value>, AuthError> {
    check_not_anonymous(&caller)?;
    let id = factor_id(path)?;
    let mut db = context.db().await?;
    let factor = find_own(&mut db, &caller, id).await?;
    rate_limit::check_action(&context, Bucket::Mfa, "challenge ")?;
    check_may_verify(&context.config.mfa, factor.kind)?;
    let channel = match factor.kind {
        FactorKind::Phone => Some(Channel::parse(&context, &params.channel)?),
        FactorKind::Totp | FactorKind::WebAuthn => None,
    };
    check_may_confirm(&mut db, &caller, &factor).await?;
    drop(db);

    let (mut tx, factor) = begin(&context, &caller, &factor).await?;
    let mut challenge = MfaChallenge {
        id: random::uuid(),
        factor_id: factor.id,
        created_at: context.now,
        is_verified: false,
        ip: context.client.ip,
        otp: channel.map(|_| sent_code::new_code(&context)),
        web_authn: None,
    };
    let mut body = json!({
        "id": challenge.id,
        "type": factor.kind.as_str(),
        "expires_at": (context.now + context.config.mfa.challenge_lifetime).unix_timestamp(),
    });
    if factor.kind == FactorKind::WebAuthn {
        let (options, stored) =
            webauthn::build_challenge(&context, &mut tx, &caller.user, &factor).await?;
        challenge.web_authn = Some(stored);
        body["webauthn"] = options;
    }
    mfa_challenges::insert(&mut tx, &challenge).await?;
    let traits = json!({ "factor_id": factor.id, "factor_status": factor.status() });
    audit::write(
        &context,
        &mut tx,
        &caller.user,
        Action::ChallengeCreated,
        traits,
    )
    .await?;
    if let (Some(channel), Some(otp)) = (channel, &challenge.otp) {
        sent_code::send(&context, &mut tx, &caller.user, &factor, otp, channel).await?;
    }
    tx.commit().await?;
    Ok(Json(body))
}

/// Begins a transaction with the factor locked, and sets `last_challenged_at`.
async fn begin(
    context: &RequestContext,
    caller: &SignedIn,
    factor: &Factor,
) -> Result<(ServiceTransaction, Factor), AuthError> {
    let mut attempt = 0;
    loop {
        let mut tx = context.begin().await?;
        let factor = factors::lock(&mut tx, caller.user.id, factor.id).await?;
        let factor = factor.ok_or_else(AuthError::factor_not_found)?;
        if factor.kind == FactorKind::Phone {
            sent_code::check_interval(context, &factor)?;
        }
        let at = context.now + Duration::microseconds(attempt);
        match factors::set_last_challenged(&mut tx, factor.id, at).await {
            Ok(()) => return Ok((tx, factor)),
            Err(error)
                if attempt < ATTEMPTS
                    && Conflict::find(&error) == Some(Conflict::FactorChallenge) =>
            {
                attempt += 1;
            }
            Err(error) => return Err(error.into()),
        }
    }
}
