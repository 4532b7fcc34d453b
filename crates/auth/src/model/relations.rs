//! Identities and factors of a user, which one statement can read together with the row.

use plinth_db::{DbError, Row};
use postgres_types::Json;

use super::{Factor, Identity, factors, identities};

/// Oldest first.
#[derive(Clone)]
pub(crate) struct UserRelations {
    pub(crate) identities: Vec<Identity>,
    pub(crate) factors: Vec<Factor>,
}

impl UserRelations {
    /// The columns of [`Self::from_row`], with `auth.users` as `u`.
    pub(crate) fn columns() -> String {
        format!(
            "(select json_agg(i) from (
                select {} from auth.identities i
                where i.user_id = u.id order by i.created_at, i.id) i) as identities,
             (select json_agg(f) from (
                select {} from auth.mfa_factors f
                where f.user_id = u.id order by f.created_at, f.id) f) as factors",
            identities::COLUMNS,
            factors::COLUMNS
        )
    }

    pub(crate) fn from_row(row: &Row) -> Result<Self, DbError> {
        let identities: Option<Json<Vec<Identity>>> = row.try_get("identities")?;
        let factors: Option<Json<Vec<Factor>>> = row.try_get("factors")?;
        Ok(Self {
            identities: identities.map(|Json(all)| all).unwrap_or_default(),
            factors: factors.map(|Json(all)| all).unwrap_or_default(),
        })
    }

    /// Whether the user can reach aal2.
    pub(crate) fn has_verified_factor(&self) -> bool {
        self.factors.iter().any(|factor| factor.is_verified)
    }
}
