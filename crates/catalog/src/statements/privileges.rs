//! Grants on relations and on columns.

use serde::{Deserialize, Serialize};

use super::{
    StatementError,
    names::{Relation, new_name},
};

/// What can be granted on a relation.
const PRIVILEGES: [(&str, &str); 9] = [
    ("ALL", "all"),
    ("SELECT", "select"),
    ("INSERT", "insert"),
    ("UPDATE", "update"),
    ("DELETE", "delete"),
    ("TRUNCATE", "truncate"),
    ("REFERENCES", "references"),
    ("TRIGGER", "trigger"),
    ("MAINTAIN", "maintain"),
];

/// Those that can be granted on a column.
const OF_COLUMNS: [&str; 5] = ["all", "select", "insert", "update", "references"];

/// A privilege by its name.
pub(super) fn privilege(name: &str) -> Result<&'static str, StatementError> {
    let known = PRIVILEGES
        .iter()
        .find(|(known, _)| known.eq_ignore_ascii_case(name));
    known
        .map(|(_, sql)| *sql)
        .ok_or_else(|| StatementError::new(format!("There is no privilege {name:?} on a relation")))
}

/// A role after `to` or `from`; `public` is everybody.
pub(super) fn role_sql(name: &str) -> Result<String, StatementError> {
    if name.eq_ignore_ascii_case("public") {
        Ok("public".to_owned())
    } else {
        Ok(new_name("a role", name)?.to_string())
    }
}

/// Who gets or loses which privilege.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Grantee {
    /// The role, or `public`.
    pub grantee: String,
    /// Such as `SELECT`, or `ALL`.
    pub privilege_type: String,
    /// Whether the role may pass it on.
    #[serde(default)]
    pub is_grantable: bool,
}

/// A privilege on a relation.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RelationGrant {
    /// The relation's oid.
    pub relation_id: u32,
    /// Who, and which.
    #[serde(flatten)]
    pub grantee: Grantee,
}

/// A privilege on a column.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ColumnGrant {
    /// A [`crate::objects::ColumnId`].
    pub column_id: String,
    /// Who, and which.
    #[serde(flatten)]
    pub grantee: Grantee,
}

/// Grants or revokes a privilege on a relation, or on one of its columns.
pub fn grant_sql(
    grantee: &Grantee,
    relation: Relation<'_>,
    column: Option<&str>,
    is_revoked: bool,
) -> Result<String, StatementError> {
    let role = role_sql(&grantee.grantee)?;
    let mut privilege = privilege(&grantee.privilege_type)?.to_owned();
    if let Some(column) = column {
        if !OF_COLUMNS.contains(&privilege.as_str()) {
            return Err(StatementError::new(format!(
                "There is no privilege {:?} on a column",
                grantee.privilege_type
            )));
        }
        privilege += &format!(" ({})", new_name("a column", column)?);
    }
    if is_revoked {
        return Ok(format!(
            "revoke {privilege} on table {relation} from {role}"
        ));
    }
    let option = if grantee.is_grantable {
        " with grant option"
    } else {
        ""
    };
    Ok(format!(
        "grant {privilege} on table {relation} to {role}{option}"
    ))
}
