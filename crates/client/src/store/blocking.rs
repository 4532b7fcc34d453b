//! Blocking calls off the async threads.

use super::StoreError;

/// Runs blocking work on a blocking thread, or inline outside of a runtime.
pub(super) async fn blocking<T, E>(
    work: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> Result<T, StoreError>
where
    T: Send + 'static,
    E: Into<Box<dyn std::error::Error + Send + Sync>> + Send + 'static,
{
    let done = match tokio::runtime::Handle::try_current() {
        Ok(runtime) => runtime
            .spawn_blocking(work)
            .await
            .map_err(StoreError::new)?,
        Err(_) => work(),
    };
    done.map_err(StoreError::new)
}
