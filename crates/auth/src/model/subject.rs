//! The data of access tokens, read in one statement.

use plinth_db::{DbError, Queries, Row};
use uuid::Uuid;

use super::{
    User, UserRelations,
    sessions::{self, AmrClaim},
    users,
};

/// The data of an access token beside its session: the user with identities and factors, and the
/// methods of the session.
pub(crate) struct Subject {
    pub(crate) user: User,
    pub(crate) relations: UserRelations,
    pub(crate) amr: Vec<AmrClaim>,
}

impl Subject {
    /// The columns of [`Self::from_row`], with the tables as `u` and `s`.
    pub(crate) fn columns() -> String {
        let (users, amr) = (users::COLUMNS, sessions::AMR);
        format!("{users}, {}, {amr}", UserRelations::columns())
    }

    pub(crate) fn from_row(row: &Row) -> Result<Self, DbError> {
        Ok(Self {
            user: User::from_row(row)?,
            relations: UserRelations::from_row(row)?,
            amr: sessions::amr_from_row(row)?,
        })
    }

    /// Reads what is missing of a user who was read already.
    pub(crate) async fn load(
        db: &mut impl Queries,
        user: User,
        session: Uuid,
    ) -> Result<Self, DbError> {
        let sql = format!(
            "select {}, {} from (select $1::uuid as id) u, (select $2::uuid as id) s",
            UserRelations::columns(),
            sessions::AMR
        );
        let row = db.query_opt(&sql, &[&user.id, &session]).await?;
        let row = row.ok_or_else(|| {
            DbError::Misuse("a select without conditions returned no row".to_owned())
        })?;
        Ok(Self {
            user,
            relations: UserRelations::from_row(&row)?,
            amr: sessions::amr_from_row(&row)?,
        })
    }
}
