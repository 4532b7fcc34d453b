//! Types: enums, composites and domains.

use plinth_db::QuotedIdent;
use serde::{Deserialize, Serialize};

use super::{
    StatementError, Statements, TypeName, behavior,
    fragment::in_parentheses,
    names::{Relation, comment_on, literal, new_name},
    present,
};
use crate::objects::{TypeKind, UserType};

/// The longest label of an enum, in bytes.
const MAX_LABEL_BYTES: usize = 63;

/// An attribute of a new composite type.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct NewAttribute {
    /// Its name.
    pub name: String,
    /// Its type, as in SQL or a name.
    #[serde(rename = "type")]
    pub type_: String,
}

/// What kind of type a new one is.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum NewTypeKind {
    /// One of several labels.
    Enum {
        /// The labels, in order.
        enums: Vec<String>,
    },
    /// A row.
    Composite {
        /// Its attributes.
        attributes: Vec<NewAttribute>,
    },
    /// Another type with checks.
    Domain {
        /// The type beneath.
        base_type: String,
        /// An expression for its default.
        #[serde(default)]
        default_value: Option<String>,
        /// Whether null is none of its values.
        #[serde(default)]
        not_null: bool,
        /// A condition on `value`.
        #[serde(default)]
        check: Option<String>,
    },
}

/// A new type.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct NewType {
    /// Its name.
    pub name: String,
    /// Its schema; `public` if absent.
    #[serde(default)]
    pub schema: Option<String>,
    /// What it is.
    #[serde(flatten)]
    pub kind: NewTypeKind,
    /// What is said about it.
    #[serde(default)]
    pub comment: Option<String>,
}

impl NewType {
    /// Its schema.
    pub fn schema(&self) -> &str {
        self.schema.as_deref().unwrap_or("public")
    }

    /// Creates it.
    pub fn create(&self) -> Result<Statements, StatementError> {
        let name = Relation::checked("a type", self.schema(), &self.name)?;
        let (keyword, sql) = match &self.kind {
            NewTypeKind::Enum { enums } => {
                let labels = enums.iter().map(|text| label(text));
                let labels = labels.collect::<Result<Vec<_>, _>>()?.join(", ");
                ("type", format!("create type {name} as enum ({labels})"))
            }
            NewTypeKind::Composite { attributes } => {
                let attributes = attributes.iter().map(|attribute| {
                    let type_ = TypeName::parse(&attribute.type_)?.sql();
                    Ok(format!(
                        "{} {type_}",
                        new_name("an attribute", &attribute.name)?
                    ))
                });
                let attributes = attributes.collect::<Result<Vec<_>, StatementError>>()?;
                let attributes = attributes.join(", ");
                ("type", format!("create type {name} as ({attributes})"))
            }
            NewTypeKind::Domain {
                base_type,
                default_value,
                not_null,
                check,
            } => {
                let base = TypeName::parse(base_type)?.sql();
                let mut sql = format!("create domain {name} as {base}");
                if let Some(expression) = default_value {
                    sql += " default ";
                    sql += &in_parentheses("A default", expression)?;
                }
                if *not_null {
                    sql += " not null";
                }
                if let Some(check) = check {
                    sql += " check ";
                    sql += &in_parentheses("A check", check)?;
                }
                ("domain", sql)
            }
        };
        let mut statements = vec![sql];
        if let Some(comment) = &self.comment {
            statements.push(comment_on(format_args!("{keyword} {name}"), Some(comment))?);
        }
        Ok(statements)
    }
}

fn label(text: &str) -> Result<String, StatementError> {
    if text.is_empty() || text.len() > MAX_LABEL_BYTES {
        return Err(StatementError::new(format!(
            "A label has 1 to {MAX_LABEL_BYTES} bytes; {text:?} has {}",
            text.len()
        )));
    }
    literal(text)
}

/// A new label of an enum.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AddedLabel {
    /// The label.
    pub value: String,
    /// The label that it comes before.
    #[serde(default)]
    pub before: Option<String>,
    /// The label that it comes after; the last one if neither is given.
    #[serde(default)]
    pub after: Option<String>,
}

/// A label of an enum under another name.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RenamedLabel {
    /// The present label.
    pub from: String,
    /// The new one.
    pub to: String,
}

/// Changes of a type. PostgreSQL cannot remove a label: rows and indexes may have it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct TypeChanges {
    /// Its new name.
    #[serde(default)]
    pub name: Option<String>,
    /// Its new schema.
    #[serde(default)]
    pub schema: Option<String>,
    /// Labels with another name.
    #[serde(default)]
    pub rename_values: Vec<RenamedLabel>,
    /// New labels.
    #[serde(default)]
    pub add_values: Vec<AddedLabel>,
    /// What is said about it; null for nothing.
    #[serde(default, deserialize_with = "present")]
    pub comment: Option<Option<String>>,
}

impl TypeChanges {
    /// Applies them.
    pub fn alter(&self, old: &UserType) -> Result<Statements, StatementError> {
        let has_labels = !self.rename_values.is_empty() || !self.add_values.is_empty();
        if has_labels && old.kind != TypeKind::Enum {
            return Err(StatementError::new(format!("{} has no labels", old.name)));
        }
        let keyword = keyword(old);
        let name = Relation::new(&old.schema, &old.name);
        let alter = format!("alter {keyword} {name}");
        let mut statements = Vec::new();
        for RenamedLabel { from, to } in &self.rename_values {
            let (from, to) = (label(from)?, label(to)?);
            statements.push(format!("{alter} rename value {from} to {to}"));
        }
        for AddedLabel {
            value,
            before,
            after,
        } in &self.add_values
        {
            let place = match (before, after) {
                (Some(_), Some(_)) => {
                    return Err(StatementError::new(
                        "A label is before or after another one, not both",
                    ));
                }
                (Some(other), None) => format!(" before {}", label(other)?),
                (None, Some(other)) => format!(" after {}", label(other)?),
                (None, None) => String::new(),
            };
            statements.push(format!("{alter} add value {}{place}", label(value)?));
        }
        if let Some(comment) = &self.comment {
            statements.push(comment_on(
                format_args!("{keyword} {name}"),
                comment.as_deref(),
            )?);
        }
        let schema = self.schema.as_deref().unwrap_or(&old.schema);
        if schema != old.schema {
            let schema = new_name("a schema", schema)?;
            statements.push(format!("{alter} set schema {schema}"));
        }
        if let Some(new) = self.name.as_ref().filter(|new| **new != old.name) {
            let moved = Relation::new(schema, &old.name);
            let new = new_name("a type", new)?;
            statements.push(format!("alter {keyword} {moved} rename to {new}"));
        }
        Ok(statements)
    }
}

fn keyword(of: &UserType) -> &'static str {
    match of.kind {
        TypeKind::Domain => "domain",
        _ => "type",
    }
}

impl UserType {
    /// Drops it.
    pub fn drop_sql(&self, cascade: bool) -> Statements {
        let schema = QuotedIdent::new(&self.schema);
        let name = QuotedIdent::new(&self.name);
        let keyword = keyword(self);
        vec![format!(
            "drop {keyword} {schema}.{name} {}",
            behavior(cascade)
        )]
    }
}
