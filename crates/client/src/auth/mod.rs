//! Accounts and sessions.

mod api;
mod claims;
mod error;
mod error_code;
mod jwks;

pub use api::{
    API_VERSION, AuthApi, Challenge, EnrolledFactor, EnrolledTotp, FIRST_WAIT_MS, Passkey,
    PasskeyOptions, RETRY_BUDGET_MS, Scope, TokenAnswer, WeakPassword,
};
pub use claims::{Claims, Decoded};
pub use error::AuthError;
pub use error_code::ErrorCode;
pub use jwks::{
    FETCH_TIMEOUT, JwksCache, KEY_SET_LIFETIME_MS, KeySet, MAX_KEY_SET_BYTES, MAX_KEYS,
    REFETCH_INTERVAL_MS, STALE_LIFETIME_MS, Verdict, VerifyOptions, verify,
};
