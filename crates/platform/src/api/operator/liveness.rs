//! Responses that take long end with the right to them.

use std::time::Duration;

use time::OffsetDateTime;

use super::{Operator, Proof};
use crate::{Platform, PlatformError};

/// How often the operator of a streaming response is checked again; at the latest 15 s after a change, the
/// stream ends.
const CHECK_INTERVAL: Duration = Duration::from_secs(10);

impl Operator {
    /// Completes when the token or the session has ended, or the operator may not make this call any more;
    /// never for the control socket.
    pub(in crate::api) async fn until_token_ends(self, platform: Platform) {
        loop {
            let Some(delay) = self.check_delay() else {
                return;
            };
            tokio::time::sleep(delay).await;
            // An unreachable database does not end the stream.
            if matches!(self.is_still_allowed(&platform).await, Ok(false)) {
                return;
            }
        }
    }

    /// `None` if the credential has expired.
    fn check_delay(&self) -> Option<Duration> {
        let now = OffsetDateTime::now_utc();
        let left = match &self.proof {
            Proof::ControlSocket => None,
            Proof::Token(token) => token.expires_at.map(|at| at - now),
            Proof::Session(session) => Some(time::Duration::seconds(
                session.expires_at.saturating_sub(now.unix_timestamp()),
            )),
        };
        match left.map(Duration::try_from) {
            Some(Ok(left)) if !left.is_zero() => Some(left.min(CHECK_INTERVAL)),
            Some(_) => None,
            None => Some(CHECK_INTERVAL),
        }
    }

    async fn is_still_allowed(&self, platform: &Platform) -> Result<bool, PlatformError> {
        let origin = self.origin.clone();
        let renewed = match &self.proof {
            Proof::ControlSocket => return Ok(true),
            Proof::Token(token) => {
                let Some(token) = platform.find_live_token(token.id).await? else {
                    return Ok(false);
                };
                match Self::of_token(platform, token, origin).await {
                    Ok(operator) => operator,
                    Err(error) => return ended(error),
                }
            }
            Proof::Session(session) => {
                let Some(user) = self.user_id() else {
                    return Ok(false);
                };
                let found = platform
                    .find_signed_in(user, session.id, session.expires_at)
                    .await?;
                let Ok((user, session)) = found else {
                    return Ok(false);
                };
                let roles = platform.roles_of(user.id).await?;
                Self::with_session(platform, user, session, roles, origin)
            }
        };
        let Some((row, target)) = &self.allowed else {
            return Ok(true);
        };
        match renewed.authorize(platform, row, target).await {
            // A response that began may go on when the second factor is not fresh any more.
            Ok(()) | Err(PlatformError::StepUpRequired) => Ok(true),
            Err(error) => ended(error),
        }
    }
}

fn ended(error: PlatformError) -> Result<bool, PlatformError> {
    match error {
        PlatformError::Unauthorized(_)
        | PlatformError::Forbidden(_)
        | PlatformError::SecondFactorRequired
        | PlatformError::NotFound(_) => Ok(false),
        error => Err(error),
    }
}
