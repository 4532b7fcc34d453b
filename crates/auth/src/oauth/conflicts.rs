//! Two requests at once, where only one can win.

use plinth_db::DbError;

/// Whether a row of that kind was there already.
pub(super) fn is_unique_violation(error: &DbError) -> bool {
    matches!(error, DbError::Postgres(refusal) if refusal.sqlstate() == "23505")
}
