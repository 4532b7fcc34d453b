//! Policies of a table.

use plinth_db::{OpenTransaction, Row};

use crate::{QueryError, Relation};

use super::report::{PolicyOutcome, RowSecurity, Verb};

/// A policy as the catalog has it.
pub(super) struct Policy {
    pub(super) outcome: PolicyOutcome,
    command: String,
    is_for_role: bool,
}

impl Policy {
    fn from_row(row: &Row) -> Result<Self, QueryError> {
        let command: String = row.try_get("command")?;
        Ok(Self {
            outcome: PolicyOutcome {
                name: row.try_get("name")?,
                command: command.clone(),
                permissive: row.try_get("permissive")?,
                roles: row.try_get("roles")?,
                applies: false,
                using: row.try_get("using_text")?,
                check: row.try_get("check_text")?,
                evaluations: Vec::new(),
                microseconds: 0,
            },
            command,
            is_for_role: row.try_get("is_for_role")?,
        })
    }

    /// Whether it has a say about rows that are there. To update or delete rows they have to be seen.
    pub(super) fn is_about_old(&self, verb: Verb) -> bool {
        let is_meant = match verb {
            Verb::Insert => false,
            Verb::Select => self.command == "select",
            Verb::Update | Verb::Delete => {
                self.command == "select" || self.command == verb.as_str()
            }
        };
        self.is_for_role && (is_meant || (self.command == "all" && verb != Verb::Insert))
    }

    /// Whether it has a say about new rows.
    pub(super) fn is_about_new(&self, verb: Verb) -> bool {
        let is_written = matches!(verb, Verb::Insert | Verb::Update);
        self.is_for_role && is_written && (self.command == "all" || self.command == verb.as_str())
    }

    /// The condition for new rows: that for old ones, if it has no other.
    pub(super) fn check(&self) -> Option<String> {
        let outcome = &self.outcome;
        outcome.check.clone().or_else(|| outcome.using.clone())
    }
}

pub(super) async fn load(
    tx: &mut OpenTransaction,
    relation: &Relation,
    role: &str,
) -> Result<Vec<Policy>, QueryError> {
    let sql = include_str!("catalog.sql");
    let rows = tx.query(sql, &[&relation.oid, &role]).await?;
    rows.iter().map(Policy::from_row).collect()
}

/// Whether policies decide for a role. The transaction has it already.
pub(super) async fn row_security(
    tx: &mut OpenTransaction,
    relation: &Relation,
    role: &str,
    verb: Verb,
) -> Result<RowSecurity, QueryError> {
    // There is no privilege to delete columns.
    let of_columns = match verb {
        Verb::Delete => "false",
        _ => "pg_catalog.has_any_column_privilege($2::name, c.oid, $3)",
    };
    let sql = format!(
        "select c.relrowsecurity as enabled, c.relforcerowsecurity as forced,
                pg_catalog.row_security_active(c.oid) as active,
                pg_catalog.has_table_privilege($2::name, c.oid, $3) or {of_columns} as granted
         from pg_catalog.pg_class c
         where c.oid = $1"
    );
    let params: plinth_db::Params<'_> = &[&relation.oid, &role, &verb.as_str()];
    let rows = tx.query(&sql, params).await?;
    let Some(row) = rows.first() else {
        return Err(QueryError::NotFound("The table is gone".to_owned()));
    };
    Ok(RowSecurity {
        enabled: row.try_get("enabled")?,
        forced: row.try_get("forced")?,
        active: row.try_get("active")?,
        granted: row.try_get("granted")?,
    })
}
