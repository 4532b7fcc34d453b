//! Hooks: calls to the project's own code (auth contract §9).
//!
//! A hook is a database function or an HTTP endpoint; [`Call`] handles both. This module has the
//! payload of each hook and what its response means.

mod call;
mod claims;
mod http;
mod journal;
mod trial;

use plinth_db::Queries;
use serde::Serialize;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::{
    AuthError,
    config::{Hook, HookTarget},
    model::{Factor, Object, UserBody},
    request::RequestContext,
};
use call::Call;
pub(crate) use journal::Journal;
pub(crate) use trial::{TrialHook, try_out};

/// The claims of the access token, after the hook has changed them.
pub(crate) async fn custom_access_token(
    context: &RequestContext,
    db: &mut impl Queries,
    user: Uuid,
    claims: Object,
    method: &str,
) -> Result<Object, AuthError> {
    match &context.config.hooks.custom_access_token {
        None => Ok(claims),
        Some(hook) => {
            let call = token_call(context, hook, user, claims, method);
            claims::from_response(call.run_in_transaction(db).await?)
        }
    }
}

/// As [`custom_access_token`], outside of any transaction.
pub(crate) async fn custom_access_token_detached(
    context: &RequestContext,
    user: Uuid,
    claims: Object,
    method: &str,
) -> Result<Object, AuthError> {
    match &context.config.hooks.custom_access_token {
        None => Ok(claims),
        Some(hook) => {
            let call = token_call(context, hook, user, claims, method);
            claims::from_response(call.run_in_own_transaction().await?)
        }
    }
}

fn token_call<'a>(
    context: &'a RequestContext,
    hook: &'a Hook,
    user: Uuid,
    claims: Object,
    method: &str,
) -> Call<'a> {
    let input = json!({ "user_id": user, "claims": claims, "authentication_method": method });
    Call::new(context, hook, "customize-access-token", input)
}

/// Whether access tokens need an HTTP request to a hook, which can take seconds.
pub(crate) fn is_token_hook_remote(context: &RequestContext) -> bool {
    let hook = context.config.hooks.custom_access_token.as_ref();
    hook.is_some_and(|hook| matches!(hook.target, HookTarget::Http(_)))
}

/// Lets the hook send a mail. `payload` has `user` and `email_data`. Returns whether there is such
/// a hook; if so, the mail is not sent otherwise.
pub(crate) async fn send_email(
    context: &RequestContext,
    db: &mut impl Queries,
    payload: Object,
) -> Result<bool, AuthError> {
    let Some(hook) = &context.config.hooks.send_email else {
        return Ok(false);
    };
    let call = Call::new(context, hook, "send-email", Value::Object(payload));
    call.run_in_savepoint(db).await.map(|_| true)
}

/// Lets the hook send a text message. `payload` has `user` and `sms`. Returns whether there is such
/// a hook.
pub(crate) async fn send_sms(
    context: &RequestContext,
    db: &mut impl Queries,
    payload: Object,
) -> Result<bool, AuthError> {
    let Some(hook) = &context.config.hooks.send_sms else {
        return Ok(false);
    };
    let call = Call::new(context, hook, "send-sms", Value::Object(payload));
    call.run_in_savepoint(db).await.map(|_| true)
}

/// May reject a user who is about to be created. Called outside of any transaction.
pub(crate) async fn before_user_created(
    context: &RequestContext,
    user: &UserBody,
) -> Result<(), AuthError> {
    let Some(hook) = &context.config.hooks.before_user_created else {
        return Ok(());
    };
    let call = Call::new(context, hook, "before-user-created", user_payload(user));
    call.run_in_own_transaction().await.map(|_| ())
}

/// Called after a user was created, outside of any transaction.
pub(crate) async fn after_user_created(
    context: &RequestContext,
    user: &UserBody,
) -> Result<(), AuthError> {
    let Some(hook) = &context.config.hooks.after_user_created else {
        return Ok(());
    };
    let call = Call::new(context, hook, "after-user-created", user_payload(user));
    call.run_in_own_transaction().await.map(|_| ())
}

fn user_payload(user: &UserBody) -> Value {
    #[derive(Serialize)]
    struct About<'a> {
        user: &'a UserBody,
    }
    json!(About { user })
}

/// The hook's decision on an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Decision {
    Continue,
    Reject {
        message: String,
        /// From the password hook only.
        signs_out: bool,
    },
}

/// Reports a right or wrong password. Called outside of any transaction.
pub(crate) async fn password_verification_attempt(
    context: &RequestContext,
    user: Uuid,
    is_valid: bool,
) -> Result<Decision, AuthError> {
    let Some(hook) = &context.config.hooks.password_verification_attempt else {
        return Ok(Decision::Continue);
    };
    let input = json!({ "user_id": user, "valid": is_valid });
    let call = Call::new(context, hook, "password-verification", input);
    let response = call.run_in_own_transaction().await?;
    Ok(decision(
        &response,
        "Further password verification attempts will be rejected.",
    ))
}

/// Reports a right or wrong code of a factor. Called outside of any transaction.
pub(crate) async fn mfa_verification_attempt(
    context: &RequestContext,
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
    let response = call.run_in_own_transaction().await?;
    Ok(decision(
        &response,
        "Further MFA verification attempts will be rejected.",
    ))
}

/// Anything but `reject` means continue.
fn decision(response: &Object, default_message: &str) -> Decision {
    let text = |key: &str| response.get(key).and_then(Value::as_str);
    if text("decision") != Some("reject") {
        return Decision::Continue;
    }
    let message = text("message").filter(|message| !message.is_empty());
    Decision::Reject {
        message: message.unwrap_or(default_message).to_owned(),
        signs_out: response.get("should_logout_user") == Some(&Value::Bool(true)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decide(response: Value) -> Decision {
        let Value::Object(response) = response else {
            panic!("an object");
        };
        decision(&response, "no more")
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
        let response = json!({ "decision": "reject", "message": "go", "should_logout_user": true });
        assert_eq!(
            decide(response),
            Decision::Reject {
                message: "go".to_owned(),
                signs_out: true
            }
        );
    }
}
