//! HTTP hooks, signed according to Standard Webhooks.

use std::time::Duration;

use ::http::{StatusCode, header};
use aws_lc_rs::hmac;
use data_encoding::BASE64;
use plinth_token::Secret;
use serde_json::Value;
use tokio::time::{Instant, sleep_until, timeout_at};
use url::Url;
use uuid::Uuid;

use crate::{
    AuthError,
    outgoing::{self, ReadError},
    request::RequestContext,
};

/// For all attempts together.
const TOTAL_TIMEOUT: Duration = Duration::from_secs(5);
const MAX_ATTEMPTS: usize = 3;
const RETRY_DELAY: Duration = Duration::from_secs(2);
const MAX_RESPONSE_BYTES: usize = 200 * 1024;

/// Why an attempt failed.
enum AttemptError {
    /// Another attempt may succeed.
    Retryable(AuthError),
    Fatal(AuthError),
}

/// Posts the payload; `None` when the hook returns no content.
pub(super) async fn post(
    context: &RequestContext,
    url: &Url,
    secrets: &[Secret],
    payload: &Value,
) -> Result<Option<Value>, AuthError> {
    let body = payload.to_string();
    let deadline = Instant::now() + TOTAL_TIMEOUT;
    let mut attempts = 1;
    loop {
        let attempt = attempt(context, url, secrets, &body);
        let failed = match timeout_at(deadline, attempt).await {
            Ok(Ok(response)) => return Ok(response),
            Ok(Err(failed)) => failed,
            Err(_) => return Err(AuthError::hook_timeout(TOTAL_TIMEOUT.as_secs())),
        };
        match failed {
            AttemptError::Fatal(error) => return Err(error),
            AttemptError::Retryable(error) if attempts == MAX_ATTEMPTS => return Err(error),
            AttemptError::Retryable(_) => {}
        }
        attempts += 1;
        let next = Instant::now() + RETRY_DELAY;
        if next >= deadline {
            return Err(AuthError::hook_timeout(TOTAL_TIMEOUT.as_secs()));
        }
        sleep_until(next).await;
    }
}

/// Every attempt has its own id, timestamp and signatures.
async fn attempt(
    context: &RequestContext,
    url: &Url,
    secrets: &[Secret],
    body: &str,
) -> Result<Option<Value>, AttemptError> {
    let id = Uuid::new_v4().to_string();
    let timestamp = context.service.clock().now().unix_timestamp();
    let request = context
        .service
        .http()
        .post(url.clone())
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::ACCEPT_ENCODING, "identity")
        .header("webhook-id", &id)
        .header("webhook-timestamp", timestamp)
        .header(
            "webhook-signature",
            signatures(secrets, &id, timestamp, body),
        )
        .body(body.to_owned());
    let response = request.send().await.map_err(|error| {
        tracing::warn!("hook request failed: {}", outgoing::describe(&error));
        AttemptError::Retryable(AuthError::hook_unreachable())
    })?;
    match response.status() {
        StatusCode::NO_CONTENT => Ok(None),
        StatusCode::OK | StatusCode::ACCEPTED => {
            let response = read(response).await;
            response.map(Some).map_err(AttemptError::Fatal)
        }
        status => Err(status_error(status, &response)),
    }
}

fn status_error(status: StatusCode, response: &reqwest::Response) -> AttemptError {
    match status {
        StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
            let error = AuthError::hook_unavailable();
            if response.headers().contains_key(header::RETRY_AFTER) {
                AttemptError::Retryable(error)
            } else {
                AttemptError::Fatal(error)
            }
        }
        StatusCode::BAD_REQUEST => AttemptError::Fatal(AuthError::hook_rejected_payload()),
        StatusCode::UNAUTHORIZED => AttemptError::Fatal(AuthError::hook_unauthorized()),
        status => AttemptError::Fatal(AuthError::hook_status_unexpected(status)),
    }
}

async fn read(response: reqwest::Response) -> Result<Value, AuthError> {
    check_content_type(&response)?;
    let bytes = outgoing::read_body(response, MAX_RESPONSE_BYTES)
        .await
        .map_err(|error| match error {
            ReadError::TooLong(max) => AuthError::hook_response_too_large(max),
            ReadError::Broken(cause) => AuthError::reading_hook_response_failed(cause),
        })?;
    serde_json::from_slice(&bytes).map_err(AuthError::hook_response_malformed)
}

fn check_content_type(response: &reqwest::Response) -> Result<(), AuthError> {
    let Some(given) = response.headers().get(header::CONTENT_TYPE) else {
        return Err(AuthError::hook_content_type_missing());
    };
    let given = String::from_utf8_lossy(given.as_bytes());
    let media_type = given.split(';').next().unwrap_or_default().trim();
    if media_type.eq_ignore_ascii_case("application/json") {
        Ok(())
    } else {
        Err(AuthError::hook_content_type_invalid(&given))
    }
}

/// One signature per secret, over id, timestamp and body.
fn signatures(secrets: &[Secret], id: &str, timestamp: i64, body: &str) -> String {
    let signed = format!("{id}.{timestamp}.{body}");
    let signatures: Vec<String> = secrets
        .iter()
        .filter_map(|secret| {
            // The settings reject secrets that are not base64.
            let key = BASE64.decode(secret.expose().as_bytes()).ok()?;
            let key = hmac::Key::new(hmac::HMAC_SHA256, &key);
            let tag = hmac::sign(&key, signed.as_bytes());
            Some(format!("v1,{}", BASE64.encode(tag.as_ref())))
        })
        .collect();
    signatures.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_signature_is_that_of_standard_webhooks() {
        // The test vector of the specification's own libraries.
        let secret = Secret::new("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
        let id = "msg_p5jXN8AQM9LWM0D4loKWxJek";
        let body = r#"{"test": 2432232314}"#;

        let header = signatures(std::slice::from_ref(&secret), id, 1_614_265_330, body);

        assert_eq!(header, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn every_secret_signs() {
        let secrets = [Secret::new("AAAA"), Secret::new("BBBB")];

        let header = signatures(&secrets, "id", 1, "{}");

        let parts: Vec<_> = header.split(", ").collect();
        assert_eq!(parts.len(), 2);
        assert_ne!(parts[0], parts[1]);
        assert!(parts.iter().all(|part| part.starts_with("v1,")));
    }
}
