//! Publications.

use plinth_db::QuotedIdent;
use serde::{Deserialize, Serialize};

use super::{
    StatementError, Statements,
    names::{Relation, new_name},
    present,
};
use crate::objects::Publication;

/// A new publication.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct NewPublication {
    /// Its name.
    pub name: String,
    /// Whether inserts are published.
    #[serde(default)]
    pub publish_insert: bool,
    /// Whether updates are.
    #[serde(default)]
    pub publish_update: bool,
    /// Whether deletes are.
    #[serde(default)]
    pub publish_delete: bool,
    /// Whether truncations are.
    #[serde(default)]
    pub publish_truncate: bool,
    /// Its tables, each `schema.table` or a table of `public`; null for all.
    #[serde(default)]
    pub tables: Option<Vec<String>>,
}

impl NewPublication {
    /// Creates it.
    pub fn create(&self) -> Result<Statements, StatementError> {
        let name = new_name("a publication", &self.name)?;
        let tables = match self.tables.as_deref() {
            None => " for all tables".to_owned(),
            Some([]) => String::new(),
            Some(tables) => format!(" for table {}", table_list(tables)?),
        };
        let publish = publish([
            self.publish_insert,
            self.publish_update,
            self.publish_delete,
            self.publish_truncate,
        ]);
        Ok(vec![format!(
            "create publication {name}{tables} with (publish = '{publish}')"
        )])
    }
}

fn publish(events: [bool; 4]) -> String {
    let names = ["insert", "update", "delete", "truncate"];
    let published = names.iter().zip(events).filter(|(_, is_so)| *is_so);
    let published: Vec<&str> = published.map(|(name, _)| *name).collect();
    published.join(", ")
}

/// What follows the first dot is the name, whatever it contains.
fn table_list(tables: &[String]) -> Result<String, StatementError> {
    let tables = tables.iter().map(|table| {
        let (schema, name) = table.split_once('.').unwrap_or(("public", table));
        Ok(Relation::checked("a table", schema, name)?.to_string())
    });
    Ok(tables
        .collect::<Result<Vec<_>, StatementError>>()?
        .join(", "))
}

/// Changes of a publication.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct PublicationChanges {
    /// Its new name.
    #[serde(default)]
    pub name: Option<String>,
    /// Its new owner.
    #[serde(default)]
    pub owner: Option<String>,
    /// Whether inserts are published.
    #[serde(default)]
    pub publish_insert: Option<bool>,
    /// Whether updates are.
    #[serde(default)]
    pub publish_update: Option<bool>,
    /// Whether deletes are.
    #[serde(default)]
    pub publish_delete: Option<bool>,
    /// Whether truncations are.
    #[serde(default)]
    pub publish_truncate: Option<bool>,
    /// Its tables, each `schema.table` or a table of `public`; null for all.
    #[serde(default, deserialize_with = "present")]
    pub tables: Option<Option<Vec<String>>>,
}

impl PublicationChanges {
    /// Applies them.
    pub fn alter(&self, old: &Publication) -> Result<Statements, StatementError> {
        let name = QuotedIdent::new(&old.name);
        let alter = format!("alter publication {name}");
        let mut statements = Vec::new();
        match (&self.tables, &old.tables) {
            (None, _) | (Some(None), None) => {}
            // There is no way from a list to all tables, nor back.
            (Some(None), Some(_)) => {
                statements.push(format!("drop publication {name}"));
                statements.push(format!("create publication {name} for all tables"));
            }
            (Some(Some(tables)), None) => {
                statements.push(format!("drop publication {name}"));
                let list = match tables.as_slice() {
                    [] => String::new(),
                    tables => format!(" for table {}", table_list(tables)?),
                };
                statements.push(format!("create publication {name}{list}"));
            }
            (Some(Some(tables)), Some(present)) if tables.is_empty() => {
                if !present.is_empty() {
                    let present = present
                        .iter()
                        .map(|table| Relation::new(&table.schema, &table.name).to_string());
                    let present: Vec<String> = present.collect();
                    statements.push(format!("{alter} drop table {}", present.join(", ")));
                }
            }
            (Some(Some(tables)), Some(_)) => {
                statements.push(format!("{alter} set table {}", table_list(tables)?));
            }
        }
        let events = [
            (self.publish_insert, old.publish_insert),
            (self.publish_update, old.publish_update),
            (self.publish_delete, old.publish_delete),
            (self.publish_truncate, old.publish_truncate),
        ];
        let is_new = !statements.is_empty();
        if is_new || events.iter().any(|(new, _)| new.is_some()) {
            let publish = publish(events.map(|(new, old)| new.unwrap_or(old)));
            statements.push(format!("{alter} set (publish = '{publish}')"));
        }
        if let Some(owner) = &self.owner {
            statements.push(format!("{alter} owner to {}", new_name("a role", owner)?));
        }
        if let Some(new) = self.name.as_ref().filter(|new| **new != old.name) {
            let new = new_name("a publication", new)?;
            statements.push(format!("{alter} rename to {new}"));
        }
        Ok(statements)
    }
}

impl Publication {
    /// Drops it.
    pub fn drop_sql(&self) -> Statements {
        vec![format!("drop publication {}", QuotedIdent::new(&self.name))]
    }
}
