//! One WebAuthn ceremony at a time (client contract S74): a new one aborts the previous one, so that users see only
//! the latest prompt.

use std::future::Future;
use std::sync::{Mutex, PoisonError};

use futures_util::future::{AbortHandle, Abortable};

use super::AuthError;

/// The current ceremony.
#[derive(Debug, Default)]
pub(super) struct Ceremony(Mutex<Option<AbortHandle>>);

impl Ceremony {
    /// Runs a ceremony; the previous one ends with [`AuthError::CeremonyAborted`].
    pub(super) async fn run<T>(
        &self,
        ceremony: impl Future<Output = Result<T, AuthError>>,
    ) -> Result<T, AuthError> {
        let (handle, registration) = AbortHandle::new_pair();
        let before = self
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .replace(handle);
        if let Some(before) = before {
            before.abort();
        }
        let outcome = Abortable::new(ceremony, registration).await;
        outcome.unwrap_or(Err(AuthError::CeremonyAborted))
    }
}
