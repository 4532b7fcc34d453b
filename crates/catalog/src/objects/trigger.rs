//! Triggers.

use serde::{Deserialize, Serialize};

use super::Object;

/// In which sessions a trigger fires.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum EnabledMode {
    /// In ordinary ones.
    Origin,
    /// In those that apply a replication.
    Replica,
    /// In all.
    Always,
    /// In none.
    Disabled,
}

/// How often a trigger fires.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Orientation {
    /// For each row.
    Row,
    /// Once per statement.
    Statement,
}

impl Orientation {
    /// As in SQL.
    pub fn as_sql(self) -> &'static str {
        match self {
            Self::Row => "row",
            Self::Statement => "statement",
        }
    }
}

/// When a trigger fires.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Timing {
    /// Before the change.
    #[serde(rename = "BEFORE")]
    Before,
    /// After it.
    #[serde(rename = "AFTER")]
    After,
    /// In its place, on a view.
    #[serde(rename = "INSTEAD OF")]
    InsteadOf,
}

impl Timing {
    /// As in SQL.
    pub fn as_sql(self) -> &'static str {
        match self {
            Self::Before => "before",
            Self::After => "after",
            Self::InsteadOf => "instead of",
        }
    }
}

/// A trigger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trigger {
    /// Its oid.
    pub id: u32,
    /// The oid of its relation.
    pub table_id: u32,
    /// In which sessions it fires.
    pub enabled_mode: EnabledMode,
    /// Its name.
    pub name: String,
    /// Its relation.
    pub table: String,
    /// The schema of its relation.
    pub schema: String,
    /// The condition after WHEN.
    #[serde(default)]
    pub condition: Option<String>,
    /// How often it fires.
    pub orientation: Orientation,
    /// When it fires.
    pub activation: Timing,
    /// What makes it fire: `INSERT`, `UPDATE`, `DELETE`, `TRUNCATE`.
    pub events: Vec<String>,
    /// The schema of its function.
    pub function_schema: String,
    /// Its function.
    pub function_name: String,
    /// The arguments of its function.
    pub function_args: Vec<String>,
    /// The columns after UPDATE OF.
    pub update_columns: Vec<String>,
    /// The statement that creates it.
    pub trigger_definition: String,
    /// The extension that it belongs to.
    pub extension: Option<String>,
}

impl Object for Trigger {
    const SQL: &'static str = include_str!("../read/sql/triggers.sql");
    const KIND: &'static str = "trigger";
    const IS_ANNOUNCED: bool = true;

    fn schema(&self) -> Option<&str> {
        Some(&self.schema)
    }

    fn complete(&mut self) {
        self.condition = condition(&self.trigger_definition).map(str::to_owned);
    }
}

/// What is between `WHEN (` and `)` in a definition: PostgreSQL has no function for it, and names may
/// contain the same words.
fn condition(definition: &str) -> Option<&str> {
    let bytes = definition.as_bytes();
    let mut depth = 0_usize;
    let mut start = None;
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            quote @ (b'"' | b'\'') => at = after_quoted(bytes, at, quote),
            b'(' => depth += 1,
            b')' => {
                depth = depth.saturating_sub(1);
                if let (0, Some(start)) = (depth, start) {
                    return definition.get(start..at);
                }
            }
            _ if depth == 0 && bytes[at..].starts_with(b"WHEN (") => {
                start = Some(at + "WHEN (".len());
                depth = 1;
                at += "WHEN (".len();
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    None
}

/// The offset of the quote that ends what begins at `start`; a doubled one begins another piece.
fn after_quoted(bytes: &[u8], start: usize, quote: u8) -> usize {
    let rest = &bytes[start + 1..];
    let length = rest.iter().position(|byte| *byte == quote);
    length.map_or(bytes.len() - 1, |length| start + 1 + length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(definition: &str, expected: Option<&str>) {
        assert_eq!(condition(definition), expected, "{definition}");
    }

    #[test]
    fn the_condition_is_what_follows_when() {
        check(
            "CREATE TRIGGER a BEFORE UPDATE ON public.t FOR EACH ROW WHEN ((old.* IS DISTINCT FROM \
             new.*)) EXECUTE FUNCTION f()",
            Some("(old.* IS DISTINCT FROM new.*)"),
        );
        check(
            "CREATE TRIGGER a BEFORE UPDATE ON t FOR EACH ROW EXECUTE FUNCTION f('WHEN (x)')",
            None,
        );
        check(
            r#"CREATE TRIGGER " WHEN (1)" AFTER INSERT ON "a"" WHEN (2)" FOR EACH ROW WHEN ((new."é)" = ')'::text)) EXECUTE FUNCTION f()"#,
            Some(r#"(new."é)" = ')'::text)"#),
        );
    }
}
