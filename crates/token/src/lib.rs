//! Credentials: JSON Web Tokens, the key sets that verify them, API keys, access tokens, and sealing of
//! secrets at rest.
//!
//! The crate verifies tokens and reads their claims. It serves no requests and renders no error bodies:
//! each service maps a [`TokenError`] to its own format. It reads no clock to judge a token; the caller
//! passes the time in ([`ClaimRules`]). Only the eviction of idle cache entries measures time.
//!
//! Start with [`KeySet`], of which a project has exactly one, and [`TokenCache`], its cache on the
//! request path. Rules: auth contract §3.2 and REST contract §4.1.

mod access_token;
mod algorithm;
mod api_key;
mod cache;
mod claims;
mod compact;
mod encoding;
mod error;
mod jwk;
mod jwt_secret;
mod key_algorithm;
mod key_file;
mod keyset;
mod legacy;
mod material;
mod password;
mod random;
mod rsa;
mod scram;
mod seal;
mod secret;
mod signing_key;
mod verified;
mod verify;
mod verifying_key;

pub use access_token::{AccessToken, AccessTokenError};
pub use algorithm::Algorithm;
pub use api_key::{ApiKey, ApiKeyError, ApiKeyKind};
pub use cache::{CacheCounts, TokenCache};
pub use claims::{ANON_ROLE, SERVICE_ROLE, claims_of_role, role_or_anon};
pub use compact::TokenHeader;
pub use encoding::credential_hash;
pub use error::{KeyError, SealError, TimeClaim, TokenError};
pub use jwt_secret::{JwtSecretError, decode_base64_secret};
pub use key_file::KeyFile;
pub use keyset::{KeySet, KeySetBuilder, KeyStatus};
pub use legacy::{
    LEGACY_KEY_LIFETIME, MIN_JWT_SECRET_BYTES, generate_jwt_secret, issue_legacy_key,
};
pub use password::generate_password;
pub use scram::matches_scram_verifier;
pub use seal::InstanceKey;
pub use secret::Secret;
pub use signing_key::SigningKey;
pub use verified::{ClaimRules, VerifiedToken};
pub use verifying_key::{VerifyingKey, public_keys_from_json};
