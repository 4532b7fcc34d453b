//! Extensions.

use plinth_db::QuotedIdent;
use serde::{Deserialize, Serialize};

use super::{
    StatementError, Statements, behavior,
    names::{literal, new_name},
};
use crate::objects::Extension;

/// An extension to install.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct NewExtension {
    /// Its name.
    pub name: String,
    /// Where its objects go; where it says itself if absent.
    #[serde(default)]
    pub schema: Option<String>,
    /// Its version; the default one if absent.
    #[serde(default)]
    pub version: Option<String>,
    /// Whether those that it needs are installed too.
    #[serde(default)]
    pub cascade: bool,
}

impl NewExtension {
    /// Installs it.
    pub fn create(&self) -> Result<Statements, StatementError> {
        let mut sql = format!("create extension {}", new_name("an extension", &self.name)?);
        if let Some(schema) = &self.schema {
            sql += &format!(" schema {}", new_name("a schema", schema)?);
        }
        if let Some(version) = &self.version {
            sql += &format!(" version {}", literal(version)?);
        }
        if self.cascade {
            sql += " cascade";
        }
        Ok(vec![sql])
    }
}

/// Changes of an installed extension.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct ExtensionChanges {
    /// Whether it is brought to another version.
    #[serde(default)]
    pub update: bool,
    /// That version; the default one if absent.
    #[serde(default)]
    pub version: Option<String>,
    /// Where its objects go.
    #[serde(default)]
    pub schema: Option<String>,
}

impl ExtensionChanges {
    /// Applies them.
    pub fn alter(&self, old: &Extension) -> Result<Statements, StatementError> {
        let name = QuotedIdent::new(&old.name);
        let mut statements = Vec::new();
        if self.update {
            let version = self.version.as_deref().map(literal).transpose()?;
            let to = version.map_or_else(String::new, |version| format!(" to {version}"));
            statements.push(format!("alter extension {name} update{to}"));
        }
        if let Some(schema) = &self.schema {
            let schema = new_name("a schema", schema)?;
            statements.push(format!("alter extension {name} set schema {schema}"));
        }
        Ok(statements)
    }
}

impl Extension {
    /// Removes it.
    pub fn drop_sql(&self, cascade: bool) -> Statements {
        let name = QuotedIdent::new(&self.name);
        vec![format!("drop extension {name} {}", behavior(cascade))]
    }
}
