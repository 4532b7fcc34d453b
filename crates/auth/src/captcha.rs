//! Captchas (auth contract §8.2).

use serde::Deserialize;

use crate::{
    AuthError,
    config::CaptchaConfig,
    error::Code,
    request::{Context, MetaSecurity},
};

/// More than any checker says.
const MAX_ANSWER_BYTES: usize = 64 * 1024;

/// Refuses a request that a program may have made. Those who administrate are let through.
pub(crate) async fn check(context: &Context, given: &MetaSecurity) -> Result<(), AuthError> {
    let Some(config) = &context.config.captcha else {
        return Ok(());
    };
    if context.is_admin {
        return Ok(());
    }
    let token = given.captcha_token.as_deref().unwrap_or_default().trim();
    if token.is_empty() {
        return Err(disallowed("no captcha_token found"));
    }
    let verdict = ask(context, config, token)
        .await
        .map_err(|cause| AuthError::internal("captcha verification process failed", cause))?;
    match verdict.success {
        true => Ok(()),
        false => Err(disallowed(&verdict.error_codes.join(", "))),
    }
}

fn disallowed(reason: &str) -> AuthError {
    AuthError::new(
        400,
        Code::CaptchaFailed,
        format!("captcha protection: request disallowed ({reason})"),
    )
}

/// What both providers answer.
#[derive(Debug, Deserialize)]
struct Verdict {
    #[serde(default)]
    success: bool,
    #[serde(default, rename = "error-codes")]
    error_codes: Vec<String>,
}

async fn ask(context: &Context, config: &CaptchaConfig, token: &str) -> Result<Verdict, String> {
    let form = [
        ("secret", config.secret.expose().trim()),
        ("response", token),
        ("remoteip", &context.client.ip.to_string()),
    ];
    let request = context.service.http().post(&config.url).form(&form);
    let response = request.timeout(config.timeout).send().await;
    let response = response.map_err(|error| crate::outgoing::describe(&error))?;
    let bytes = crate::outgoing::read(response, MAX_ANSWER_BYTES)
        .await
        .map_err(|error| error.to_string())?;
    serde_json::from_slice(&bytes).map_err(|error| format!("the answer is no verdict: {error}"))
}
