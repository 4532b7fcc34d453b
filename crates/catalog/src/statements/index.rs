//! Indexes.

use serde::{Deserialize, Serialize};

use super::{
    StatementError, Statements, behavior,
    fragment::in_parentheses,
    names::{Relation, comment_on, name_list, new_name},
    present,
};
use crate::objects::Index;

/// In which order an index has its values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SortOrder {
    /// The smallest first.
    Asc,
    /// The largest first.
    Desc,
}

/// Where an index has its nulls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NullsPlace {
    /// Before all values.
    First,
    /// After all values.
    Last,
}

/// A column or an expression of a new index.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct IndexPart {
    /// The column; this or an expression.
    #[serde(default)]
    pub column: Option<String>,
    /// The expression.
    #[serde(default)]
    pub expression: Option<String>,
    /// The collation, with or without its schema.
    #[serde(default)]
    pub collation: Option<String>,
    /// The operator class, with or without its schema.
    #[serde(default)]
    pub operator_class: Option<String>,
    /// The order.
    #[serde(default)]
    pub order: Option<SortOrder>,
    /// Where nulls are.
    #[serde(default)]
    pub nulls: Option<NullsPlace>,
}

impl IndexPart {
    fn sql(&self) -> Result<String, StatementError> {
        let mut sql = match (&self.column, &self.expression) {
            (Some(column), None) => new_name("a column", column)?.to_string(),
            (None, Some(expression)) => in_parentheses("An expression", expression)?,
            _ => {
                return Err(StatementError::new(
                    "Each part of an index is a column or an expression",
                ));
            }
        };
        if let Some(collation) = &self.collation {
            sql += &format!(" collate {}", dotted("a collation", collation)?);
        }
        if let Some(class) = &self.operator_class {
            sql += &format!(" {}", dotted("an operator class", class)?);
        }
        match self.order {
            Some(SortOrder::Asc) => sql += " asc",
            Some(SortOrder::Desc) => sql += " desc",
            None => {}
        }
        match self.nulls {
            Some(NullsPlace::First) => sql += " nulls first",
            Some(NullsPlace::Last) => sql += " nulls last",
            None => {}
        }
        Ok(sql)
    }
}

/// `schema.name` or `name`, quoted.
fn dotted(what: &str, name: &str) -> Result<String, StatementError> {
    match name.split_once('.') {
        Some((schema, name)) => Ok(Relation::checked(what, schema, name)?.to_string()),
        None => Ok(new_name(what, name)?.to_string()),
    }
}

/// A new index.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct NewIndex {
    /// The oid of its table.
    pub table_id: u32,
    /// Its name; PostgreSQL gives it one if absent.
    #[serde(default)]
    pub name: Option<String>,
    /// The access method; `btree` if absent.
    #[serde(default)]
    pub method: Option<String>,
    /// What rows are found by.
    pub parts: Vec<IndexPart>,
    /// Columns that it has besides.
    #[serde(default)]
    pub include: Vec<String>,
    /// The rows that it has.
    #[serde(default, rename = "where")]
    pub condition: Option<String>,
    /// Whether values are unique.
    #[serde(default)]
    pub is_unique: bool,
    /// Whether two nulls are the same.
    #[serde(default)]
    pub nulls_not_distinct: bool,
    /// Whether others may write meanwhile: slower, and outside of a transaction.
    #[serde(default = "yes")]
    pub concurrently: bool,
    /// What is said about it; only with a name.
    #[serde(default)]
    pub comment: Option<String>,
}

fn yes() -> bool {
    true
}

impl NewIndex {
    /// Creates it.
    pub fn create(&self, table: Relation<'_>) -> Result<Statements, StatementError> {
        if self.parts.is_empty() {
            return Err(StatementError::new(
                "An index needs a column or an expression",
            ));
        }
        let unique = if self.is_unique { "unique " } else { "" };
        let concurrently = concurrently(self.concurrently);
        let mut sql = format!("create {unique}index {concurrently}");
        if let Some(name) = &self.name {
            sql += &format!("{} ", new_name("an index", name)?);
        }
        let method = new_name(
            "an access method",
            self.method.as_deref().unwrap_or("btree"),
        )?;
        let parts = self.parts.iter().map(IndexPart::sql);
        let parts = parts.collect::<Result<Vec<_>, _>>()?.join(", ");
        sql += &format!("on {table} using {method} ({parts})");
        if !self.include.is_empty() {
            sql += &format!(" include ({})", name_list("a column", &self.include)?);
        }
        if self.nulls_not_distinct {
            sql += " nulls not distinct";
        }
        if let Some(condition) = &self.condition {
            sql += " where ";
            sql += &in_parentheses("A condition", condition)?;
        }
        let mut statements = vec![sql];
        if let Some(comment) = &self.comment {
            let Some(name) = &self.name else {
                return Err(StatementError::new("A comment needs an index with a name"));
            };
            let index = Relation::new(table.schema, name);
            statements.push(comment_on(format_args!("index {index}"), Some(comment))?);
        }
        Ok(statements)
    }
}

fn concurrently(is_so: bool) -> &'static str {
    if is_so { "concurrently " } else { "" }
}

/// Changes of an index.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct IndexChanges {
    /// Its new name.
    #[serde(default)]
    pub name: Option<String>,
    /// What is said about it; null for nothing.
    #[serde(default, deserialize_with = "present")]
    pub comment: Option<Option<String>>,
}

impl IndexChanges {
    /// Applies them.
    pub fn alter(&self, old: &Index) -> Result<Statements, StatementError> {
        let index = Relation::new(&old.schema, &old.name);
        let mut statements = Vec::new();
        if let Some(comment) = &self.comment {
            statements.push(comment_on(
                format_args!("index {index}"),
                comment.as_deref(),
            )?);
        }
        if let Some(name) = self.name.as_ref().filter(|name| **name != old.name) {
            let name = new_name("an index", name)?;
            statements.push(format!("alter index {index} rename to {name}"));
        }
        Ok(statements)
    }
}

impl Index {
    /// Drops it. What a constraint needs is dropped with the constraint.
    pub fn drop_sql(
        &self,
        is_concurrent: bool,
        cascade: bool,
    ) -> Result<Statements, StatementError> {
        if let Some(constraint) = &self.constraint {
            return Err(StatementError::new(format!(
                "The index belongs to the constraint {constraint}; drop that"
            )));
        }
        if is_concurrent && cascade {
            return Err(StatementError::new(
                "What depends on an index cannot be dropped concurrently",
            ));
        }
        let index = Relation::new(&self.schema, &self.name);
        let concurrently = concurrently(is_concurrent);
        Ok(vec![format!(
            "drop index {concurrently}{index} {}",
            behavior(cascade)
        )])
    }

    /// Builds it anew.
    pub fn rebuild_sql(&self, is_concurrent: bool) -> Statements {
        let index = Relation::new(&self.schema, &self.name);
        let concurrently = concurrently(is_concurrent);
        vec![format!("reindex index {concurrently}{index}")]
    }
}
