//! Media handlers: functions of the user that produce bodies of other media types (rest contract
//! §3.5).

use tokio_postgres::{Error, Row};

use super::{MediaHandler, interner::Interner};

const ANY: &str = "*/*";
const OCTETS: &str = "application/octet-stream";

pub(super) fn from_rows(rows: &[Row], names: &mut Interner) -> Result<Vec<MediaHandler>, Error> {
    rows.iter().map(|row| from_row(row, names)).collect()
}

fn from_row(row: &Row, names: &mut Interner) -> Result<MediaHandler, Error> {
    let media_type: &str = row.try_get("media_type")?;
    let target = names.share_name(row.try_get("target_schema")?, row.try_get("target_name")?);
    let is_for_any: bool = row.try_get("is_for_any")?;
    Ok(MediaHandler {
        function: names.share_name(row.try_get("schema")?, row.try_get("name")?),
        target: (!is_for_any).then_some(target),
        media_type: media_type.to_ascii_lowercase().into(),
        response_type: if media_type == ANY {
            OCTETS
        } else {
            media_type
        }
        .into(),
    })
}
