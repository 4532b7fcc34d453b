//! Calls about second factors (client contract S68–S70).

use serde::Deserialize;
use serde_json::{Value, json};

use super::call::segment;
use super::{AuthApi, Call};
use crate::auth::AuthError;
use crate::session::{ExpiryPlace, Session};

/// A new, unverified factor.
#[derive(Clone, Debug, Deserialize)]
#[non_exhaustive]
pub struct EnrolledFactor {
    /// What [`AuthApi::challenge`] takes.
    pub id: String,
    /// `totp`, `phone` or `webauthn`.
    #[serde(rename = "type")]
    pub factor_type: String,
    /// What the user calls it.
    #[serde(default)]
    pub friendly_name: Option<String>,
    /// What an authenticator app needs.
    #[serde(default)]
    pub totp: Option<EnrolledTotp>,
    /// The number of a phone factor.
    #[serde(default)]
    pub phone: Option<String>,
}

/// What an authenticator app needs.
#[derive(Clone, Deserialize)]
#[non_exhaustive]
pub struct EnrolledTotp {
    /// The QR code: a `data:` URL of an SVG.
    pub qr_code: String,
    /// The secret as text.
    pub secret: String,
    /// The `otpauth:` URL. A secret.
    pub uri: String,
}

impl std::fmt::Debug for EnrolledTotp {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("EnrolledTotp")
            .finish_non_exhaustive()
    }
}

/// A challenge for a factor.
#[derive(Clone, Debug, Deserialize)]
#[non_exhaustive]
pub struct Challenge {
    /// What [`AuthApi::verify_factor`] takes.
    pub id: String,
    /// The factor's type.
    #[serde(rename = "type", default)]
    pub factor_type: String,
    /// When it expires, in seconds since 1970.
    #[serde(default)]
    pub expires_at: i64,
    /// `{type, credential_options}` of a security key.
    #[serde(default)]
    pub webauthn: Option<Value>,
}

impl AuthApi {
    /// `POST /factors`.
    pub async fn enroll(&self, token: &str, body: Value) -> Result<EnrolledFactor, AuthError> {
        let call = Call::post("/factors", body).token(token);
        let mut factor: EnrolledFactor = self.json(call).await?;
        if let Some(totp) = &mut factor.totp
            && !totp.qr_code.starts_with("data:")
        {
            totp.qr_code = format!("data:image/svg+xml;utf-8,{}", totp.qr_code);
        }
        Ok(factor)
    }

    /// `POST /factors/{id}/challenge`.
    pub async fn challenge(
        &self,
        token: &str,
        factor_id: &str,
        body: Value,
    ) -> Result<Challenge, AuthError> {
        let path = format!("/factors/{}/challenge", segment(factor_id));
        self.json(Call::post(path, body).token(token)).await
    }

    /// `POST /factors/{id}/verify`: a session at `aal2`.
    pub async fn verify_factor(
        &self,
        token: &str,
        factor_id: &str,
        body: Value,
    ) -> Result<Session, AuthError> {
        let path = format!("/factors/{}/verify", segment(factor_id));
        let call = Call::post(path, body).token(token);
        let tokens = self.tokens_with(call, ExpiryPlace::First).await?;
        tokens.session.ok_or(AuthError::InvalidTokenResponse)
    }

    /// `DELETE /factors/{id}`.
    pub async fn unenroll(&self, token: &str, factor_id: &str) -> Result<(), AuthError> {
        let path = format!("/factors/{}", segment(factor_id));
        self.done(Call::delete(path).token(token)).await
    }
}

/// Body of a verification by code.
pub(crate) fn code_response_body(challenge_id: &str, code: &str) -> Value {
    json!({ "challenge_id": challenge_id, "code": code })
}
