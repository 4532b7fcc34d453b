//! Columns.

use plinth_db::QuotedIdent;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    StatementError, Statements, TypeName, behavior,
    fragment::in_parentheses,
    names::{Relation, comment_on, literal, new_name},
    present,
};
use crate::objects::{Column, Constraint, ConstraintKind, IdentityGeneration};

/// What a default is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DefaultFormat {
    /// A value.
    #[default]
    Literal,
    /// An expression of SQL.
    Expression,
}

/// A new column.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct NewColumn {
    /// Its name.
    pub name: String,
    /// Its type, as in SQL or a name.
    #[serde(rename = "type")]
    pub type_: String,
    /// Its default.
    #[serde(default, deserialize_with = "present")]
    pub default_value: Option<Value>,
    /// What the default is.
    #[serde(default)]
    pub default_value_format: DefaultFormat,
    /// Whether the database numbers the rows.
    #[serde(default)]
    pub is_identity: bool,
    /// Whether a statement may give a number of its own; it may if absent.
    #[serde(default)]
    pub identity_generation: Option<IdentityGeneration>,
    /// Whether it may be null; if absent, as PostgreSQL decides.
    #[serde(default)]
    pub is_nullable: Option<bool>,
    /// Whether it is the primary key.
    #[serde(default)]
    pub is_primary_key: bool,
    /// Whether each row has a value of its own.
    #[serde(default)]
    pub is_unique: bool,
    /// What is said about it.
    #[serde(default)]
    pub comment: Option<String>,
    /// A condition on its values.
    #[serde(default)]
    pub check: Option<String>,
    /// The expression that computes it from others of its row.
    #[serde(default)]
    pub generated: Option<String>,
}

/// A new column of a table that exists.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct NewColumnOfTable {
    /// The oid of its table.
    pub table_id: u32,
    /// The column.
    #[serde(flatten)]
    pub column: NewColumn,
}

impl NewColumn {
    /// The definition in `create table` and after `add column`. `with_key` is false where the primary
    /// key has several columns.
    pub(super) fn definition(&self, with_key: bool) -> Result<String, StatementError> {
        let type_ = TypeName::parse(&self.type_)?;
        let mut sql = format!("{} {}", new_name("a column", &self.name)?, type_.sql());
        let has_default = self.default_value.is_some();
        if self.is_identity {
            if has_default || self.generated.is_some() {
                return Err(StatementError::new(
                    "Columns cannot both be identity and have a default value",
                ));
            }
            let generation = self
                .identity_generation
                .unwrap_or(IdentityGeneration::ByDefault);
            sql += &format!(" generated {} as identity", generation.as_sql());
        } else if let Some(expression) = &self.generated {
            if has_default {
                return Err(StatementError::new(
                    "A generated column has no default value",
                ));
            }
            let expression = in_parentheses("The expression of a generated column", expression)?;
            sql += &format!(" generated always as {expression} stored");
        } else if let Some(value) = &self.default_value {
            sql += " default ";
            sql += &default_sql(value, self.default_value_format, &type_)?;
        }
        match self.is_nullable {
            Some(true) => sql += " null",
            Some(false) => sql += " not null",
            None => {}
        }
        if self.is_primary_key && with_key {
            sql += " primary key";
        }
        if self.is_unique {
            sql += " unique";
        }
        if let Some(check) = &self.check {
            sql += " check ";
            sql += &in_parentheses("A check", check)?;
        }
        Ok(sql)
    }

    /// Adds it to a table.
    pub fn add(&self, table: Relation<'_>) -> Result<Statements, StatementError> {
        let definition = self.definition(true)?;
        let mut statements = vec![format!("alter table {table} add column {definition}")];
        statements.extend(self.comment_sql(table)?);
        Ok(statements)
    }

    pub(super) fn comment_sql(
        &self,
        table: Relation<'_>,
    ) -> Result<Option<String>, StatementError> {
        let name = QuotedIdent::new(&self.name);
        let comment = self
            .comment
            .as_deref()
            .map(|comment| comment_on(format_args!("column {table}.{name}"), Some(comment)));
        comment.transpose()
    }
}

fn default_sql(
    value: &Value,
    format: DefaultFormat,
    type_: &TypeName,
) -> Result<String, StatementError> {
    match (format, value) {
        (_, Value::Null) => Ok("null".to_owned()),
        (DefaultFormat::Expression, Value::String(expression)) => {
            in_parentheses("A default", expression)
        }
        (DefaultFormat::Expression, Value::Number(_) | Value::Bool(_)) => Ok(format!("({value})")),
        (DefaultFormat::Expression, _) => Err(StatementError::new("An expression is a text")),
        (DefaultFormat::Literal, Value::String(text)) => literal(text),
        (DefaultFormat::Literal, Value::Array(items)) if type_.is_array() => {
            literal(&array_text(items))
        }
        (DefaultFormat::Literal, value) => literal(&value.to_string()),
    }
}

/// A list as PostgreSQL writes arrays.
fn array_text(items: &[Value]) -> String {
    let items: Vec<String> = items
        .iter()
        .map(|item| match item {
            Value::Null => "null".to_owned(),
            Value::Array(items) => array_text(items),
            Value::String(text) => format!("\"{}\"", escaped(text)),
            other => format!("\"{}\"", escaped(&other.to_string())),
        })
        .collect();
    format!("{{{}}}", items.join(","))
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}

/// Changes of a column.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct ColumnChanges {
    /// Its new name.
    #[serde(default)]
    pub name: Option<String>,
    /// Its new type.
    #[serde(default, rename = "type")]
    pub type_: Option<String>,
    /// How to make the new values; a cast if absent.
    #[serde(default)]
    pub using: Option<String>,
    /// Whether its default goes.
    #[serde(default)]
    pub drop_default: bool,
    /// Its new default.
    #[serde(default, deserialize_with = "present")]
    pub default_value: Option<Value>,
    /// What the default is.
    #[serde(default)]
    pub default_value_format: DefaultFormat,
    /// Whether the database numbers the rows.
    #[serde(default)]
    pub is_identity: Option<bool>,
    /// Whether a statement may give a number of its own.
    #[serde(default)]
    pub identity_generation: Option<IdentityGeneration>,
    /// Whether it may be null.
    #[serde(default)]
    pub is_nullable: Option<bool>,
    /// Whether each row has a value of its own.
    #[serde(default)]
    pub is_unique: Option<bool>,
    /// What is said about it; null for nothing.
    #[serde(default, deserialize_with = "present")]
    pub comment: Option<Option<String>>,
    /// A condition on its values; null for none.
    #[serde(default, deserialize_with = "present")]
    pub check: Option<Option<String>>,
}

impl ColumnChanges {
    /// Applies them. `constraints` are those of the table.
    pub fn alter(
        &self,
        old: &Column,
        constraints: &[Constraint],
    ) -> Result<Statements, StatementError> {
        let table = Relation::new(&old.schema, &old.table);
        let name = QuotedIdent::new(&old.name);
        let mut statements = Vec::new();
        let alter = format!("alter table {table} alter column {name}");
        if let Some(is_nullable) = self.is_nullable {
            let verb = if is_nullable { "drop" } else { "set" };
            statements.push(format!("{alter} {verb} not null"));
        }
        statements.extend(self.type_and_default(old, &alter)?);
        statements.extend(self.identity(old, &alter));
        statements.extend(self.unique(old, constraints));
        if let Some(comment) = &self.comment {
            let column = format_args!("column {table}.{name}");
            statements.push(comment_on(column, comment.as_deref())?);
        }
        statements.extend(self.check(old, constraints)?);
        if let Some(new) = self.name.as_ref().filter(|new| **new != old.name) {
            let new = new_name("a column", new)?;
            statements.push(format!("alter table {table} rename column {name} to {new}"));
        }
        if statements.is_empty() && self.using.is_some() {
            return Err(StatementError::new("`using` is of use with `type` only"));
        }
        Ok(statements)
    }

    fn type_and_default(&self, old: &Column, alter: &str) -> Result<Statements, StatementError> {
        let mut statements = Vec::new();
        let type_ = self.type_.as_deref().map(TypeName::parse).transpose()?;
        let replaces_default = self.drop_default || self.default_value.is_some();
        // The old default may have no cast to the new type.
        if self.drop_default || replaces_default && type_.is_some() && old.default_value.is_some() {
            statements.push(format!("{alter} drop default"));
        }
        if let Some(type_) = &type_ {
            let using = match &self.using {
                Some(using) => in_parentheses("`using`", using)?,
                // A cast to a type with a length would cut values without a word; what remains is
                // checked against the length.
                None => {
                    let name = QuotedIdent::new(&old.name);
                    format!("{name}::{}", type_.sql_without_modifiers())
                }
            };
            statements.push(format!(
                "{alter} set data type {} using {using}",
                type_.sql()
            ));
        }
        if !self.drop_default
            && let Some(value) = &self.default_value
        {
            let of_type = match type_ {
                Some(type_) => type_,
                None => TypeName::parse(&old.full_type)?,
            };
            let value = default_sql(value, self.default_value_format, &of_type)?;
            statements.push(format!("{alter} set default {value}"));
        }
        Ok(statements)
    }

    fn identity(&self, old: &Column, alter: &str) -> Option<String> {
        let generation = self
            .identity_generation
            .unwrap_or(IdentityGeneration::ByDefault)
            .as_sql();
        match (self.is_identity, old.is_identity) {
            (Some(false), _) => Some(format!("{alter} drop identity if exists")),
            (Some(true), false) => Some(format!("{alter} add generated {generation} as identity")),
            (_, true) if self.identity_generation.is_some() => {
                Some(format!("{alter} set generated {generation}"))
            }
            _ => None,
        }
    }

    fn unique(&self, old: &Column, constraints: &[Constraint]) -> Statements {
        let table = Relation::new(&old.schema, &old.table);
        match self.is_unique {
            Some(true) if !old.is_unique => {
                let name = QuotedIdent::new(&old.name);
                vec![format!("alter table {table} add unique ({name})")]
            }
            Some(false) => alone_on(old, constraints, ConstraintKind::Unique)
                .map(|constraint| {
                    let name = QuotedIdent::new(&constraint.name);
                    format!("alter table {table} drop constraint {name}")
                })
                .collect(),
            _ => Vec::new(),
        }
    }

    fn check(
        &self,
        old: &Column,
        constraints: &[Constraint],
    ) -> Result<Statements, StatementError> {
        let Some(check) = &self.check else {
            return Ok(Vec::new());
        };
        let table = Relation::new(&old.schema, &old.table);
        let mut statements = Vec::new();
        let first = alone_on(old, constraints, ConstraintKind::Check).min_by_key(|one| one.id);
        if let Some(first) = first {
            let name = QuotedIdent::new(&first.name);
            statements.push(format!("alter table {table} drop constraint {name}"));
        }
        if let Some(check) = check {
            let check = in_parentheses("A check", check)?;
            statements.push(format!("alter table {table} add check {check}"));
        }
        Ok(statements)
    }
}

/// Constraints of a kind that are about this column only.
fn alone_on<'a>(
    column: &'a Column,
    constraints: &'a [Constraint],
    kind: ConstraintKind,
) -> impl Iterator<Item = &'a Constraint> {
    constraints.iter().filter(move |constraint| {
        constraint.kind == kind
            && constraint.table_id == column.table_id
            && constraint.columns == [column.name.as_str()]
    })
}

impl Column {
    /// Drops it.
    pub fn drop_sql(&self, cascade: bool) -> Statements {
        let table = Relation::new(&self.schema, &self.table);
        let name = QuotedIdent::new(&self.name);
        vec![format!(
            "alter table {table} drop column {name} {}",
            behavior(cascade)
        )]
    }
}

/// What tells how many rows a change of type would fail for: statements that make a temporary
/// function, and a query with the columns `total`, `failing` and `example`, a message of PostgreSQL.
/// The caller rolls it all back.
pub fn cast_check(
    old: &Column,
    type_: &str,
    using: Option<&str>,
) -> Result<(Statements, String), StatementError> {
    let type_ = TypeName::parse(type_)?;
    let table = Relation::new(&old.schema, &old.table);
    let name = QuotedIdent::new(&old.name);
    let using = match using {
        Some(using) => in_parentheses("`using`", using)?,
        None => format!("{name}::{}", type_.sql_without_modifiers()),
    };
    let body = format!(
        "declare plinth_value {}; begin select {using} into plinth_value from (select ($1).*) \
         plinth_row; return null; exception when others then return sqlerrm; end",
        type_.sql()
    );
    let function = format!(
        "create function pg_temp.plinth_try_cast({table}) returns text language plpgsql as {}",
        literal(&body)?
    );
    let query = format!(
        "select count(*) as total, count(reason) as failing, min(reason) as example from \
         (select pg_temp.plinth_try_cast(plinth_table) as reason from only {table} plinth_table \
         offset 0) tried"
    );
    Ok((vec![function], query))
}
