//! Hooks behind an HTTP address, signed as Standard Webhooks has it.

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
    error::Code,
    outgoing::{self, Unreadable},
    request::Context,
};

/// For all tries together.
const AT_MOST: Duration = Duration::from_secs(5);
const TRIES: usize = 3;
const BETWEEN_TRIES: Duration = Duration::from_secs(2);
const MAX_ANSWER_BYTES: usize = 200 * 1024;

/// Why a try led to nothing.
enum Failed {
    /// Another one may succeed.
    Again(AuthError),
    ForGood(AuthError),
}

/// Tells the hook; `None` when it has nothing to say.
pub(super) async fn post(
    context: &Context,
    url: &Url,
    secrets: &[Secret],
    payload: &Value,
) -> Result<Option<Value>, AuthError> {
    let body = payload.to_string();
    let deadline = Instant::now() + AT_MOST;
    let mut tries = 1;
    loop {
        let attempt = attempt(context, url, secrets, &body);
        let failed = match timeout_at(deadline, attempt).await {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(failed)) => failed,
            Err(_) => return Err(too_slow()),
        };
        match failed {
            Failed::ForGood(error) => return Err(error),
            Failed::Again(error) if tries == TRIES => return Err(error),
            Failed::Again(_) => {}
        }
        tries += 1;
        let next = Instant::now() + BETWEEN_TRIES;
        if next >= deadline {
            return Err(too_slow());
        }
        sleep_until(next).await;
    }
}

fn too_slow() -> AuthError {
    let message = format!(
        "Failed to reach hook within maximum time of {} seconds",
        AT_MOST.as_secs()
    );
    AuthError::new(422, Code::HookTimeout, message)
}

/// Every try has its own id and time, and so its own signatures.
async fn attempt(
    context: &Context,
    url: &Url,
    secrets: &[Secret],
    body: &str,
) -> Result<Option<Value>, Failed> {
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
        tracing::warn!("a hook was not reached: {}", outgoing::describe(&error));
        Failed::Again(AuthError::new(
            422,
            Code::HookTimeoutAfterRetry,
            "Failed to reach hook after maximum retries",
        ))
    })?;
    match response.status() {
        StatusCode::NO_CONTENT => Ok(None),
        StatusCode::OK | StatusCode::ACCEPTED => {
            let answer = read(response).await;
            answer.map(Some).map_err(Failed::ForGood)
        }
        status => Err(refused(status, &response)),
    }
}

fn refused(status: StatusCode, response: &reqwest::Response) -> Failed {
    let failure = |message: String| AuthError::new(500, Code::UnexpectedFailure, message);
    match status {
        StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
            let error = failure("Service currently unavailable due to hook".to_owned());
            match response.headers().contains_key(header::RETRY_AFTER) {
                true => Failed::Again(error),
                false => Failed::ForGood(error),
            }
        }
        StatusCode::BAD_REQUEST => {
            Failed::ForGood(failure("Invalid payload sent to hook".to_owned()))
        }
        StatusCode::UNAUTHORIZED => {
            Failed::ForGood(failure("Hook requires authorization token".to_owned()))
        }
        status => Failed::ForGood(failure(format!(
            "Unexpected status code returned from hook: {}",
            status.as_u16()
        ))),
    }
}

async fn read(response: reqwest::Response) -> Result<Value, AuthError> {
    check_content_type(&response)?;
    let bytes = outgoing::read(response, MAX_ANSWER_BYTES)
        .await
        .map_err(|error| match error {
            Unreadable::TooLong(max) => AuthError::new(
                422,
                Code::HookPayloadOverSizeLimit,
                format!("Payload size exceeded size limit of {max} bytes"),
            ),
            Unreadable::Broken(cause) => {
                AuthError::internal("The hook's answer could not be read", cause)
            }
        })?;
    serde_json::from_slice(&bytes)
        .map_err(|error| AuthError::internal("Error unmarshaling JSON output.", error))
}

fn check_content_type(response: &reqwest::Response) -> Result<(), AuthError> {
    let refused = |message: String| {
        Err(AuthError::new(
            400,
            Code::HookPayloadInvalidContentType,
            message,
        ))
    };
    let Some(given) = response.headers().get(header::CONTENT_TYPE) else {
        return refused("Invalid Content-Type: Missing Content-Type header".to_owned());
    };
    let given = String::from_utf8_lossy(given.as_bytes());
    let media_type = given.split(';').next().unwrap_or_default().trim();
    match media_type.eq_ignore_ascii_case("application/json") {
        true => Ok(()),
        false => refused(format!(
            "Invalid JSON response. Received content-type: {given}"
        )),
    }
}

/// One signature of each secret, over id, time and body.
fn signatures(secrets: &[Secret], id: &str, timestamp: i64, body: &str) -> String {
    let signed = format!("{id}.{timestamp}.{body}");
    let signatures: Vec<String> = secrets
        .iter()
        .filter_map(|secret| {
            // Settings refuse what is no base64.
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
        // Key, message and result as the specification's own libraries have them in their tests.
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
