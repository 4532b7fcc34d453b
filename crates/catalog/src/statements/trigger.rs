//! Triggers.

use plinth_db::QuotedIdent;
use serde::{Deserialize, Serialize};

use super::{
    StatementError, Statements,
    fragment::in_parentheses,
    names::{Relation, literal, name_list, new_name},
};
use crate::objects::{EnabledMode, Orientation, Timing, Trigger};

/// A new trigger.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct NewTrigger {
    /// Its name.
    pub name: String,
    /// The schema of its relation; `public` if absent.
    #[serde(default)]
    pub schema: Option<String>,
    /// Its relation.
    pub table: String,
    /// The schema of its function; `public` if absent.
    #[serde(default)]
    pub function_schema: Option<String>,
    /// Its function.
    pub function_name: String,
    /// The arguments of its function.
    #[serde(default)]
    pub function_args: Vec<String>,
    /// When it fires.
    pub activation: Timing,
    /// What makes it fire: `INSERT`, `UPDATE`, `UPDATE OF a, b`, `DELETE`, `TRUNCATE`.
    pub events: Vec<String>,
    /// How often it fires; `STATEMENT` if absent.
    #[serde(default)]
    pub orientation: Option<Orientation>,
    /// The condition after WHEN.
    #[serde(default)]
    pub condition: Option<String>,
}

impl NewTrigger {
    /// The schema of its relation.
    pub fn schema(&self) -> &str {
        self.schema.as_deref().unwrap_or("public")
    }

    /// Creates it.
    pub fn create(&self) -> Result<Statements, StatementError> {
        let name = new_name("a trigger", &self.name)?;
        let table = Relation::checked("a table", self.schema(), &self.table)?;
        let function_schema = self.function_schema.as_deref().unwrap_or("public");
        let function = Relation::checked("a function", function_schema, &self.function_name)?;
        if self.events.is_empty() {
            return Err(StatementError::new("A trigger needs an event"));
        }
        let events = self.events.iter().map(|event| event_sql(event));
        let events = events.collect::<Result<Vec<_>, _>>()?.join(" or ");
        let activation = self.activation.as_sql();
        let orientation = self.orientation.unwrap_or(Orientation::Statement).as_sql();
        let mut sql = format!(
            "create trigger {name} {activation} {events} on {table} for each {orientation}"
        );
        if let Some(condition) = &self.condition {
            sql += " when ";
            sql += &in_parentheses("A condition", condition)?;
        }
        let arguments = self.function_args.iter().map(|argument| literal(argument));
        let arguments = arguments.collect::<Result<Vec<_>, _>>()?.join(", ");
        sql += &format!(" execute function {function}({arguments})");
        Ok(vec![sql])
    }
}

/// One event, with columns after `update of`.
fn event_sql(event: &str) -> Result<String, StatementError> {
    let event = event.trim();
    for plain in ["insert", "update", "delete", "truncate"] {
        if event.eq_ignore_ascii_case(plain) {
            return Ok(plain.to_owned());
        }
    }
    let of = "update of ";
    let columns = match event.get(..of.len()) {
        Some(start) if start.eq_ignore_ascii_case(of) => split_names(&event[of.len()..]),
        _ => None,
    };
    match columns.as_deref() {
        None | Some([]) => Err(StatementError::new(format!(
            "There is no event {event:?}; there are INSERT, UPDATE, UPDATE OF, DELETE, TRUNCATE"
        ))),
        Some(columns) => Ok(format!("update of {}", name_list("a column", columns)?)),
    }
}

/// Names between commas, in quotes or not. `None` if quotes do not match.
fn split_names(text: &str) -> Option<Vec<String>> {
    let mut names = Vec::new();
    let mut rest = text.trim();
    loop {
        let name;
        if let Some(after) = rest.strip_prefix('"') {
            let mut end = 0;
            loop {
                end += after[end..].find('"')?;
                if after[end + 1..].starts_with('"') {
                    end += 2;
                } else {
                    break;
                }
            }
            name = after[..end].replace("\"\"", "\"");
            rest = after[end + 1..].trim_start();
        } else {
            let end = rest.find(',').unwrap_or(rest.len());
            name = rest[..end].trim().to_owned();
            rest = &rest[end..];
        }
        names.push(name);
        match rest.strip_prefix(',') {
            Some(after) => rest = after.trim_start(),
            None if rest.is_empty() => return Some(names),
            None => return None,
        }
    }
}

/// Changes of a trigger.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct TriggerChanges {
    /// Its new name.
    #[serde(default)]
    pub name: Option<String>,
    /// In which sessions it fires.
    #[serde(default)]
    pub enabled_mode: Option<EnabledMode>,
}

impl TriggerChanges {
    /// Applies them.
    pub fn alter(&self, old: &Trigger) -> Result<Statements, StatementError> {
        let name = QuotedIdent::new(&old.name);
        let table = Relation::new(&old.schema, &old.table);
        let mut statements = Vec::new();
        if let Some(mode) = self.enabled_mode {
            let verb = match mode {
                EnabledMode::Origin => "enable",
                EnabledMode::Replica => "enable replica",
                EnabledMode::Always => "enable always",
                EnabledMode::Disabled => "disable",
            };
            statements.push(format!("alter table {table} {verb} trigger {name}"));
        }
        if let Some(new) = self.name.as_ref().filter(|new| **new != old.name) {
            let new = new_name("a trigger", new)?;
            statements.push(format!("alter trigger {name} on {table} rename to {new}"));
        }
        Ok(statements)
    }
}

impl Trigger {
    /// Drops it.
    pub fn drop_sql(&self, cascade: bool) -> Statements {
        let name = QuotedIdent::new(&self.name);
        let table = Relation::new(&self.schema, &self.table);
        let behavior = super::behavior(cascade);
        vec![format!("drop trigger {name} on {table} {behavior}")]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_may_name_columns() {
        let check = |event: &str, expected: &str| {
            assert_eq!(event_sql(event).as_deref(), Ok(expected), "{event}");
        };
        check("INSERT", "insert");
        check("update", "update");
        check(
            r#"UPDATE OF a, "b,""c" ,d"#,
            r#"update of "a", "b,""c", "d""#,
        );
        for bad in [
            "",
            "SELECT",
            "UPDATE OF ",
            "UPDATE OF \"a",
            "INSERT ON t; --",
            "UPDATE OF a,",
        ] {
            assert!(event_sql(bad).is_err(), "{bad}");
        }
    }
}
