//! Captchas (auth contract §8.2).

use serde::Deserialize;

use crate::{
    AuthError,
    config::CaptchaConfig,
    request::{MetaSecurity, RequestContext},
};

/// Far above the size of any response.
const MAX_RESPONSE_BYTES: usize = 64 * 1024;

/// Rejects requests without a valid captcha token. Requests with an admin token are exempt.
pub(crate) async fn check(context: &RequestContext, given: &MetaSecurity) -> Result<(), AuthError> {
    let Some(config) = &context.config.captcha else {
        return Ok(());
    };
    if context.is_admin {
        return Ok(());
    }
    let token = given.captcha_token.as_deref().unwrap_or_default().trim();
    if token.is_empty() {
        return Err(AuthError::captcha_failed("no captcha_token found"));
    }
    let verdict = verify_token(context, config, token)
        .await
        .map_err(AuthError::captcha_unavailable)?;
    if verdict.success {
        Ok(())
    } else {
        Err(AuthError::captcha_failed(&verdict.error_codes.join(", ")))
    }
}

/// The response of both providers.
#[derive(Debug, Deserialize)]
struct Verdict {
    #[serde(default)]
    success: bool,
    #[serde(default, rename = "error-codes")]
    error_codes: Vec<String>,
}

async fn verify_token(
    context: &RequestContext,
    config: &CaptchaConfig,
    token: &str,
) -> Result<Verdict, String> {
    let form = [
        ("secret", config.secret.expose().trim()),
        ("response", token),
        ("remoteip", &context.client.ip.to_string()),
    ];
    let request = context.service.http().post(&config.url).form(&form);
    let response = request.timeout(config.timeout).send().await;
    let response = response.map_err(|error| crate::outgoing::describe(&error))?;
    let bytes = crate::outgoing::read_body(response, MAX_RESPONSE_BYTES)
        .await
        .map_err(|error| error.to_string())?;
    serde_json::from_slice(&bytes).map_err(|error| format!("unexpected response: {error}"))
}
