//! `POST /factors/{id}/verify`

use plinth_db::Queries;
use serde::Deserialize;
use serde_json::json;
use uuid::Uuid;

use super::{
    assurance::{
        FactorPath, check_may_confirm, check_may_verify, check_not_anonymous, factor_id, find_own,
        session,
    },
    sent_code, totp,
    webauthn::{self, WebAuthnParams},
};
use crate::{
    AuthError,
    audit::{self, Action},
    caller::SignedIn,
    hooks::{self, Decision},
    mail::{self, Notification},
    model::{
        Factor, FactorKind, factors,
        mfa_challenges::{self, MfaChallenge},
        sessions, users,
    },
    rate_limit::{self, Bucket},
    request::{Input, RequestContext},
    sessions::{TokenBody, elevate},
};

/// How long a code of an authenticator app can be valid.
const CODE_LIFETIME: time::Duration = time::Duration::seconds(120);

#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct VerifyParams {
    challenge_id: Uuid,
    code: String,
    webauthn: Option<WebAuthnParams>,
}

/// A proof of the factor, checked as far as that takes no lock.
enum Proof {
    /// The time step of a TOTP code.
    Step(u64),
    /// The code of a text message.
    SentCode,
    /// The response of a security key, checked under the lock.
    Key(WebAuthnParams),
}

/// `POST /factors/{id}/verify`: proves the factor, and raises the session to aal2.
pub(crate) async fn verify(
    context: RequestContext,
    caller: SignedIn,
    path: FactorPath,
    Input(params): Input<VerifyParams>,
) -> Result<TokenBody, AuthError> {
    check_not_anonymous(&caller)?;
    let id = factor_id(path)?;
    let mut db = context.db().await?;
    let factor = find_own(&mut db, &caller, id).await?;
    check_rate(&context, &factor)?;
    if params.code.is_empty() && factor.kind != FactorKind::WebAuthn {
        return Err(AuthError::validation_failed("Code needs to be non-empty"));
    }
    check_may_verify(&context.config.mfa, factor.kind)?;
    session(&caller)?;
    check_may_confirm(&mut db, &caller, &factor).await?;
    let proof = match factor.kind {
        FactorKind::WebAuthn => {
            drop(db);
            Proof::Key(webauthn::check_params(params.webauthn, &factor)?)
        }
        FactorKind::Totp | FactorKind::Phone => {
            let challenge = lock_challenge(&context, &mut db, &factor, params.challenge_id).await?;
            let used = list_used_steps(&context, &mut db, &factor).await?;
            drop(db);
            check_code(&context, &caller, &factor, &challenge, &params.code, &used).await?
        }
    };
    apply_proof(&context, &caller, factor, params.challenge_id, proof).await
}

/// By address like all rate limits, and by factor, since codes may be guessed from many addresses.
fn check_rate(context: &RequestContext, factor: &Factor) -> Result<(), AuthError> {
    rate_limit::check_action(context, Bucket::Mfa, "verify ")?;
    let factor = format!("factor {}", factor.id);
    rate_limit::check_by(context, Bucket::Mfa, &factor)
}

/// The challenge, if it can still be verified from this address.
async fn lock_challenge(
    context: &RequestContext,
    db: &mut impl Queries,
    factor: &Factor,
    id: Uuid,
) -> Result<MfaChallenge, AuthError> {
    let Some(challenge) = mfa_challenges::lock(db, factor.id, id).await? else {
        return Err(AuthError::challenge_not_found());
    };
    if challenge.is_verified || challenge.ip != context.client.ip {
        return Err(AuthError::challenge_ip_mismatch());
    }
    if context.now > challenge.created_at + context.config.mfa.challenge_lifetime {
        return Err(AuthError::challenge_expired(id));
    }
    Ok(challenge)
}

/// Time steps that are recent enough to be valid but were used.
async fn list_used_steps(
    context: &RequestContext,
    db: &mut impl Queries,
    factor: &Factor,
) -> Result<Vec<String>, AuthError> {
    match factor.kind {
        FactorKind::Totp => {
            let lifetime = CODE_LIFETIME + context.config.mfa.challenge_lifetime;
            Ok(mfa_challenges::list_codes(db, factor.id, context.now - lifetime).await?)
        }
        FactorKind::Phone | FactorKind::WebAuthn => Ok(Vec::new()),
    }
}

/// Checks the code. The MFA hook is called in both cases, and may reject the attempt.
async fn check_code(
    context: &RequestContext,
    caller: &SignedIn,
    factor: &Factor,
    challenge: &MfaChallenge,
    code: &str,
    used: &[String],
) -> Result<Proof, AuthError> {
    let (proof, wrong) = match factor.kind {
        FactorKind::Phone => {
            let is_correct = sent_code::is_correct(context, factor, challenge, code).await?;
            (
                is_correct.then_some(Proof::SentCode),
                AuthError::phone_code_invalid(),
            )
        }
        FactorKind::Totp | FactorKind::WebAuthn => {
            let secret = factor.secret.as_deref().unwrap_or_default();
            let step = totp::find_step(secret, code, context.now);
            let step = step.filter(|step| totp::is_unused(*step, used));
            (step.map(Proof::Step), AuthError::totp_code_invalid())
        }
    };
    let user = caller.user.id;
    let decision = hooks::mfa_verification_attempt(context, user, factor, proof.is_some()).await?;
    if let Decision::Reject { message, .. } = decision {
        return Err(end_sessions(context, user, message).await?);
    }
    proof.ok_or(wrong)
}

/// The hook rejected the attempt: ends all sessions of the user.
async fn end_sessions(
    context: &RequestContext,
    user: Uuid,
    message: String,
) -> Result<AuthError, AuthError> {
    let mut db = context.db().await?;
    sessions::delete_all_but(&mut db, user, None).await?;
    Ok(AuthError::mfa_attempt_rejected(message))
}

/// Verifies the factor with the proof. Everything is checked again under the lock.
async fn apply_proof(
    context: &RequestContext,
    caller: &SignedIn,
    factor: Factor,
    challenge: Uuid,
    proof: Proof,
) -> Result<TokenBody, AuthError> {
    let mut tx = context.begin().await?;
    let user = users::lock(&mut tx, factor.user_id).await?;
    let user = user.ok_or_else(AuthError::factor_not_found)?;
    let factor = factors::lock(&mut tx, user.id, factor.id).await?;
    let factor = factor.ok_or_else(AuthError::factor_not_found)?;
    let challenge = lock_challenge(context, &mut tx, &factor, challenge).await?;
    if let Err(error) = consume_proof(context, &mut tx, &factor, &challenge, &proof).await {
        if matches!(proof, Proof::Key(_)) {
            // A challenge of a security key can be used once (§2.11).
            mfa_challenges::delete(&mut tx, challenge.id).await?;
            tx.commit().await?;
        }
        return Err(error);
    }
    let traits = json!({
        "factor_id": factor.id, "challenge_id": challenge.id, "factor_type": factor.kind.as_str(),
    });
    audit::write(
        context,
        &mut tx,
        &user,
        Action::VerificationAttempted,
        traits,
    )
    .await?;
    if !factor.is_verified {
        factors::mark_verified(&mut tx, factor.id, context.now).await?;
    }
    factors::delete_unverified(&mut tx, user.id, factor.kind).await?;
    let session = session(caller)?.id;
    let tokens = elevate(context, &mut tx, user.clone(), session, &factor).await?;
    tx.commit().await?;

    if !factor.is_verified && !user.email.is_empty() {
        let factor_type = factor.kind.as_str();
        let notice = Notification::FactorEnrolled { factor_type };
        let mut db = context.db().await?;
        mail::notify(context, &mut db, &user, &user.email, notice).await;
    }
    Ok(tokens)
}

async fn consume_proof(
    context: &RequestContext,
    db: &mut impl Queries,
    factor: &Factor,
    challenge: &MfaChallenge,
    proof: &Proof,
) -> Result<(), AuthError> {
    match proof {
        Proof::Step(step) => {
            if !totp::is_unused(*step, &list_used_steps(context, db, factor).await?) {
                return Err(AuthError::totp_code_invalid());
            }
            let step = step.to_string();
            mfa_challenges::mark_verified(db, challenge.id, Some(&step), context.now).await?;
        }
        Proof::SentCode => {
            mfa_challenges::mark_verified(db, challenge.id, None, context.now).await?;
        }
        Proof::Key(params) => {
            webauthn::verify_response(context, db, factor, challenge, params).await?;
            mfa_challenges::delete(db, challenge.id).await?;
        }
    }
    Ok(())
}
