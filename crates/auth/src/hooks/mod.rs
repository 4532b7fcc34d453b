//! Calls to the user's own code (auth contract §9).
//!
//! A hook is a database function or an HTTP address; [`Call`] knows both ways. What each hook is
//! told and what its answer means is here.

mod call;
mod claims;
mod function;
mod http;

use plinth_db::Queries;
use serde::Serialize;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::{
    AuthError,
    config::{Hook, HookTarget},
    model::{Factor, Object, UserBody},
    request::Context,
};
use call::Call;

/// The claims that the token shall have.
pub(crate) async fn custom_access_token(
    context: &Context,
    db: &mut impl Queries,
    user: Uuid,
    claims: Object,
    method: &str,
) -> Result<Object, AuthError> {
    match &context.config.hooks.custom_access_token {
        None => Ok(claims),
        Some(hook) => {
            let call = token_call(context, hook, user, claims, method);
            claims::from_answer(call.inside(db).await?)
        }
    }
}

/// The same outside of any transaction.
pub(crate) async fn custom_access_token_alone(
    context: &Context,
    user: Uuid,
    claims: Object,
    method: &str,
) -> Result<Object, AuthError> {
    match &context.config.hooks.custom_access_token {
        None => Ok(claims),
        Some(hook) => {
            let call = token_call(context, hook, user, claims, method);
            claims::from_answer(call.alone().await?)
        }
    }
}

fn token_call<'a>(
    context: &'a Context,
    hook: &'a Hook,
    user: Uuid,
    claims: Object,
    method: &str,
) -> Call<'a> {
    let input = json!({ "user_id": user, "claims": claims, "authentication_method": method });
    Call::new(context, hook, "customize-access-token", input)
}

/// Whether somebody outside decides what is in access tokens, which can take seconds.
pub(crate) fn is_token_made_elsewhere(context: &Context) -> bool {
    let hook = context.config.hooks.custom_access_token.as_ref();
    hook.is_some_and(|hook| matches!(hook.target, HookTarget::Http(_)))
}

/// Lets the hook send a mail. `payload` has `user` and `email_data`. Says whether there is such a
/// hook; if so, nobody else sends the mail.
pub(crate) async fn send_email(
    context: &Context,
    db: &mut impl Queries,
    payload: Object,
) -> Result<bool, AuthError> {
    let Some(hook) = &context.config.hooks.send_email else {
        return Ok(false);
    };
    let call = Call::new(context, hook, "send-email", Value::Object(payload));
    call.guarded(db).await.map(|_| true)
}

/// Lets the hook send a text message. `payload` has `user` and `sms`. Says whether there is such a
/// hook.
pub(crate) async fn send_sms(
    context: &Context,
    db: &mut impl Queries,
    payload: Object,
) -> Result<bool, AuthError> {
    let Some(hook) = &context.config.hooks.send_sms else {
        return Ok(false);
    };
    let call = Call::new(context, hook, "send-sms", Value::Object(payload));
    call.guarded(db).await.map(|_| true)
}

/// May refuse a user who is about to be made. Called outside of any transaction.
pub(crate) async fn before_user_created(
    context: &Context,
    user: &UserBody,
) -> Result<(), AuthError> {
    let Some(hook) = &context.config.hooks.before_user_created else {
        return Ok(());
    };
    let call = Call::new(context, hook, "before-user-created", about(user));
    call.alone().await.map(|_| ())
}

/// Told of a user who was made. Called outside of any transaction.
pub(crate) async fn after_user_created(
    context: &Context,
    user: &UserBody,
) -> Result<(), AuthError> {
    let Some(hook) = &context.config.hooks.after_user_created else {
        return Ok(());
    };
    let call = Call::new(context, hook, "after-user-created", about(user));
    call.alone().await.map(|_| ())
}

fn about(user: &UserBody) -> Value {
    #[derive(Serialize)]
    struct About<'a> {
        user: &'a UserBody,
    }
    json!(About { user })
}

/// What the hook says to an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Decision {
    Continue,
    Reject {
        message: String,
        /// Of the password hook only.
        signs_out: bool,
    },
}

/// Somebody showed a password that is right or wrong. Called outside of any transaction.
pub(crate) async fn password_verification_attempt(
    context: &Context,
    user: Uuid,
    is_valid: bool,
) -> Result<Decision, AuthError> {
    let Some(hook) = &context.config.hooks.password_verification_attempt else {
        return Ok(Decision::Continue);
    };
    let input = json!({ "user_id": user, "valid": is_valid });
    let call = Call::new(context, hook, "password-verification", input);
    let answer = call.alone().await?;
    Ok(decision(
        &answer,
        "Further password verification attempts will be rejected.",
    ))
}

/// Somebody showed a code of a factor that is right or wrong. Called outside of any transaction.
pub(crate) async fn mfa_verification_attempt(
    context: &Context,
    user: Uuid,
    factor: &Factor,
    is_valid: bool,
) -> Result<Decision, AuthError> {
    let Some(hook) = &context.config.hooks.mfa_verification_attempt else {
        return Ok(Decision::Continue);
    };
    let input = json!({
        "user_id": user,
        "factor_id": factor.id,
        "factor_type": factor.kind.as_str(),
        "valid": is_valid,
    });
    let call = Call::new(context, hook, "mfa-verification", input);
    let answer = call.alone().await?;
    Ok(decision(
        &answer,
        "Further MFA verification attempts will be rejected.",
    ))
}

/// Anything but `reject` lets the attempt go on.
fn decision(answer: &Object, default_message: &str) -> Decision {
    let text = |key: &str| answer.get(key).and_then(Value::as_str);
    if text("decision") != Some("reject") {
        return Decision::Continue;
    }
    let message = text("message").filter(|message| !message.is_empty());
    Decision::Reject {
        message: message.unwrap_or(default_message).to_owned(),
        signs_out: answer.get("should_logout_user") == Some(&Value::Bool(true)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decide(answer: Value) -> Decision {
        let Value::Object(answer) = answer else {
            panic!("an object");
        };
        decision(&answer, "no more")
    }

    #[test]
    fn only_a_rejection_rejects() {
        assert_eq!(decide(json!({})), Decision::Continue);
        assert_eq!(
            decide(json!({ "decision": "continue" })),
            Decision::Continue
        );
        assert_eq!(decide(json!({ "decision": 1 })), Decision::Continue);
        assert_eq!(
            decide(json!({ "decision": "reject", "message": "" })),
            Decision::Reject {
                message: "no more".to_owned(),
                signs_out: false
            }
        );
        let answer = json!({ "decision": "reject", "message": "go", "should_logout_user": true });
        assert_eq!(
            decide(answer),
            Decision::Reject {
                message: "go".to_owned(),
                signs_out: true
            }
        );
    }
}
