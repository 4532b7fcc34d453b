//! `auth.sessions`: one row per sign-in. Ending a session is deleting its row.

mod store;

use plinth_db::{DbError, Row};
use postgres_types::Json;
use serde::Deserialize;
use time::{OffsetDateTime, serde::rfc3339};
use uuid::Uuid;

pub(crate) use store::{
    NewSession, Refreshed, ValidSince, add_amr, count, delete, delete_all, delete_all_but,
    delete_below_aal2, delete_for_client, delete_of_user, find, insert, is_superseded, list,
    list_amr, lock, lock_with_subject, lower_aal, raise_aal, set_refresh_key, store_refresh,
};

/// A sign-in. Without `Debug`, since it holds the key of its refresh tokens.
#[derive(Clone)]
pub(crate) struct Session {
    pub(crate) id: Uuid,
    pub(crate) user_id: Uuid,
    pub(crate) created_at: OffsetDateTime,
    pub(crate) aal: Aal,
    pub(crate) not_after: Option<OffsetDateTime>,
    pub(crate) refreshed_at: Option<OffsetDateTime>,
    pub(crate) user_agent: String,
    pub(crate) ip: Option<String>,
    pub(crate) tag: Option<String>,
    pub(crate) oauth_client_id: Option<Uuid>,
    pub(crate) refresh_token_hmac_key: Option<String>,
    pub(crate) refresh_token_counter: Option<i64>,
    pub(crate) scopes: Option<String>,
}

/// Authenticator assurance level: aal2 takes a second factor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Aal {
    Aal1,
    Aal2,
}

impl Aal {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Aal1 => "aal1",
            Self::Aal2 => "aal2",
        }
    }
}

/// The columns of a [`Session`], with the table as `s`. They have a prefix, so that they can be
/// selected together with those of a user.
pub(crate) const COLUMNS: &str = "s.id as session_id, s.user_id as session_user_id,
    s.created_at as session_created_at,
    s.aal::text as session_aal, s.not_after as session_not_after,
    (s.refreshed_at at time zone 'utc') as session_refreshed_at,
    s.user_agent as session_user_agent, host(s.ip) as session_ip, s.tag as session_tag,
    s.oauth_client_id as session_oauth_client_id,
    s.refresh_token_hmac_key as session_hmac_key, s.refresh_token_counter as session_counter,
    s.scopes as session_scopes";

impl Session {
    pub(crate) fn from_row(row: &Row) -> Result<Self, DbError> {
        let aal: Option<String> = row.try_get("session_aal")?;
        let created_at: Option<OffsetDateTime> = row.try_get("session_created_at")?;
        let user_agent: Option<String> = row.try_get("session_user_agent")?;
        Ok(Self {
            id: row.try_get("session_id")?,
            user_id: row.try_get("session_user_id")?,
            created_at: created_at.unwrap_or(OffsetDateTime::UNIX_EPOCH),
            aal: match aal.as_deref() {
                Some("aal2" | "aal3") => Aal::Aal2,
                _ => Aal::Aal1,
            },
            not_after: row.try_get("session_not_after")?,
            refreshed_at: row.try_get("session_refreshed_at")?,
            user_agent: user_agent.unwrap_or_default(),
            ip: row.try_get("session_ip")?,
            tag: row.try_get("session_tag")?,
            oauth_client_id: row.try_get("session_oauth_client_id")?,
            refresh_token_hmac_key: row.try_get("session_hmac_key")?,
            refresh_token_counter: row.try_get("session_counter")?,
            scopes: row.try_get("session_scopes")?,
        })
    }

    /// Key and counter of its refresh tokens, if these are signed counters.
    pub(crate) fn counted(&self) -> Option<(String, i64)> {
        let key = self.refresh_token_hmac_key.clone();
        key.zip(self.refresh_token_counter)
    }

    /// From the right side of an outer join.
    pub(crate) fn from_joined_row(row: &Row) -> Result<Option<Self>, DbError> {
        let id: Option<Uuid> = row.try_get("session_id")?;
        id.map(|_| Self::from_row(row)).transpose()
    }
}

/// A method by which the user authenticated in a session (`auth.mfa_amr_claims`).
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct AmrClaim {
    #[serde(rename = "authentication_method")]
    pub(crate) method: String,
    #[serde(with = "rfc3339", rename = "updated_at")]
    pub(crate) at: OffsetDateTime,
}

/// All methods of a session as one column, newest first, with `auth.sessions` as `s`.
pub(crate) const AMR: &str = "
    (select json_agg(a) from (
       select authentication_method, updated_at from auth.mfa_amr_claims
       where session_id = s.id order by updated_at desc) a) as session_amr";

/// Reads the column [`AMR`].
pub(crate) fn amr_from_row(row: &Row) -> Result<Vec<AmrClaim>, DbError> {
    let claims: Option<Json<Vec<AmrClaim>>> = row.try_get("session_amr")?;
    Ok(claims.map(|Json(claims)| claims).unwrap_or_default())
}
