//! The audit log (auth contract §11), written in the transaction of the action itself.

use plinth_db::Queries;
use serde_json::Value;
use uuid::Uuid;

use crate::{
    AuthError,
    model::{Object, User, audit_log},
    request::RequestContext,
};

/// What was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    Login,
    Logout,
    InviteAccepted,
    UserSignedUp,
    UserInvited,
    UserDeleted,
    TokenRevoked,
    TokenRefreshed,
    UserModified,
    UserRecoveryRequested,
    UserReauthenticateRequested,
    UserConfirmationRequested,
    UserRepeatedSignUp,
    UserUpdatedPassword,
    UserImpersonated,
    IdentityLinked,
    IdentityUnlinked,
    PasskeyCreated,
    PasskeyUpdated,
    PasskeyDeleted,
    FactorInProgress,
    FactorUnenrolled,
    ChallengeCreated,
    VerificationAttempted,
    FactorDeleted,
    FactorUpdated,
}

impl Action {
    /// Its name and `log_type`.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Login => ("login", "account"),
            Self::Logout => ("logout", "account"),
            Self::InviteAccepted => ("invite_accepted", "account"),
            Self::UserSignedUp => ("user_signedup", "team"),
            Self::UserInvited => ("user_invited", "team"),
            Self::UserDeleted => ("user_deleted", "team"),
            Self::TokenRevoked => ("token_revoked", "token"),
            Self::TokenRefreshed => ("token_refreshed", "token"),
            Self::UserModified => ("user_modified", "user"),
            Self::UserRecoveryRequested => ("user_recovery_requested", "user"),
            Self::UserReauthenticateRequested => ("user_reauthenticate_requested", "user"),
            Self::UserConfirmationRequested => ("user_confirmation_requested", "user"),
            Self::UserRepeatedSignUp => ("user_repeated_signup", "user"),
            Self::UserUpdatedPassword => ("user_updated_password", "user"),
            Self::UserImpersonated => ("user_impersonated", "user"),
            Self::IdentityLinked => ("identity_linked", "user"),
            Self::IdentityUnlinked => ("identity_unlinked", "user"),
            Self::PasskeyCreated => ("passkey_created", "user"),
            Self::PasskeyUpdated => ("passkey_updated", "user"),
            Self::PasskeyDeleted => ("passkey_deleted", "user"),
            Self::FactorInProgress => ("factor_in_progress", "factor"),
            Self::FactorUnenrolled => ("factor_unenrolled", "factor"),
            Self::ChallengeCreated => ("challenge_created", "factor"),
            Self::VerificationAttempted => ("verification_attempted", "factor"),
            Self::FactorDeleted => ("factor_deleted", "factor"),
            Self::FactorUpdated => ("factor_updated", "factor"),
        }
    }
}

/// Who did it.
pub(crate) trait Actor {
    /// `actor_id`, `actor_username` and, if known, `actor_name` and whether they came by SSO.
    fn describe(&self) -> Object;
}

impl Actor for User {
    fn describe(&self) -> Object {
        let username = if self.phone.is_empty() {
            &self.email
        } else {
            &self.phone
        };
        let mut actor = Object::new();
        actor.insert("actor_id".to_owned(), self.id.to_string().into());
        actor.insert("actor_via_sso".to_owned(), self.is_sso_user.into());
        actor.insert("actor_username".to_owned(), username.as_str().into());
        if let Some(Value::String(name)) = self.user_metadata.get("full_name") {
            actor.insert("actor_name".to_owned(), name.as_str().into());
        }
        actor
    }
}

/// An operator of the instance, by name. Operators are no users of the project.
pub(crate) struct ByOperator<'a>(pub(crate) &'a str);

impl Actor for ByOperator<'_> {
    fn describe(&self) -> Object {
        let mut actor = Object::new();
        actor.insert("actor_id".to_owned(), Uuid::nil().to_string().into());
        actor.insert("actor_via_sso".to_owned(), false.into());
        let name = format!("operator: {}", self.0);
        actor.insert("actor_username".to_owned(), name.into());
        actor
    }
}

/// Writes an entry; `traits` (an object, or null for none) are its details.
pub(crate) async fn write(
    context: &RequestContext,
    db: &mut impl Queries,
    actor: &impl Actor,
    action: Action,
    traits: Value,
) -> Result<(), AuthError> {
    if !context.config.is_audit_enabled {
        return Ok(());
    }
    let ip = context.client.ip.to_string();
    let payload = payload(actor, action, traits);
    Ok(audit_log::insert(db, &payload, &ip, context.now).await?)
}

/// Payloads of several entries, for statements that write them together with something else; none
/// where the audit log is disabled.
pub(crate) fn payloads(
    context: &RequestContext,
    actor: &impl Actor,
    actions: &[Action],
) -> Vec<Value> {
    let enabled = actions.iter().filter(|_| context.config.is_audit_enabled);
    enabled
        .map(|action| payload(actor, *action, Value::Null))
        .collect()
}

fn payload(actor: &impl Actor, action: Action, traits: Value) -> Value {
    let (name, kind) = action.names();
    let mut payload = actor.describe();
    payload.insert("action".to_owned(), name.into());
    payload.insert("log_type".to_owned(), kind.into());
    if !traits.is_null() {
        payload.insert("traits".to_owned(), traits);
    }
    Value::Object(payload)
}
