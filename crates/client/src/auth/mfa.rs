//! Second factors (client contract S68–S74).

use serde_json::{Value, json};

use super::api::code_response_body;
use super::body::Body;
use super::engine::AuthEvent;
use super::sign_in::Channel;
use super::{Auth, AuthError, Challenge, Claims, Decoded, EnrolledFactor};
use crate::call_options::{CallOptions, with_handle_options};
use crate::session::Session;
use crate::user::{Factor, User};

/// The second-factor module; see [`Auth::mfa`].
#[derive(Clone, Debug)]
pub struct Mfa {
    auth: Auth,
}

/// A user's factors by type.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Factors {
    /// Every factor, including unverified ones and unknown types.
    pub all: Vec<Factor>,
    /// Verified authenticator apps.
    pub totp: Vec<Factor>,
    /// Verified phones.
    pub phone: Vec<Factor>,
    /// Verified security keys.
    pub webauthn: Vec<Factor>,
    /// Verified sets of recovery codes.
    pub recovery_code: Vec<Factor>,
}

/// The authenticator assurance level.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct AssuranceLevel {
    /// `aal1` or `aal2`: the level of the current token.
    pub current: Option<String>,
    /// `aal2` if the user has a verified factor; verify it if `current` is less (S73).
    pub next: Option<String>,
    /// The authentication methods used: the token's `amr` claim.
    pub methods: Vec<Value>,
}

impl AssuranceLevel {
    /// Whether a second factor should be verified now.
    pub fn needs_second_factor(&self) -> bool {
        self.next.as_deref() == Some("aal2") && self.current.as_deref() != Some("aal2")
    }
}

impl Auth {
    /// Second factors.
    pub fn mfa(&self) -> Mfa {
        Mfa { auth: self.clone() }
    }
}

with_handle_options!(Mfa);

impl Mfa {
    fn with_options(&self, options: &CallOptions) -> Self {
        Self {
            auth: self.auth.with_options(options),
        }
    }

    /// Adds an authenticator app. Show its QR code, then call [`Mfa::challenge_and_verify`] once with the app's
    /// code.
    pub async fn enroll_totp(&self, friendly_name: &str) -> Result<EnrolledFactor, AuthError> {
        self.enroll(json!({ "factor_type": "totp", "friendly_name": friendly_name }))
            .await
    }

    /// The same with a custom issuer.
    pub async fn enroll_totp_for(
        &self,
        friendly_name: &str,
        issuer: &str,
    ) -> Result<EnrolledFactor, AuthError> {
        let body =
            json!({ "factor_type": "totp", "friendly_name": friendly_name, "issuer": issuer });
        self.enroll(body).await
    }

    /// Adds a phone. Then [`Mfa::challenge_by`] sends a code to it.
    pub async fn enroll_phone(
        &self,
        friendly_name: &str,
        phone: &str,
    ) -> Result<EnrolledFactor, AuthError> {
        let body =
            json!({ "factor_type": "phone", "friendly_name": friendly_name, "phone": phone });
        self.enroll(body).await
    }

    /// Adds a security key; [`Mfa::challenge_webauthn`] returns its options.
    pub async fn enroll_webauthn(&self, friendly_name: &str) -> Result<EnrolledFactor, AuthError> {
        self.enroll(json!({ "factor_type": "webauthn", "friendly_name": friendly_name }))
            .await
    }

    async fn enroll(&self, body: Value) -> Result<EnrolledFactor, AuthError> {
        let session = self.auth.signed_in().await?;
        self.auth.api().enroll(session.access_token(), body).await
    }

    /// Creates a challenge for an authenticator app.
    pub async fn challenge(&self, factor_id: &str) -> Result<Challenge, AuthError> {
        self.challenge_with(factor_id, json!({})).await
    }

    /// Creates a challenge for a phone and sends the code.
    pub async fn challenge_by(
        &self,
        factor_id: &str,
        channel: Channel,
    ) -> Result<Challenge, AuthError> {
        self.challenge_with(factor_id, json!({ "channel": channel.name() }))
            .await
    }

    /// Creates a challenge for a security key; the options are in [`Challenge::webauthn`].
    pub async fn challenge_webauthn(
        &self,
        factor_id: &str,
        rp_id: &str,
        rp_origins: &[&str],
    ) -> Result<Challenge, AuthError> {
        let body = json!({ "rpId": rp_id, "rpOrigins": rp_origins });
        self.challenge_with(factor_id, body).await
    }

    async fn challenge_with(&self, factor_id: &str, body: Value) -> Result<Challenge, AuthError> {
        let session = self.auth.signed_in().await?;
        self.auth
            .api()
            .challenge(session.access_token(), factor_id, body)
            .await
    }

    /// Verifies a code. The returned session, at `aal2`, replaces the stored one.
    pub async fn verify(
        &self,
        factor_id: &str,
        challenge_id: &str,
        code: &str,
    ) -> Result<Session, AuthError> {
        self.verify_with(factor_id, code_response_body(challenge_id, code))
            .await
    }

    /// Verifies a security key's response: `kind` is `create` the first time and `request` afterwards.
    pub async fn verify_webauthn(
        &self,
        factor_id: &str,
        challenge_id: &str,
        kind: &str,
        credential: Value,
        rp_id: &str,
        rp_origins: &[&str],
    ) -> Result<Session, AuthError> {
        let webauthn = Body::default()
            .with("type", kind)
            .with("credential_response", credential)
            .with("rpId", rp_id)
            .with("rpOrigins", rp_origins);
        let body = json!({ "challenge_id": challenge_id, "webauthn": webauthn.finish() });
        self.verify_with(factor_id, body).await
    }

    /// Registers a security key in one call. `ceremony` gets the options for the key and returns its response. A new
    /// ceremony aborts the previous one, which fails with [`AuthError::CeremonyAborted`].
    pub async fn register_webauthn<F: Future<Output = Result<Value, AuthError>>>(
        &self,
        friendly_name: &str,
        rp_id: &str,
        rp_origins: &[&str],
        ceremony: impl FnOnce(Value) -> F,
    ) -> Result<Session, AuthError> {
        let factor = self.enroll_webauthn(friendly_name).await?;
        self.webauthn_ceremony(&factor.id, "create", rp_id, rp_origins, ceremony)
            .await
    }

    /// Challenges and verifies a security key in one call; see [`Mfa::register_webauthn`].
    pub async fn authenticate_webauthn<F: Future<Output = Result<Value, AuthError>>>(
        &self,
        factor_id: &str,
        rp_id: &str,
        rp_origins: &[&str],
        ceremony: impl FnOnce(Value) -> F,
    ) -> Result<Session, AuthError> {
        self.webauthn_ceremony(factor_id, "request", rp_id, rp_origins, ceremony)
            .await
    }

    async fn webauthn_ceremony<F: Future<Output = Result<Value, AuthError>>>(
        &self,
        factor_id: &str,
        kind: &str,
        rp_id: &str,
        rp_origins: &[&str],
        ceremony: impl FnOnce(Value) -> F,
    ) -> Result<Session, AuthError> {
        let challenge = self
            .challenge_webauthn(factor_id, rp_id, rp_origins)
            .await?;
        let options = challenge
            .webauthn
            .as_ref()
            .and_then(|asked| asked.get("credential_options"));
        let options = options.cloned().ok_or(AuthError::InvalidTokenResponse)?;
        let response = self.auth.engine.ceremony.run(ceremony(options)).await?;
        self.verify_webauthn(factor_id, &challenge.id, kind, response, rp_id, rp_origins)
            .await
    }

    async fn verify_with(&self, factor_id: &str, body: Value) -> Result<Session, AuthError> {
        let old = self.auth.signed_in().await?;
        let api = self.auth.api();
        let session = api
            .verify_factor(old.access_token(), factor_id, body)
            .await?;
        let event = AuthEvent::MfaChallengeVerified;
        self.auth.engine.begin_session(&session, event).await?;
        Ok(session)
    }

    /// Challenges and verifies an authenticator app's code.
    pub async fn challenge_and_verify(
        &self,
        factor_id: &str,
        code: &str,
    ) -> Result<Session, AuthError> {
        let challenge = self.challenge(factor_id).await?;
        self.verify(factor_id, &challenge.id, code).await
    }

    /// Removes a factor, and refreshes the session so that its token no longer includes it.
    pub async fn unenroll(&self, factor_id: &str) -> Result<(), AuthError> {
        let session = self.auth.signed_in().await?;
        self.auth
            .api()
            .unenroll(session.access_token(), factor_id)
            .await?;
        if let Err(error) = self.auth.engine.refresh(session.refresh_token()).await {
            tracing::warn!(
                error = error.for_logs(),
                "the factor was removed, but the session could not be refreshed"
            );
        }
        Ok(())
    }

    /// The signed-in user's factors, from the server.
    pub async fn factors(&self) -> Result<Factors, AuthError> {
        let user = self.auth.user().await?;
        Ok(factors_of(&user))
    }

    /// The assurance level according to the stored session; no request is made if the user is stored with it.
    pub async fn assurance_level(&self) -> Result<AssuranceLevel, AuthError> {
        let Some(session) = self.auth.session().await? else {
            return Ok(AssuranceLevel::default());
        };
        match session.user() {
            Some(user) => level_of(session.access_token(), &user),
            None => self.assurance_level_for(session.access_token()).await,
        }
    }

    /// The same for any token; the factors come from the server.
    pub async fn assurance_level_for(&self, token: &str) -> Result<AssuranceLevel, AuthError> {
        let user = self.auth.user_for(token).await?;
        level_of(token, &user)
    }
}

fn factors_of(user: &User) -> Factors {
    let verified = |factor_type: &str| {
        let factors = user.factors().iter();
        let of_type = |factor: &&Factor| factor.factor_type == factor_type && factor.is_verified();
        factors.filter(of_type).cloned().collect()
    };
    Factors {
        all: user.factors().to_vec(),
        totp: verified("totp"),
        phone: verified("phone"),
        webauthn: verified("webauthn"),
        recovery_code: verified("recovery_code"),
    }
}

fn level_of(token: &str, user: &User) -> Result<AssuranceLevel, AuthError> {
    let decoded = Decoded::parse(token)?;
    let claims: &Claims = decoded.unverified();
    let current = claims.aal().map(str::to_owned);
    let next = if user.factors().iter().any(Factor::is_verified) {
        Some("aal2".to_owned())
    } else {
        current.clone()
    };
    let methods = claims.get("amr").and_then(Value::as_array);
    Ok(AssuranceLevel {
        current,
        next,
        methods: methods.cloned().unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::claims::unsigned;

    fn user(factors: &str) -> User {
        User::from_json(&format!(r#"{{"id":"u","factors":{factors}}}"#)).unwrap()
    }

    #[test]
    fn s71_only_verified_factors_stand_under_their_type() {
        let user = user(
            r#"[{"id":"1","factor_type":"totp","status":"verified"},
                {"id":"2","factor_type":"totp","status":"unverified"},
                {"id":"3","factor_type":"from_the_future","status":"verified"},
                {"id":"4","factor_type":"phone","status":"verified"}]"#,
        );

        let factors = factors_of(&user);

        let ids = |factors: &[Factor]| {
            factors
                .iter()
                .map(|factor| factor.id.clone())
                .collect::<Vec<_>>()
                .join(",")
        };
        assert_eq!(ids(&factors.all), "1,2,3,4");
        assert_eq!(
            (ids(&factors.totp), ids(&factors.phone)),
            ("1".into(), "4".into())
        );
        assert!(factors.webauthn.is_empty());
    }

    #[test]
    fn s72_the_next_level_follows_from_verified_factors() {
        let claims = json!({ "aal": "aal1", "amr": [{ "method": "password", "timestamp": 1 }] });
        let token = unsigned(&json!({ "alg": "HS256" }), &claims);
        let level = |factors| level_of(&token, &user(factors)).unwrap();

        let with = level(r#"[{"id":"1","factor_type":"totp","status":"verified"}]"#);
        assert!(with.needs_second_factor());
        assert_eq!(with.methods.len(), 1);
        let without = level(r#"[{"id":"1","factor_type":"totp","status":"unverified"}]"#);
        assert_eq!(without.next.as_deref(), Some("aal1"));
        assert!(!without.needs_second_factor());
    }
}
