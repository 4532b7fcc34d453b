//! Domain representations: casts of users between domains and `json` or `text`.

use tokio_postgres::{Error, Row};

use super::{Representation, interner::Interner};

pub(super) fn from_rows(rows: &[Row], names: &mut Interner) -> Result<Vec<Representation>, Error> {
    rows.iter().map(|row| from_row(row, names)).collect()
}

fn from_row(row: &Row, names: &mut Interner) -> Result<Representation, Error> {
    Ok(Representation {
        source_type: names.share(row.try_get("source_type")?),
        target_type: names.share(row.try_get("target_type")?),
        function: names.share(row.try_get("function")?),
    })
}
