//! Schemas.

use plinth_db::QuotedIdent;
use serde::{Deserialize, Serialize};

use super::{
    StatementError, Statements, behavior,
    names::{comment_on, new_name},
    present,
};
use crate::objects::Schema;

/// A new schema.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct NewSchema {
    /// Its name.
    pub name: String,
    /// The role that owns it; `postgres` if absent.
    #[serde(default)]
    pub owner: Option<String>,
    /// What is said about it.
    #[serde(default)]
    pub comment: Option<String>,
}

impl NewSchema {
    /// Creates it.
    pub fn create(&self) -> Result<Statements, StatementError> {
        let name = new_name("a schema", &self.name)?;
        let owner = self.owner.as_deref().unwrap_or("postgres");
        let owner = new_name("a role", owner)?;
        let mut statements = vec![format!("create schema {name} authorization {owner}")];
        if let Some(comment) = &self.comment {
            statements.push(comment_on(format_args!("schema {name}"), Some(comment))?);
        }
        Ok(statements)
    }
}

/// Changes of a schema.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct SchemaChanges {
    /// Its new name.
    #[serde(default)]
    pub name: Option<String>,
    /// Its new owner.
    #[serde(default)]
    pub owner: Option<String>,
    /// What is said about it; null for nothing.
    #[serde(default, deserialize_with = "present")]
    pub comment: Option<Option<String>>,
}

impl SchemaChanges {
    /// Applies them.
    pub fn alter(&self, old: &Schema) -> Result<Statements, StatementError> {
        let old_name = QuotedIdent::new(&old.name);
        let mut statements = Vec::new();
        if let Some(comment) = &self.comment {
            statements.push(comment_on(
                format_args!("schema {old_name}"),
                comment.as_deref(),
            )?);
        }
        if let Some(owner) = &self.owner {
            let owner = new_name("a role", owner)?;
            statements.push(format!("alter schema {old_name} owner to {owner}"));
        }
        if let Some(name) = self.name.as_ref().filter(|name| **name != old.name) {
            let name = new_name("a schema", name)?;
            statements.push(format!("alter schema {old_name} rename to {name}"));
        }
        Ok(statements)
    }
}

impl Schema {
    /// Drops it.
    pub fn drop_sql(&self, cascade: bool) -> Statements {
        let name = QuotedIdent::new(&self.name);
        vec![format!("drop schema {name} {}", behavior(cascade))]
    }
}
