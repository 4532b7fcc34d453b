//! Cursors: opaque texts that say where a page begins.

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize};

use crate::QueryError;

use super::sort::SortKey;

/// Where a page begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Cursor {
    /// What the rows are sorted by: a cursor of another order is no place in this one.
    #[serde(rename = "s")]
    order: Vec<String>,
    /// The sort keys of the row before; none at the beginning.
    #[serde(rename = "k", default)]
    pub(crate) values: Option<Vec<Option<String>>>,
    /// Rows to leave out after it, where the sort keys are unknown or too long for a cursor.
    #[serde(rename = "o", default)]
    pub(crate) offset: u64,
}

impl Cursor {
    pub(crate) fn new(
        keys: &[SortKey<'_>],
        values: Option<Vec<Option<String>>>,
        offset: u64,
    ) -> Self {
        Self {
            order: order_of(keys),
            values,
            offset,
        }
    }

    pub(crate) fn parse(text: &str, keys: &[SortKey<'_>]) -> Result<Self, QueryError> {
        let invalid = || QueryError::Invalid("This is no cursor of this table".to_owned());
        let bytes = BASE64_URL_SAFE_NO_PAD.decode(text).map_err(|_| invalid())?;
        let cursor: Self = serde_json::from_slice(&bytes).map_err(|_| invalid())?;
        let has_all = cursor
            .values
            .as_ref()
            .is_none_or(|values| values.len() == keys.len());
        if !has_all || i64::try_from(cursor.offset).is_err() {
            return Err(invalid());
        }
        if cursor.order != order_of(keys) {
            return Err(QueryError::Invalid(
                "This cursor is of rows in another order; begin at the first page".to_owned(),
            ));
        }
        Ok(cursor)
    }

    pub(crate) fn to_text(&self) -> String {
        let json = serde_json::to_vec(self).unwrap_or_default();
        BASE64_URL_SAFE_NO_PAD.encode(json)
    }
}

fn order_of(keys: &[SortKey<'_>]) -> Vec<String> {
    let describe = |key: &SortKey<'_>| {
        let direction = if key.is_descending { '-' } else { '+' };
        let nulls = if key.has_nulls_first { '<' } else { '>' };
        format!("{direction}{nulls}{}", key.column.name)
    };
    keys.iter().map(describe).collect()
}
