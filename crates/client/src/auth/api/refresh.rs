//! Refreshing a session (client contract S24–S27, S34, K4).

use std::time::Duration;

use serde_json::json;

use super::{AuthApi, Call};
use crate::auth::AuthError;
use crate::session::Session;

/// K4: the first backoff; each further one is twice as long.
pub const MIN_BACKOFF_MS: u64 = 200;
/// K4: no attempt begins later than this after the first.
pub const RETRY_BUDGET_MS: u64 = 30_000;
/// Timeout of one attempt, unless the caller has set one. All users of the session wait for it.
pub const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(10);

impl AuthApi {
    /// One attempt: `POST /token?grant_type=refresh_token`. Its timeout is 10 s, or that of
    /// [`AuthApi::with_timeout`].
    pub async fn refresh_once(&self, refresh_token: &str) -> Result<Session, AuthError> {
        let body = json!({ "refresh_token": refresh_token });
        let call = Call::post("/token", body).query("grant_type", "refresh_token");
        let tokens = self.or_timeout(ATTEMPT_TIMEOUT).tokens(call).await?;
        tokens.session.ok_or(AuthError::InvalidTokenResponse)
    }

    /// Retries within 30 s while the server is unreachable, fails temporarily or rate limits. Any other error is
    /// final.
    pub async fn refresh(&self, refresh_token: &str) -> Result<Session, AuthError> {
        let begun_ms = self.clock().now_ms();
        let mut attempt = 0;
        loop {
            let error = match self.refresh_once(refresh_token).await {
                Ok(session) => return Ok(session),
                Err(error) => error,
            };
            let elapsed = u64::try_from(self.clock().now_ms() - begun_ms).unwrap_or_default();
            let Some(wait) = wait_after(attempt, elapsed, &error) else {
                return Err(error);
            };
            self.clock().sleep(wait).await;
            attempt += 1;
        }
    }
}

/// The backoff after this failed attempt (counted from 0); `None` when it was the last.
fn wait_after(attempt: u32, elapsed_ms: u64, error: &AuthError) -> Option<Duration> {
    let is_temporary = error.is_retryable() || error.status() == Some(429);
    let backoff = MIN_BACKOFF_MS.saturating_mul(2_u64.saturating_pow(attempt));
    let asked = error.retry_after().unwrap_or_default();
    let wait = Duration::from_millis(backoff).max(asked);
    let next = Duration::from_millis(elapsed_ms).saturating_add(wait);
    (is_temporary && next < Duration::from_millis(RETRY_BUDGET_MS)).then_some(wait)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(status: u16, retry_after: Option<u64>) -> AuthError {
        let retry_after = retry_after.map(Duration::from_secs);
        let message = String::new();
        match status {
            429 => AuthError::Api {
                status,
                code: None,
                message,
                retry_after,
            },
            _ => AuthError::Retryable {
                status,
                message,
                retry_after,
            },
        }
    }

    #[test]
    fn k4_waits_double_from_200_ms_within_30_s() {
        assert_eq!((MIN_BACKOFF_MS, RETRY_BUDGET_MS), (200, 30_000));
        let (mut at, mut attempts) = (0, vec![0]);
        while let Some(wait) = wait_after(attempts.len() as u32 - 1, at, &failure(503, None)) {
            at += u64::try_from(wait.as_millis()).unwrap();
            attempts.push(at);
        }

        assert_eq!(attempts, [0, 200, 600, 1400, 3000, 6200, 12_600, 25_400]);
    }

    #[test]
    fn the_servers_wish_counts_if_it_is_longer_and_fits() {
        let wait = |attempt, elapsed, after| wait_after(attempt, elapsed, &failure(429, after));

        assert_eq!(wait(0, 0, Some(5)), Some(Duration::from_secs(5)));
        assert_eq!(wait(6, 0, Some(5)), Some(Duration::from_millis(12_800)));
        assert_eq!(wait(0, 0, None), Some(Duration::from_millis(200)));
        assert_eq!(wait(0, 0, Some(30)), None);
        assert_eq!(wait(0, 26_000, Some(5)), None);
    }

    #[test]
    fn what_is_final_is_not_repeated() {
        assert_eq!(wait_after(0, 0, &AuthError::SessionMissing), None);
        assert_eq!(wait_after(0, 0, &AuthError::InvalidTokenResponse), None);
    }

    proptest::proptest! {
        #[test]
        fn no_attempt_begins_after_the_budget(attempt in 0u32..200, elapsed: u64, after: u64) {
            let elapsed = elapsed % 100_000;
            if let Some(wait) = wait_after(attempt, elapsed, &failure(503, Some(after))) {
                assert!(u128::from(elapsed) + wait.as_millis() < u128::from(RETRY_BUDGET_MS));
            }
        }
    }
}
