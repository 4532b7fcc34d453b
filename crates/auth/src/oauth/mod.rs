//! Sign-in through other services (auth contract §2.8, §5, §6).

/// What is known of OpenID providers, kept for a while.
#[derive(Default)]
pub(crate) struct Discovery;
