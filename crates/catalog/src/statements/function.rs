//! Functions.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{
    StatementError, Statements, behavior,
    fragment::check_fragment,
    names::{Relation, comment_on, literal, new_name, setting_name, setting_value},
    present,
};
use crate::objects::{Behavior, Function};

/// A new function.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct NewFunction {
    /// Its name.
    pub name: String,
    /// Its schema; `public` if absent.
    #[serde(default)]
    pub schema: Option<String>,
    /// Its arguments, each as in SQL: `a integer default 1`.
    #[serde(default)]
    pub args: Vec<String>,
    /// Its body.
    pub definition: String,
    /// What it returns, as in SQL; `void` if absent.
    #[serde(default)]
    pub return_type: Option<String>,
    /// Its language; `sql` if absent.
    #[serde(default)]
    pub language: Option<String>,
    /// What it may be expected to do; `VOLATILE` if absent.
    #[serde(default)]
    pub behavior: Option<Behavior>,
    /// Whether it runs with the rights of its owner.
    #[serde(default)]
    pub security_definer: bool,
    /// Settings while it runs. `FROM CURRENT` takes the session's.
    #[serde(default)]
    pub config_params: BTreeMap<String, String>,
    /// Whether one with the same arguments is replaced.
    #[serde(default)]
    pub replace: bool,
    /// What is said about it.
    #[serde(default)]
    pub comment: Option<String>,
}

impl NewFunction {
    /// Its schema.
    pub fn schema(&self) -> &str {
        self.schema.as_deref().unwrap_or("public")
    }

    /// Creates it.
    pub fn create(&self) -> Result<Statements, StatementError> {
        let function = Relation::checked("a function", self.schema(), &self.name)?;
        for argument in &self.args {
            check_fragment("An argument", argument)?;
        }
        let arguments = self.args.join(", ");
        // A comment at the end of an argument would swallow the parenthesis.
        let end = if arguments.contains("--") { "\n" } else { "" };
        let returns = self.return_type.as_deref().unwrap_or("void");
        check_fragment("The result type", returns)?;
        let language = new_name("a language", self.language.as_deref().unwrap_or("sql"))?;
        let replace = if self.replace { "or replace " } else { "" };
        let behavior = self.behavior.unwrap_or(Behavior::Volatile).as_sql();
        let security = security(self.security_definer);
        let mut sql = format!(
            "create {replace}function {function}({arguments}{end})\n\
             returns {returns}\n\
             language {language}\n\
             {behavior}\n\
             {security}"
        );
        for (name, value) in &self.config_params {
            sql += &format!("\nset {}", setting(name, value)?);
        }
        sql += &format!("\nas {}", body_sql(&self.definition)?);
        let mut statements = vec![sql];
        if let Some(comment) = &self.comment {
            let signature = format_args!("function {function}({arguments}{end})");
            statements.push(comment_on(signature, Some(comment))?);
        }
        Ok(statements)
    }
}

fn security(is_definer: bool) -> &'static str {
    if is_definer {
        "security definer"
    } else {
        "security invoker"
    }
}

/// After `set`: name and value.
fn setting(name: &str, value: &str) -> Result<String, StatementError> {
    let quoted = setting_name(name)?;
    if value == "FROM CURRENT" {
        return Ok(format!("{quoted} from current"));
    }
    Ok(format!("{quoted} to {}", setting_value(name, value)?))
}

/// A body between dollar quotes that it does not contain: so that it reads as it was written.
fn body_sql(body: &str) -> Result<String, StatementError> {
    // The check for what no text may contain.
    literal(body)?;
    let mut tag = "$function$".to_owned();
    // Also not a part of it at the very end.
    while body.contains(&tag[..tag.len() - 1]) {
        tag.insert(tag.len() - 1, 'x');
    }
    Ok(format!("{tag}{body}{tag}"))
}

/// Changes of a function. Its arguments stay: others make another function.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct FunctionChanges {
    /// Its new name.
    #[serde(default)]
    pub name: Option<String>,
    /// Its new schema.
    #[serde(default)]
    pub schema: Option<String>,
    /// Its new body.
    #[serde(default)]
    pub definition: Option<String>,
    /// What it may be expected to do.
    #[serde(default)]
    pub behavior: Option<Behavior>,
    /// Whether it runs with the rights of its owner.
    #[serde(default)]
    pub security_definer: Option<bool>,
    /// Settings while it runs, in place of the present ones.
    #[serde(default)]
    pub config_params: Option<BTreeMap<String, String>>,
    /// What is said about it; null for nothing.
    #[serde(default, deserialize_with = "present")]
    pub comment: Option<Option<String>>,
}

impl FunctionChanges {
    /// Applies them.
    pub fn alter(&self, old: &Function) -> Result<Statements, StatementError> {
        let mut statements = Vec::new();
        let signature = signature(&old.schema, &old.name, old);
        let alter = format!("alter function {signature}");
        if let Some(body) = &self.definition {
            statements.push(with_body(old, body)?);
        }
        if let Some(behavior) = self.behavior {
            statements.push(format!("{alter} {}", behavior.as_sql()));
        }
        if let Some(is_definer) = self.security_definer {
            statements.push(format!("{alter} {}", security(is_definer)));
        }
        if let Some(settings) = &self.config_params {
            if old.config_params.is_some() {
                statements.push(format!("{alter} reset all"));
            }
            for (name, value) in settings {
                statements.push(format!("{alter} set {}", setting(name, value)?));
            }
        }
        if let Some(comment) = &self.comment {
            let function = format_args!("function {signature}");
            statements.push(comment_on(function, comment.as_deref())?);
        }
        let name = self.name.as_deref().unwrap_or(&old.name);
        if name != old.name {
            let name = new_name("a function", name)?;
            statements.push(format!("{alter} rename to {name}"));
        }
        if let Some(schema) = self.schema.as_ref().filter(|schema| **schema != old.schema) {
            let renamed = self::signature(&old.schema, name, old);
            let schema = new_name("a schema", schema)?;
            statements.push(format!("alter function {renamed} set schema {schema}"));
        }
        Ok(statements)
    }
}

fn signature(schema: &str, name: &str, function: &Function) -> String {
    let name = Relation::new(schema, name);
    // PostgreSQL's own text, with every name quoted that needs it.
    format!("{name}({})", function.identity_argument_types)
}

/// The statement that created the function, with another body: everything else stays, also what the
/// catalog has no member for (`strict`, `cost`, `parallel`).
fn with_body(old: &Function, body: &str) -> Result<String, StatementError> {
    let cannot = || {
        StatementError::new(format!(
            "The body of a function in {} that is not a text cannot be replaced; create it anew",
            old.language
        ))
    };
    let statement = old.complete_statement.trim_end();
    let tag_start = statement
        .strip_suffix('$')
        .and_then(|start| start.rfind('$'))
        .ok_or_else(cannot)?;
    let tag = &statement[tag_start..];
    let end = format!("AS {tag}{}{tag}", old.definition);
    let head = statement.strip_suffix(end.as_str()).ok_or_else(cannot)?;
    Ok(format!("{head}AS {}", body_sql(body)?))
}

impl Function {
    /// Drops it.
    pub fn drop_sql(&self, cascade: bool) -> Statements {
        let signature = signature(&self.schema, &self.name, self);
        vec![format!("drop function {signature} {}", behavior(cascade))]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_cannot_end_its_quotes() {
        for body in [
            "select 1",
            "$function$",
            "a $functio",
            "$function",
            "$functionx$ $function$",
        ] {
            let sql = body_sql(body).expect("a body");
            let tag_length = (sql.len() - body.len()) / 2;
            let tag = &sql[..tag_length];
            assert_eq!(sql[tag_length..].find(tag), Some(body.len()), "{sql}");
        }
    }
}
