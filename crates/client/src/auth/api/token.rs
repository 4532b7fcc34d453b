//! Sign-in calls.

use serde_json::{Value, json};

use super::{AuthApi, Call, TokenResponse};
use crate::auth::AuthError;
use crate::auth::jwks::{FETCH_TIMEOUT, KeySet, MAX_KEY_SET_BYTES};

impl AuthApi {
    /// `POST /signup`.
    pub async fn sign_up(
        &self,
        body: Value,
        redirect_to: Option<&str>,
    ) -> Result<TokenResponse, AuthError> {
        self.tokens(Call::post("/signup", body).redirect_to(redirect_to))
            .await
    }

    /// `POST /token?grant_type=…` for `password`, `id_token` and `web3`.
    pub async fn token(&self, grant_type: &str, body: Value) -> Result<TokenResponse, AuthError> {
        let call = Call::post("/token", body).query("grant_type", grant_type);
        self.session(call).await
    }

    /// `POST /token?grant_type=pkce`: exchanges the code from the redirect and the PKCE verifier.
    pub async fn exchange_code(
        &self,
        auth_code: &str,
        code_verifier: &str,
    ) -> Result<TokenResponse, AuthError> {
        let body = json!({ "auth_code": auth_code, "code_verifier": code_verifier });
        self.token("pkce", body).await
    }

    /// `POST /otp`: sends a link and a code.
    pub async fn otp(&self, body: Value, redirect_to: Option<&str>) -> Result<Value, AuthError> {
        self.json(Call::post("/otp", body).redirect_to(redirect_to))
            .await
    }

    /// `POST /verify`. Neither session nor user after the first half of an e-mail change (S63).
    pub async fn verify_otp(
        &self,
        body: Value,
        redirect_to: Option<&str>,
    ) -> Result<TokenResponse, AuthError> {
        self.tokens(Call::post("/verify", body).redirect_to(redirect_to))
            .await
    }

    /// `POST /recover`: sends a link to choose a new password.
    pub async fn recover(&self, body: Value, redirect_to: Option<&str>) -> Result<(), AuthError> {
        self.done(Call::post("/recover", body).redirect_to(redirect_to))
            .await
    }

    /// `POST /resend`: resends a message.
    pub async fn resend(&self, body: Value, redirect_to: Option<&str>) -> Result<Value, AuthError> {
        self.json(Call::post("/resend", body).redirect_to(redirect_to))
            .await
    }

    /// `POST /sso`: the URL of the organisation's sign-in page.
    pub async fn sso(&self, body: Value) -> Result<String, AuthError> {
        self.url_of(Call::post("/sso", body)).await
    }

    /// `GET /settings`: the enabled sign-in methods.
    pub async fn settings(&self) -> Result<Value, AuthError> {
        self.json(Call::get("/settings")).await
    }

    /// `GET /.well-known/jwks.json`, within the limits of A16.
    pub async fn jwks(&self) -> Result<KeySet, AuthError> {
        let call = Call::get("/.well-known/jwks.json")
            .timeout(Some(FETCH_TIMEOUT))
            .at_most(MAX_KEY_SET_BYTES);
        let response = self.response(call).await?;
        KeySet::from_json(&response.text())
    }

    /// Sends a call that returns a URL.
    pub(super) async fn url_of(&self, call: Call<'_>) -> Result<String, AuthError> {
        let response: Value = self.json(call).await?;
        let url = response.get("url").and_then(Value::as_str);
        url.map(str::to_owned)
            .ok_or(AuthError::InvalidTokenResponse)
    }
}
