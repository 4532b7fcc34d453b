//! Requests for changes as SQL statements (console contract N7, F41). Values in, text out: nothing
//! here runs a statement.
//!
//! Names are always quoted and values always literals. What is SQL by its nature (expressions, types,
//! bodies and arguments of functions) is passed on, after a check that it cannot leave its place
//! (`fragment.rs`).

mod column;
mod constraint;
mod duplicate;
mod extension;
mod fragment;
mod function;
mod index;
mod names;
mod policy;
mod privileges;
mod publication;
mod role;
mod schema;
mod table;
mod trigger;
mod type_name;
mod types;

use serde::{Deserialize, Deserializer};

pub use column::{ColumnChanges, DefaultFormat, NewColumn, NewColumnOfTable, cast_check};
pub use constraint::{ConstraintChanges, NewConstraint, NewConstraintKind, NewForeignKey};
pub use duplicate::{Duplicate, Original};
pub use extension::{ExtensionChanges, NewExtension};
pub use function::{FunctionChanges, NewFunction};
pub use index::{IndexChanges, IndexPart, NewIndex, NullsPlace, SortOrder};
pub use policy::{NewPolicy, PolicyChanges};
pub use privileges::{ColumnGrant, Grantee, RelationGrant, grant_sql};
pub use publication::{NewPublication, PublicationChanges};
pub use role::{NewRole, RoleChanges, SettingChange, SettingOperation};
pub use schema::{NewSchema, SchemaChanges};
pub use table::{NewTable, PrimaryKeyPart, TableChanges, TableGrant};
pub use trigger::{NewTrigger, TriggerChanges};
pub use type_name::TypeName;
pub use types::{AddedLabel, NewAttribute, NewType, NewTypeKind, RenamedLabel, TypeChanges};

pub use names::{Relation, check_name};

/// The request cannot become a statement; the text says why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct StatementError(String);

impl StatementError {
    fn new(reason: impl Into<String>) -> Self {
        Self(reason.into())
    }
}

/// Statements in their order, each without a semicolon.
pub type Statements = Vec<String>;

/// The statements as one text, to read and to keep.
pub fn to_script(statements: &[String]) -> String {
    let mut script = String::new();
    for statement in statements {
        if !script.is_empty() {
            script.push('\n');
        }
        script.push_str(statement);
        // A comment at the end would hide the semicolon.
        let last_line = statement.lines().next_back().unwrap_or_default();
        script.push_str(if last_line.contains("--") { "\n;" } else { ";" });
    }
    script
}

/// `cascade` or `restrict` after a DROP.
fn behavior(cascade: bool) -> &'static str {
    if cascade { "cascade" } else { "restrict" }
}

/// Keeps apart what is absent and what is null.
fn present<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    T::deserialize(deserializer).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_ends_each_statement() {
        let script = |texts: &[&str]| {
            to_script(
                &texts
                    .iter()
                    .map(|&text| text.to_owned())
                    .collect::<Vec<_>>(),
            )
        };
        assert_eq!(script(&["select 1", "select 2"]), "select 1;\nselect 2;");
        assert_eq!(script(&["select 1 -- one"]), "select 1 -- one\n;");
        assert_eq!(script(&[]), "");
    }
}
