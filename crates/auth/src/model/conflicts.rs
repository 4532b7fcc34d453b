//! Which unique constraint a statement violated: another request may be faster than any check.

use plinth_db::DbError;

const UNIQUE_VIOLATION: &str = "23505";

/// What has to be unique.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Conflict {
    UserId,
    UserEmail,
    UserPhone,
    /// An identity at its provider.
    Identity,
    FactorName,
    FactorPhone,
    /// The time of a factor's last challenge.
    FactorChallenge,
    CustomProvider,
}

impl Conflict {
    /// The conflict that made a statement fail.
    pub(crate) fn find(error: &DbError) -> Option<Self> {
        let violation = error.pg_error()?;
        if violation.sqlstate() != UNIQUE_VIOLATION {
            return None;
        }
        match violation.constraint.as_deref()? {
            "users_pkey" => Some(Self::UserId),
            "users_email_partial_key" => Some(Self::UserEmail),
            "users_phone_key" => Some(Self::UserPhone),
            "identities_provider_id_provider_unique" => Some(Self::Identity),
            "mfa_factors_user_friendly_name_unique" => Some(Self::FactorName),
            "unique_phone_factor_per_user" => Some(Self::FactorPhone),
            "mfa_factors_last_challenged_at_key" => Some(Self::FactorChallenge),
            "custom_oauth_providers_identifier_key" => Some(Self::CustomProvider),
            _ => None,
        }
    }
}
