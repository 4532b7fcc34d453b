//! Columns of relations.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use super::Object;

/// Who gives an identity column its values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum IdentityGeneration {
    /// Only the database.
    #[serde(rename = "ALWAYS")]
    Always,
    /// The statement, if it has one.
    #[serde(rename = "BY DEFAULT")]
    ByDefault,
}

impl IdentityGeneration {
    /// As in SQL.
    pub fn as_sql(self) -> &'static str {
        match self {
            Self::Always => "always",
            Self::ByDefault => "by default",
        }
    }
}

/// The relation's oid and the column's number in it, written `16384.2`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ColumnId {
    /// The relation's oid.
    pub relation: u32,
    /// The column's number.
    pub number: i16,
}

impl fmt::Display for ColumnId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.relation, self.number)
    }
}

/// The text is no id of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected <id of the table>.<number of the column>")]
pub struct BadColumnId;

impl FromStr for ColumnId {
    type Err = BadColumnId;

    fn from_str(text: &str) -> Result<Self, BadColumnId> {
        let (relation, number) = text.split_once('.').ok_or(BadColumnId)?;
        let is_plain = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if !is_plain(relation) || !is_plain(number) {
            return Err(BadColumnId);
        }
        Ok(Self {
            relation: relation.parse().map_err(|_| BadColumnId)?,
            number: number.parse().map_err(|_| BadColumnId)?,
        })
    }
}

/// A column.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Column {
    /// The oid of its relation.
    pub table_id: u32,
    /// The schema of its relation.
    pub schema: String,
    /// Its relation.
    pub table: String,
    /// A [`ColumnId`].
    pub id: String,
    /// Its number.
    pub ordinal_position: i16,
    /// Its name.
    pub name: String,
    /// The expression of its default, or of a generated column.
    pub default_value: Option<String>,
    /// As in `information_schema`: `ARRAY` and `USER-DEFINED` for what is not built in.
    pub data_type: String,
    /// The name of the type in the catalog, of a domain's base type.
    pub format: String,
    /// Whether it is an identity column.
    pub is_identity: bool,
    /// Who gives it values, if it is one.
    pub identity_generation: Option<IdentityGeneration>,
    /// Whether it is computed from others.
    pub is_generated: bool,
    /// Whether it may be null.
    pub is_nullable: bool,
    /// Whether it can be updated.
    pub is_updatable: bool,
    /// Whether a unique constraint is on it alone.
    pub is_unique: bool,
    /// The labels of its type, if that is an enum or an array of one.
    pub enums: Vec<String>,
    /// The expression of the first check on it alone.
    pub check: Option<String>,
    /// What is said about it.
    pub comment: Option<String>,
    /// Its type as in SQL, with length and precision.
    pub full_type: String,
    /// The oid of its type.
    pub type_id: u32,
}

impl Object for Column {
    const SQL: &'static str = include_str!("../read/sql/columns.sql");
    const KIND: &'static str = "column";
    const IS_ANNOUNCED: bool = true;

    fn schema(&self) -> Option<&str> {
        Some(&self.schema)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_two_numbers() {
        let id: ColumnId = "16384.2".parse().expect("an id");
        assert_eq!((id.relation, id.number), (16384, 2));
        assert_eq!(id.to_string(), "16384.2");
        for bad in [
            "",
            "1",
            "1.",
            ".1",
            "1.2.3",
            "+1.2",
            "1.-2",
            "a.b",
            "99999999999.1",
            "1.99999",
        ] {
            assert_eq!(bad.parse::<ColumnId>(), Err(BadColumnId), "{bad}");
        }
    }
}
