//! `POST /factors/{id}/challenge`

use axum::Json;
use plinth_project::ServiceTransaction;
use serde::Deserialize;
use serde_json::{Value, json};
use time::Duration;

use super::{
    assurance::{
        FactorPath, check_may_confirm, check_may_verify, check_not_anonymous, factor_id, find_own,
        not_found,
    },
    sent_code,
    store::{self, Challenge},
    webauthn,
};
use crate::{
    AuthError,
    audit::{self, Action},
    model::{Factor, FactorKind},
    random,
    rate_limit::{self, Bucket},
    request::{Context, Input, SignedIn},
    sms::Channel,
};

/// Two factors cannot have been asked for in the same microsecond, says the table.
const ATTEMPTS: i64 = 5;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ChallengeParams {
    channel: String,
}

/// `POST /factors/{id}/challenge`: what is to be answered to prove the factor.
pub(crate) async fn challenge(
    context: Context,
    caller: SignedIn,
    path: FactorPath,
    Input(params): Input<ChallengeParams>,
) -> Result<Json<Value>, AuthError> {
    check_not_anonymous(&caller)?;
    let id = factor_id(path)?;
    let mut db = context.db().await?;
    let factor = find_own(&mut db, &caller, id).await?;
    let key = format!("challenge {}", context.client.rate_key);
    rate_limit::check_by(&context, Bucket::Mfa, &key)?;
    check_may_verify(&context.config.mfa, factor.kind)?;
    let channel = match factor.kind {
        FactorKind::Phone => Some(Channel::parse(&context, &params.channel)?),
        FactorKind::Totp | FactorKind::WebAuthn => None,
    };
    check_may_confirm(&mut db, &caller, &factor).await?;
    drop(db);

    let (mut tx, factor) = begin(&context, &caller, &factor).await?;
    let mut challenge = Challenge {
        id: random::uuid(),
        factor_id: factor.id,
        created_at: context.now,
        is_answered: false,
        ip: context.client.ip,
        otp: channel.map(|_| sent_code::new(&context)),
        web_authn: None,
    };
    let mut body = json!({
        "id": challenge.id,
        "type": factor.kind.as_str(),
        "expires_at": (context.now + context.config.mfa.challenge_lifetime).unix_timestamp(),
    });
    if factor.kind == FactorKind::WebAuthn {
        let (asked, remembered) = webauthn::ask(&context, &mut tx, &caller.user, &factor).await?;
        challenge.web_authn = Some(remembered);
        body["webauthn"] = asked;
    }
    store::insert_challenge(&mut tx, &challenge).await?;
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

/// A transaction in which the factor is locked and counts as asked for just now.
async fn begin(
    context: &Context,
    caller: &SignedIn,
    factor: &Factor,
) -> Result<(ServiceTransaction, Factor), AuthError> {
    let mut attempt = 0;
    loop {
        let mut tx = context.begin().await?;
        let factor = store::lock(&mut tx, caller.user.id, factor.id).await?;
        let factor = factor.ok_or_else(not_found)?;
        if factor.kind == FactorKind::Phone {
            sent_code::check_interval(context, &factor)?;
        }
        let at = context.now + Duration::microseconds(attempt);
        match store::touch(&mut tx, factor.id, at).await {
            Ok(()) => return Ok((tx, factor)),
            Err(error) if attempt < ATTEMPTS && is_taken(&error) => attempt += 1,
            Err(error) => return Err(error.into()),
        }
    }
}

fn is_taken(error: &plinth_db::DbError) -> bool {
    let constraint = error.refusal().and_then(|it| it.constraint.as_deref());
    constraint == Some("mfa_factors_last_challenged_at_key")
}
