//! Hooks that an operator tries out: a sample payload, and a call whose writes are rolled back.

use serde_json::{Value, json};

use super::{call::Call, claims};
use crate::{
    AuthError,
    config::{Hook, HooksConfig},
    model::Object,
    request::RequestContext,
};

/// A hook by its name in settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TrialHook {
    CustomAccessToken,
    SendEmail,
    SendSms,
    MfaVerificationAttempt,
    PasswordVerificationAttempt,
    BeforeUserCreated,
    AfterUserCreated,
}

/// What a call gave.
pub(crate) struct Trial {
    pub(crate) payload: Value,
    pub(crate) response: Result<Object, AuthError>,
}

impl TrialHook {
    pub(crate) const ALL: [Self; 7] = [
        Self::CustomAccessToken,
        Self::SendEmail,
        Self::SendSms,
        Self::MfaVerificationAttempt,
        Self::PasswordVerificationAttempt,
        Self::BeforeUserCreated,
        Self::AfterUserCreated,
    ];

    /// Its name in settings.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::CustomAccessToken => "custom_access_token",
            Self::SendEmail => "send_email",
            Self::SendSms => "send_sms",
            Self::MfaVerificationAttempt => "mfa_verification_attempt",
            Self::PasswordVerificationAttempt => "password_verification_attempt",
            Self::BeforeUserCreated => "before_user_created",
            Self::AfterUserCreated => "after_user_created",
        }
    }

    /// Its name in payloads.
    fn payload_name(self) -> &'static str {
        match self {
            Self::CustomAccessToken => "customize-access-token",
            Self::SendEmail => "send-email",
            Self::SendSms => "send-sms",
            Self::MfaVerificationAttempt => "mfa-verification",
            Self::PasswordVerificationAttempt => "password-verification",
            Self::BeforeUserCreated => "before-user-created",
            Self::AfterUserCreated => "after-user-created",
        }
    }

    /// The saved hook.
    pub(crate) fn saved(self, hooks: &HooksConfig) -> Option<&Hook> {
        match self {
            Self::CustomAccessToken => &hooks.custom_access_token,
            Self::SendEmail => &hooks.send_email,
            Self::SendSms => &hooks.send_sms,
            Self::MfaVerificationAttempt => &hooks.mfa_verification_attempt,
            Self::PasswordVerificationAttempt => &hooks.password_verification_attempt,
            Self::BeforeUserCreated => &hooks.before_user_created,
            Self::AfterUserCreated => &hooks.after_user_created,
        }
        .as_ref()
    }

    /// A payload about a user who does not exist. Nothing in it is a valid token.
    fn sample(self, context: &RequestContext) -> Value {
        let id = uuid::Uuid::nil();
        let user = json!({
            "id": id,
            "aud": context.config.jwt.audience,
            "role": context.config.jwt.default_role,
            "email": "ada@example.com",
            "phone": "491701234567",
            "app_metadata": { "provider": "email", "providers": ["email"] },
            "user_metadata": { "full_name": "Ada Example" },
            "identities": [],
            "is_anonymous": false,
        });
        match self {
            Self::CustomAccessToken => json!({
                "user_id": id,
                "claims": {
                    "sub": id,
                    "aud": context.config.jwt.audience,
                    "iss": context.issuer(),
                    "iat": context.now.unix_timestamp(),
                    "exp": context.now.unix_timestamp() + 60,
                    "role": context.config.jwt.default_role,
                    "email": "ada@example.com",
                    "phone": "",
                    "app_metadata": { "provider": "email", "providers": ["email"] },
                    "user_metadata": { "full_name": "Ada Example" },
                    "aal": "aal1",
                    "amr": [{
                        "method": "password",
                        "timestamp": context.now.unix_timestamp(),
                    }],
                    "session_id": id,
                    "is_anonymous": false,
                },
                "authentication_method": "password",
            }),
            Self::SendEmail => json!({
                "user": user,
                "email_data": {
                    "token": "123456",
                    "token_hash": "sample",
                    "redirect_to": context.config.site(),
                    "email_action_type": "signup",
                    "site_url": context.external_url,
                    "token_new": "",
                    "token_hash_new": "",
                },
            }),
            Self::SendSms => json!({ "user": user, "sms": { "otp": "123456" } }),
            Self::MfaVerificationAttempt => json!({
                "user_id": id, "factor_id": id, "factor_type": "totp", "valid": true,
            }),
            Self::PasswordVerificationAttempt => json!({ "user_id": id, "valid": true }),
            Self::BeforeUserCreated | Self::AfterUserCreated => json!({ "user": user }),
        }
    }
}

/// Calls `hook` as `kind`; what a database function writes is rolled back.
pub(crate) async fn try_out(
    context: &RequestContext,
    kind: TrialHook,
    hook: &Hook,
    payload: Option<Object>,
) -> Trial {
    let input = match payload {
        Some(payload) => Value::Object(payload),
        None => kind.sample(context),
    };
    let call = Call::new(context, hook, kind.payload_name(), input);
    let payload = call.payload().clone();
    let response = call.run_and_roll_back().await;
    let response = match (kind, response) {
        // What a token must have is checked as in a sign-in.
        (TrialHook::CustomAccessToken, Ok(response)) => {
            claims::from_response(response.clone()).map(|_| response)
        }
        (_, response) => response,
    };
    Trial { payload, response }
}
