//! `POST /factors/{id}/verify`

use plinth_db::Queries;
use serde::Deserialize;
use serde_json::json;
use uuid::Uuid;

use super::{
    assurance::{
        FactorPath, check_may_confirm, check_may_verify, check_not_anonymous, factor_id, find_own,
        not_found, session,
    },
    sent_code,
    store::{self, Challenge},
    totp,
    webauthn::{self, WebAuthnParams},
};
use crate::{
    AuthError,
    audit::{self, Action},
    error::Code,
    hooks::{self, Decision},
    mail::{self, Notice},
    model::{Factor, FactorKind, sessions, users},
    rate_limit::{self, Bucket},
    request::{Context, Input, SignedIn},
    sessions::{TokenBody, elevate},
};

/// Codes of an authenticator app are good for about this long.
const CODE_LIFETIME: time::Duration = time::Duration::seconds(120);

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct VerifyParams {
    challenge_id: Uuid,
    code: String,
    webauthn: Option<WebAuthnParams>,
}

/// What was shown, and found good as far as that can be told without a lock.
enum Proof {
    /// The step that a code of an app belongs to.
    Step(u64),
    /// The code that was sent.
    SentCode,
    /// The answer of a security key, which is checked when it is used.
    Key(WebAuthnParams),
}

/// `POST /factors/{id}/verify`: proves the factor, and raises the session to aal2.
pub(crate) async fn verify(
    context: Context,
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
        return Err(AuthError::invalid("Code needs to be non-empty"));
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
            let challenge = open(&context, &mut db, &factor, params.challenge_id).await?;
            let used = list_used(&context, &mut db, &factor).await?;
            drop(db);
            check_code(&context, &caller, &factor, &challenge, &params.code, &used).await?
        }
    };
    redeem(&context, &caller, factor, params.challenge_id, proof).await
}

/// By address as all limits are, and by factor: who guesses may have many addresses.
fn check_rate(context: &Context, factor: &Factor) -> Result<(), AuthError> {
    let client = format!("verify {}", context.client.rate_key);
    rate_limit::check_by(context, Bucket::Mfa, &client)?;
    let factor = format!("factor {}", factor.id);
    rate_limit::check_by(context, Bucket::Mfa, &factor)
}

/// The challenge, if it may still be answered from here.
async fn open(
    context: &Context,
    db: &mut impl Queries,
    factor: &Factor,
    id: Uuid,
) -> Result<Challenge, AuthError> {
    let Some(challenge) = store::lock_challenge(db, factor.id, id).await? else {
        return Err(AuthError::new(
            422,
            Code::MfaFactorNotFound,
            "MFA factor with the provided challenge ID not found",
        ));
    };
    if challenge.is_answered || challenge.ip != context.client.ip {
        return Err(AuthError::new(
            422,
            Code::MfaIpAddressMismatch,
            "Challenge and verify IP addresses mismatch.",
        ));
    }
    if context.now > challenge.created_at + context.config.mfa.challenge_lifetime {
        return Err(AuthError::new(
            422,
            Code::MfaChallengeExpired,
            format!(
                "MFA challenge {id} has expired, verify against another challenge or create a \
                 new challenge."
            ),
        ));
    }
    Ok(challenge)
}

/// Steps of codes that still look good but were used.
async fn list_used(
    context: &Context,
    db: &mut impl Queries,
    factor: &Factor,
) -> Result<Vec<String>, AuthError> {
    match factor.kind {
        FactorKind::Totp => {
            let lifetime = CODE_LIFETIME + context.config.mfa.challenge_lifetime;
            Ok(store::list_answers(db, factor.id, context.now - lifetime).await?)
        }
        FactorKind::Phone | FactorKind::WebAuthn => Ok(Vec::new()),
    }
}

/// Right or wrong, the hook is told, and may have its own opinion.
async fn check_code(
    context: &Context,
    caller: &SignedIn,
    factor: &Factor,
    challenge: &Challenge,
    code: &str,
    used: &[String],
) -> Result<Proof, AuthError> {
    let (proof, wrong) = match factor.kind {
        FactorKind::Phone => {
            let is_right = sent_code::is_right(context, factor, challenge, code).await?;
            (
                is_right.then_some(Proof::SentCode),
                "Invalid MFA Phone code entered",
            )
        }
        FactorKind::Totp | FactorKind::WebAuthn => {
            let secret = factor.secret.as_deref().unwrap_or_default();
            let step = totp::step_of(secret, code, context.now);
            let step = step.filter(|step| totp::is_unused(*step, used));
            (step.map(Proof::Step), WRONG_TOTP)
        }
    };
    let user = caller.user.id;
    let decision = hooks::mfa_verification_attempt(context, user, factor, proof.is_some()).await?;
    if let Decision::Reject { message, .. } = decision {
        return Err(reject(context, user, message).await?);
    }
    proof.ok_or_else(|| failed(wrong))
}

const WRONG_TOTP: &str = "Invalid TOTP code entered";

fn failed(message: &'static str) -> AuthError {
    AuthError::new(422, Code::MfaVerificationFailed, message)
}

/// The hook's word signs the user out everywhere.
async fn reject(context: &Context, user: Uuid, message: String) -> Result<AuthError, AuthError> {
    let mut db = context.db().await?;
    sessions::delete_all_but(&mut db, user, None).await?;
    let message = match message.is_empty() {
        true => "Further MFA verification attempts will be rejected.".to_owned(),
        false => message,
    };
    Ok(AuthError::new(403, Code::MfaVerificationRejected, message))
}

/// Uses the proof up. Everything is looked at again, now that nobody else can change it.
async fn redeem(
    context: &Context,
    caller: &SignedIn,
    factor: Factor,
    challenge: Uuid,
    proof: Proof,
) -> Result<TokenBody, AuthError> {
    let mut tx = context.begin().await?;
    let user = users::lock(&mut tx, factor.user_id).await?;
    let user = user.ok_or_else(not_found)?;
    let factor = store::lock(&mut tx, user.id, factor.id).await?;
    let factor = factor.ok_or_else(not_found)?;
    let challenge = open(context, &mut tx, &factor, challenge).await?;
    if let Err(error) = use_up(context, &mut tx, &factor, &challenge, &proof).await {
        if matches!(proof, Proof::Key(_)) {
            // Right or wrong, there is no second answer (§2.11).
            store::delete_challenge(&mut tx, challenge.id).await?;
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
        store::mark_verified(&mut tx, factor.id, context.now).await?;
    }
    store::delete_unverified(&mut tx, user.id, factor.kind).await?;
    let session = session(caller)?.id;
    let tokens = elevate(context, &mut tx, user.clone(), session, &factor).await?;
    tx.commit().await?;

    if !factor.is_verified && !user.email.is_empty() {
        let factor_type = factor.kind.as_str();
        let notice = Notice::FactorEnrolled { factor_type };
        let mut db = context.db().await?;
        mail::notify(context, &mut db, &user, &user.email, notice).await;
    }
    Ok(tokens)
}

async fn use_up(
    context: &Context,
    db: &mut impl Queries,
    factor: &Factor,
    challenge: &Challenge,
    proof: &Proof,
) -> Result<(), AuthError> {
    match proof {
        Proof::Step(step) => {
            if !totp::is_unused(*step, &list_used(context, db, factor).await?) {
                return Err(failed(WRONG_TOTP));
            }
            let step = step.to_string();
            store::mark_answered(db, challenge.id, Some(&step), context.now).await?;
        }
        Proof::SentCode => store::mark_answered(db, challenge.id, None, context.now).await?,
        Proof::Key(params) => {
            webauthn::accept(context, db, factor, challenge, params).await?;
            store::delete_challenge(db, challenge.id).await?;
        }
    }
    Ok(())
}
