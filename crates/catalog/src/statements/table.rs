//! Tables.

use plinth_db::QuotedIdent;
use serde::{Deserialize, Serialize};

use super::{
    NewColumn, NewForeignKey, StatementError, Statements, behavior,
    names::{Relation, comment_on, name_list, new_name},
    present,
    privileges::privilege,
};
use crate::objects::{ReplicaIdentity, Table};

/// The publication that clients are told of changes by.
const REALTIME: &str = "supabase_realtime";

/// Privileges on a new table.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TableGrant {
    /// Who gets them.
    pub role: String,
    /// Such as `SELECT`; none takes all away.
    pub privileges: Vec<String>,
}

/// A new table. postgres-meta knows name, schema and comment.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct NewTable {
    /// Its name.
    pub name: String,
    /// Its schema; `public` if absent.
    #[serde(default)]
    pub schema: Option<String>,
    /// What is said about it.
    #[serde(default)]
    pub comment: Option<String>,
    /// Its columns.
    #[serde(default)]
    pub columns: Vec<NewColumn>,
    /// Its foreign keys.
    #[serde(default)]
    pub foreign_keys: Vec<NewForeignKey>,
    /// Whether policies apply.
    #[serde(default)]
    pub rls_enabled: bool,
    /// Whether clients are told of its changes.
    #[serde(default)]
    pub realtime: bool,
    /// What roles of the API may do with it, where that is not the default.
    #[serde(default)]
    pub grants: Vec<TableGrant>,
}

impl NewTable {
    /// Its schema.
    pub fn schema(&self) -> &str {
        self.schema.as_deref().unwrap_or("public")
    }

    /// Creates it.
    pub fn create(&self) -> Result<Statements, StatementError> {
        let table = Relation::checked("a table", self.schema(), &self.name)?;
        let keys: Vec<&str> = self
            .columns
            .iter()
            .filter(|column| column.is_primary_key)
            .map(|column| column.name.as_str())
            .collect();
        let mut parts = Vec::new();
        for column in &self.columns {
            parts.push(column.definition(keys.len() == 1)?);
        }
        if keys.len() > 1 {
            parts.push(format!("primary key ({})", name_list("a column", &keys)?));
        }
        for key in &self.foreign_keys {
            parts.push(key.definition()?);
        }
        let body = match parts.as_slice() {
            [] => "()".to_owned(),
            parts => format!("(\n  {}\n)", parts.join(",\n  ")),
        };
        let mut statements = vec![format!("create table {table} {body}")];
        if let Some(comment) = &self.comment {
            statements.push(comment_on(format_args!("table {table}"), Some(comment))?);
        }
        for column in &self.columns {
            statements.extend(column.comment_sql(table)?);
        }
        if self.rls_enabled {
            statements.push(format!("alter table {table} enable row level security"));
        }
        for grant in &self.grants {
            statements.extend(grant.sql(table)?);
        }
        if self.realtime {
            statements.push(realtime_sql(table, true));
        }
        Ok(statements)
    }
}

impl TableGrant {
    /// Exactly these privileges.
    fn sql(&self, table: Relation<'_>) -> Result<Statements, StatementError> {
        let role = new_name("a role", &self.role)?;
        let mut statements = vec![format!("revoke all on table {table} from {role}")];
        let privileges: Vec<&str> = self
            .privileges
            .iter()
            .map(|name| privilege(name))
            .collect::<Result<_, _>>()?;
        if !privileges.is_empty() {
            let privileges = privileges.join(", ");
            statements.push(format!("grant {privileges} on table {table} to {role}"));
        }
        Ok(statements)
    }
}

fn realtime_sql(table: Relation<'_>, is_published: bool) -> String {
    let verb = if is_published { "add" } else { "drop" };
    format!("alter publication {REALTIME} {verb} table {table}")
}

/// A column of the primary key.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PrimaryKeyPart {
    /// Its name.
    pub name: String,
}

/// Changes of a table.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct TableChanges {
    /// Its new name.
    #[serde(default)]
    pub name: Option<String>,
    /// Its new schema.
    #[serde(default)]
    pub schema: Option<String>,
    /// Whether policies apply.
    #[serde(default)]
    pub rls_enabled: Option<bool>,
    /// Whether they apply to the owner too.
    #[serde(default)]
    pub rls_forced: Option<bool>,
    /// What the WAL says of changed rows.
    #[serde(default)]
    pub replica_identity: Option<ReplicaIdentity>,
    /// The index that `INDEX` names.
    #[serde(default)]
    pub replica_identity_index: Option<String>,
    /// Its primary key; an empty list for none.
    #[serde(default)]
    pub primary_keys: Option<Vec<PrimaryKeyPart>>,
    /// What is said about it; null for nothing.
    #[serde(default, deserialize_with = "present")]
    pub comment: Option<Option<String>>,
    /// Whether clients are told of its changes.
    #[serde(default)]
    pub realtime: Option<bool>,
}

impl TableChanges {
    /// Applies them. `primary_key` is the name of the present one.
    pub fn alter(
        &self,
        old: &Table,
        primary_key: Option<&str>,
    ) -> Result<Statements, StatementError> {
        let table = Relation::new(&old.schema, &old.name);
        let alter = format!("alter table {table}");
        let mut statements = Vec::new();
        if let Some(is_enabled) = self.rls_enabled {
            let verb = if is_enabled { "enable" } else { "disable" };
            statements.push(format!("{alter} {verb} row level security"));
        }
        if let Some(is_forced) = self.rls_forced {
            let verb = if is_forced { "force" } else { "no force" };
            statements.push(format!("{alter} {verb} row level security"));
        }
        // Before the identity, which may be an index of the new key.
        if let Some(parts) = &self.primary_keys {
            if let Some(name) = primary_key {
                let name = QuotedIdent::new(name);
                statements.push(format!("{alter} drop constraint {name}"));
            }
            if !parts.is_empty() {
                let names: Vec<&str> = parts.iter().map(|part| part.name.as_str()).collect();
                let columns = name_list("a column", &names)?;
                statements.push(format!("{alter} add primary key ({columns})"));
            }
        }
        statements.extend(self.replica_identity(&alter)?);
        if let Some(is_published) = self.realtime {
            statements.push(realtime_sql(table, is_published));
        }
        if let Some(comment) = &self.comment {
            statements.push(comment_on(
                format_args!("table {table}"),
                comment.as_deref(),
            )?);
        }
        let schema = self.schema.as_deref().unwrap_or(&old.schema);
        if schema != old.schema {
            let schema = new_name("a schema", schema)?;
            statements.push(format!("{alter} set schema {schema}"));
        }
        if let Some(name) = self.name.as_ref().filter(|name| **name != old.name) {
            let moved = Relation::new(schema, &old.name);
            let name = new_name("a table", name)?;
            statements.push(format!("alter table {moved} rename to {name}"));
        }
        Ok(statements)
    }

    fn replica_identity(&self, alter: &str) -> Result<Option<String>, StatementError> {
        let identity = match (self.replica_identity, &self.replica_identity_index) {
            (None, None) => return Ok(None),
            (Some(ReplicaIdentity::Index), Some(index)) => {
                format!("using index {}", new_name("an index", index)?)
            }
            (Some(ReplicaIdentity::Default), None) => "default".to_owned(),
            (Some(ReplicaIdentity::Full), None) => "full".to_owned(),
            (Some(ReplicaIdentity::Nothing), None) => "nothing".to_owned(),
            (Some(ReplicaIdentity::Index), None) => {
                return Err(StatementError::new(
                    "The replica identity INDEX needs `replica_identity_index`",
                ));
            }
            (_, Some(_)) => {
                return Err(StatementError::new(
                    "`replica_identity_index` is for the replica identity INDEX",
                ));
            }
        };
        Ok(Some(format!("{alter} replica identity {identity}")))
    }
}

impl Table {
    /// Drops it.
    pub fn drop_sql(&self, cascade: bool) -> Statements {
        let table = Relation::new(&self.schema, &self.name);
        vec![format!("drop table {table} {}", behavior(cascade))]
    }

    /// Removes its rows, and with `cascade` those of tables that refer to it.
    pub fn truncate_sql(&self, cascade: bool) -> Statements {
        let table = Relation::new(&self.schema, &self.name);
        vec![format!("truncate table {table} {}", behavior(cascade))]
    }
}
