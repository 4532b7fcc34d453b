//! Rate limits of requests and of messages (auth contract §7.3, §8.1).

mod shared;
mod token_bucket;

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use moka::sync::Cache;

use crate::{
    AuthError,
    config::{BURST, ClientLimit, Rate, RateLimits},
    request::RequestContext,
};
use token_bucket::TokenBucket;

pub(crate) use shared::{check_shared, check_shared_by};

/// Beyond this the least recently used clients are evicted.
const MAX_CLIENTS: u64 = 100_000;
/// After this time the buckets of a client are full again, except those of limits below 15 per hour
/// (a burst of 30 in two hours), which are refilled early.
pub(crate) const IDLE_TTL: Duration = Duration::from_secs(2 * 3600);

/// The limited kinds of requests.
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
    /// Authorization requests of applications.
    Authorization,
}

impl Bucket {
    fn limit(self, rates: &RateLimits) -> ClientLimit {
        match self {
            // Several tabs may refresh a session at once, and clients take a rejection for its end.
            Self::TokenRefresh => {
                let Rate { count, per, .. } = rates.token_refresh.rate;
                ClientLimit {
                    rate: Rate::steady(count, per, count.max(BURST)),
                    ..rates.token_refresh
                }
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

    /// Its name in the table of shared limits.
    fn name(self) -> &'static str {
        match self {
            Self::SignUp => "sign_up",
            Self::Otp => "otp",
            Self::MagicLink => "magic_link",
            Self::Recover => "recover",
            Self::Resend => "resend",
            Self::UserUpdate => "user_update",
            Self::AnonymousSignUp => "anonymous_sign_up",
            Self::Token => "token",
            Self::TokenRefresh => "token_refresh",
            Self::Verify => "verify",
            Self::Mfa => "mfa",
            Self::Passkey => "passkey",
            Self::ClientRegistration => "client_registration",
            Self::Authorization => "authorization",
        }
    }
}

/// The limited kinds of messages, counted per project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sending {
    Email,
    Sms,
}

/// The buckets of one project.
pub(crate) struct Buckets {
    clients: Cache<(Bucket, String), Arc<Mutex<TokenBucket>>>,
    emails: Mutex<TokenBucket>,
    messages: Mutex<TokenBucket>,
}

impl Default for Buckets {
    fn default() -> Self {
        let clients = Cache::builder()
            .max_capacity(MAX_CLIENTS)
            .time_to_idle(IDLE_TTL)
            .build();
        Self {
            clients,
            emails: Mutex::default(),
            messages: Mutex::default(),
        }
    }
}

/// Counts the request against its client; 429 over the limit.
pub(crate) fn check(context: &RequestContext, bucket: Bucket) -> Result<(), AuthError> {
    check_action(context, bucket, "")
}

/// As [`check`]; actions of different names are counted separately.
pub(crate) fn check_action(
    context: &RequestContext,
    bucket: Bucket,
    action: &str,
) -> Result<(), AuthError> {
    if is_exempt(context, bucket) {
        return Ok(());
    }
    let client = &context.client.rate_key;
    check_by(context, bucket, &format!("{action}{client}"))
}

/// On a developer's machine, limits by address apply where they differ from the default: the
/// official local stack has none, and all clients have the same address. Not where a proxy or tunnel
/// lets unknown clients in.
fn is_exempt(context: &RequestContext, bucket: Bucket) -> bool {
    let rates = &context.config.rates;
    context.service.is_local()
        && context.client.ip.to_canonical().is_loopback()
        && !context.client.is_forwarded
        && rates.client_header.is_none()
        && bucket.limit(rates).is_default
}

/// As [`check`], with another key than the client's address.
pub(crate) fn check_by(
    context: &RequestContext,
    bucket: Bucket,
    key: &str,
) -> Result<(), AuthError> {
    let rate = bucket.limit(&context.config.rates).rate;
    let clients = &context.state.buckets.clients;
    let bucket = clients.get_with((bucket, key.to_owned()), Arc::default);
    if take_token(&bucket, &rate, context) {
        Ok(())
    } else {
        Err(AuthError::over_request_rate_limit())
    }
}

/// Counts a message before it is sent; 429 over the limit. With autoconfirmation, only a limit of
/// zero applies.
pub(crate) fn check_sending(context: &RequestContext, sending: Sending) -> Result<(), AuthError> {
    let (config, buckets) = (&context.config, &context.state.buckets);
    let (is_unlimited, rate, bucket) = match sending {
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
    if is_unlimited && rate.count > 0.0 || take_token(bucket, rate, context) {
        return Ok(());
    }
    Err(match sending {
        Sending::Email => AuthError::over_email_send_rate_limit(),
        Sending::Sms => AuthError::over_sms_send_rate_limit(),
    })
}

fn take_token(bucket: &Mutex<TokenBucket>, rate: &Rate, context: &RequestContext) -> bool {
    let mut bucket = bucket.lock().unwrap_or_else(PoisonError::into_inner);
    bucket.take_token(rate, context.now)
}
