//! Policies.

use plinth_db::QuotedIdent;
use serde::{Deserialize, Serialize};

use super::{
    StatementError, Statements,
    fragment::in_parentheses,
    names::{Relation, comment_on, new_name},
    present,
    privileges::role_sql,
};
use crate::objects::{Policy, PolicyAction, PolicyCommand};

/// A new policy.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct NewPolicy {
    /// Its name.
    pub name: String,
    /// Its table.
    pub table: String,
    /// The schema of its table; `public` if absent.
    #[serde(default)]
    pub schema: Option<String>,
    /// The expression after USING.
    #[serde(default)]
    pub definition: Option<String>,
    /// The expression after WITH CHECK.
    #[serde(default)]
    pub check: Option<String>,
    /// How it is combined with others; `PERMISSIVE` if absent.
    #[serde(default)]
    pub action: Option<PolicyAction>,
    /// What it is about; `ALL` if absent.
    #[serde(default)]
    pub command: Option<PolicyCommand>,
    /// The roles that it is for; `public` if absent.
    #[serde(default)]
    pub roles: Option<Vec<String>>,
}

impl NewPolicy {
    /// The schema of its table.
    pub fn schema(&self) -> &str {
        self.schema.as_deref().unwrap_or("public")
    }

    /// Creates it.
    pub fn create(&self) -> Result<Statements, StatementError> {
        let name = new_name("a policy", &self.name)?;
        let table = Relation::checked("a table", self.schema(), &self.table)?;
        let action = self.action.unwrap_or(PolicyAction::Permissive).as_sql();
        let command = self.command.unwrap_or(PolicyCommand::All).as_sql();
        let roles = match self.roles.as_deref() {
            None | Some([]) => "public".to_owned(),
            Some(roles) => role_list(roles)?,
        };
        let mut sql =
            format!("create policy {name} on {table} as {action} for {command} to {roles}");
        if let Some(expression) = &self.definition {
            sql += " using ";
            sql += &in_parentheses("The expression of a policy", expression)?;
        }
        if let Some(expression) = &self.check {
            sql += " with check ";
            sql += &in_parentheses("The check of a policy", expression)?;
        }
        Ok(vec![sql])
    }
}

fn role_list(roles: &[String]) -> Result<String, StatementError> {
    let roles = roles.iter().map(|role| role_sql(role));
    Ok(roles.collect::<Result<Vec<_>, _>>()?.join(", "))
}

/// Changes of a policy. What it is about stays: that takes another policy.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct PolicyChanges {
    /// Its new name.
    #[serde(default)]
    pub name: Option<String>,
    /// The expression after USING.
    #[serde(default)]
    pub definition: Option<String>,
    /// The expression after WITH CHECK.
    #[serde(default)]
    pub check: Option<String>,
    /// The roles that it is for.
    #[serde(default)]
    pub roles: Option<Vec<String>>,
    /// What is said about it; null for nothing.
    #[serde(default, deserialize_with = "present")]
    pub comment: Option<Option<String>>,
}

impl PolicyChanges {
    /// Applies them.
    pub fn alter(&self, old: &Policy) -> Result<Statements, StatementError> {
        let name = QuotedIdent::new(&old.name);
        let table = Relation::new(&old.schema, &old.table);
        let alter = format!("alter policy {name} on {table}");
        let mut statements = Vec::new();
        if let Some(expression) = &self.definition {
            let expression = in_parentheses("The expression of a policy", expression)?;
            statements.push(format!("{alter} using {expression}"));
        }
        if let Some(expression) = &self.check {
            let expression = in_parentheses("The check of a policy", expression)?;
            statements.push(format!("{alter} with check {expression}"));
        }
        if let Some(roles) = &self.roles {
            if roles.is_empty() {
                return Err(StatementError::new("A policy is for one role at least"));
            }
            statements.push(format!("{alter} to {}", role_list(roles)?));
        }
        if let Some(comment) = &self.comment {
            let policy = format_args!("policy {name} on {table}");
            statements.push(comment_on(policy, comment.as_deref())?);
        }
        if let Some(new) = self.name.as_ref().filter(|new| **new != old.name) {
            let new = new_name("a policy", new)?;
            statements.push(format!("{alter} rename to {new}"));
        }
        Ok(statements)
    }
}

impl Policy {
    /// Drops it.
    pub fn drop_sql(&self) -> Statements {
        let name = QuotedIdent::new(&self.name);
        let table = Relation::new(&self.schema, &self.table);
        vec![format!("drop policy {name} on {table}")]
    }
}
