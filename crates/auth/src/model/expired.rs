//! Deletes expired rows (auth contract §11), in small batches that skip locked rows, so that no
//! request waits for them.

use plinth_db::{DbError, Params, Queries};
use time::OffsetDateTime;

/// A kind of rows that expire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expired {
    RevokedRefreshTokens,
    /// By `not_after`.
    EndedSessions,
    /// By `created_at`.
    OldSessions,
    IdleSessions,
    SamlRelayStates,
    FlowStates,
    OAuthClientStates,
    OAuthAuthorizations,
    MfaChallenges,
    UnverifiedFactors,
    WebauthnChallenges,
    AnonymousUsers,
    /// Of clients whose buckets are full again.
    RateLimits,
}

impl Expired {
    /// Deletes one batch, with the time before which rows are too old as `$1`.
    fn sql(self) -> &'static str {
        match self {
            Self::RevokedRefreshTokens => {
                "delete from auth.refresh_tokens where id in (
                   select id from auth.refresh_tokens where revoked and updated_at < $1
                   limit 100 for update skip locked)"
            }
            Self::EndedSessions => {
                "delete from auth.sessions where id in (
                   select id from auth.sessions where not_after < $1
                   limit 10 for update skip locked)"
            }
            Self::OldSessions => {
                "delete from auth.sessions where id in (
                   select id from auth.sessions where created_at < $1
                   limit 10 for update skip locked)"
            }
            // `refreshed_at` is UTC without a zone; a session that was never refreshed is as idle
            // as its newest token.
            Self::IdleSessions => {
                "delete from auth.sessions where id in (
                   select s.id from auth.sessions as s
                   where coalesce(
                       s.refreshed_at at time zone 'utc',
                       (select max(t.updated_at) from auth.refresh_tokens as t
                        where t.session_id = s.id and not t.revoked),
                       s.created_at) < $1
                   limit 10 for update of s skip locked)"
            }
            Self::SamlRelayStates => {
                "delete from auth.saml_relay_states where id in (
                   select id from auth.saml_relay_states where created_at < $1
                   limit 100 for update skip locked)"
            }
            Self::FlowStates => {
                "delete from auth.flow_state where id in (
                   select id from auth.flow_state where created_at < $1
                   limit 100 for update skip locked)"
            }
            Self::OAuthClientStates => {
                "delete from auth.oauth_client_states where id in (
                   select id from auth.oauth_client_states where created_at < $1
                   limit 100 for update skip locked)"
            }
            Self::OAuthAuthorizations => {
                "delete from auth.oauth_authorizations where id in (
                   select id from auth.oauth_authorizations where expires_at < $1
                   limit 100 for update skip locked)"
            }
            Self::MfaChallenges => {
                "delete from auth.mfa_challenges where id in (
                   select id from auth.mfa_challenges where created_at < $1
                   limit 100 for update skip locked)"
            }
            Self::UnverifiedFactors => {
                "delete from auth.mfa_factors where id in (
                   select id from auth.mfa_factors
                   where created_at < $1 and status = 'unverified'
                   limit 100 for update skip locked)"
            }
            Self::WebauthnChallenges => {
                "delete from auth.webauthn_challenges where id in (
                   select id from auth.webauthn_challenges where expires_at < $1
                   limit 100 for update skip locked)"
            }
            Self::RateLimits => {
                "delete from plinth.auth_rate_limits where (bucket, client) in (
                   select bucket, client from plinth.auth_rate_limits where updated_at < $1
                   limit 1000 for update skip locked)"
            }
            Self::AnonymousUsers => {
                "delete from auth.users where id in (
                   select id from auth.users where created_at < $1 and is_anonymous
                   limit 100 for update skip locked)"
            }
        }
    }
}

/// Deletes one batch of rows from before a time; returns how many.
pub(crate) async fn delete_batch(
    db: &mut impl Queries,
    rows: Expired,
    before: OffsetDateTime,
) -> Result<u64, DbError> {
    let params: Params<'_> = &[&before];
    db.execute(rows.sql(), params).await
}
