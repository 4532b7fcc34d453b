//! Request buckets, and what may be sent (auth contract §7.3, §8.1).

mod level;

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use moka::sync::Cache;

use crate::{
    AuthError,
    config::{BURST, Rate, RateLimits},
    error::Code,
    request::Context,
};
use level::Level;

/// The most clients that are remembered; beyond it those that come least are forgotten.
const MAX_CLIENTS: u64 = 100_000;
/// Whoever stayed away for so long has every bucket full again.
const FORGET_AFTER: Duration = Duration::from_secs(2 * 3600);

/// What is limited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Bucket {
    SignUp,
    Otp,
    MagicLink,
    Recover,
    Resend,
    UserUpdate,
    AnonymousSignUp,
    /// Sign-in with a password, a code or an ID token.
    Token,
    TokenRefresh,
    Verify,
    Mfa,
    Passkey,
    ClientRegistration,
    /// Of an application that sends people here.
    Authorization,
}

impl Bucket {
    fn rate(self, rates: &RateLimits) -> Rate {
        match self {
            // Many tabs may refresh one session at once, and clients take a refusal for its end.
            Self::TokenRefresh => {
                let Rate { count, per, .. } = rates.token_refresh;
                Rate::steady(count, per, count.max(BURST))
            }
            Self::SignUp
            | Self::Otp
            | Self::MagicLink
            | Self::Recover
            | Self::Resend
            | Self::UserUpdate => rates.otp,
            Self::AnonymousSignUp => rates.anonymous_users,
            Self::Token | Self::Authorization => rates.token_refresh,
            Self::Verify => rates.verify,
            Self::Mfa => rates.mfa,
            Self::Passkey => rates.passkey,
            Self::ClientRegistration => rates.client_registration,
        }
    }
}

/// What leaves the project, whoever asked for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sending {
    Email,
    Sms,
}

/// Of one project.
pub(crate) struct Buckets {
    clients: Cache<(Bucket, String), Arc<Mutex<Level>>>,
    emails: Mutex<Level>,
    messages: Mutex<Level>,
}

impl Default for Buckets {
    fn default() -> Self {
        let clients = Cache::builder()
            .max_capacity(MAX_CLIENTS)
            .time_to_idle(FORGET_AFTER)
            .build();
        Self {
            clients,
            emails: Mutex::default(),
            messages: Mutex::default(),
        }
    }
}

/// Counts the request against its client; 429 when there were too many.
pub(crate) fn check(context: &Context, bucket: Bucket) -> Result<(), AuthError> {
    check_by(context, bucket, &context.client.rate_key)
}

/// The same against another key than the client's.
pub(crate) fn check_by(context: &Context, bucket: Bucket, key: &str) -> Result<(), AuthError> {
    let rate = bucket.rate(&context.config.rates);
    let clients = &context.state.buckets.clients;
    let level = clients.get_with((bucket, key.to_owned()), Arc::default);
    match take(&level, &rate, context) {
        true => Ok(()),
        false => Err(AuthError::new(
            429,
            Code::OverRequestRateLimit,
            "Request rate limit reached",
        )),
    }
}

/// Counts something that is about to be sent; 429 when the project sent too much. Where addresses
/// or numbers are confirmed without being asked, only a limit of nothing counts.
pub(crate) fn check_sending(context: &Context, sending: Sending) -> Result<(), AuthError> {
    let (config, buckets) = (&context.config, &context.state.buckets);
    let (is_unlimited, rate, level) = match sending {
        Sending::Email => (
            config.mail.is_autoconfirmed,
            &config.rates.email_sent,
            &buckets.emails,
        ),
        Sending::Sms => (
            config.sms.is_autoconfirmed,
            &config.rates.sms_sent,
            &buckets.messages,
        ),
    };
    if is_unlimited && rate.count > 0.0 || take(level, rate, context) {
        return Ok(());
    }
    Err(match sending {
        Sending::Email => AuthError::new(
            429,
            Code::OverEmailSendRateLimit,
            "email rate limit exceeded",
        ),
        Sending::Sms => AuthError::new(429, Code::OverSmsSendRateLimit, "SMS rate limit exceeded"),
    })
}

fn take(level: &Mutex<Level>, rate: &Rate, context: &Context) -> bool {
    let mut level = level.lock().unwrap_or_else(PoisonError::into_inner);
    level.take(rate, context.now)
}
