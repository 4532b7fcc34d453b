//! What is to be run, and how it is shown.

use std::fmt::Write as _;

/// What happens to an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// It is new.
    Create,
    /// It is changed, or made anew with the same name.
    Alter,
    /// It goes.
    Drop,
}

impl Action {
    /// As in an answer of the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Alter => "alter",
            Self::Drop => "drop",
        }
    }
}

/// The object that a change belongs to; parts of a table belong to the table.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectName {
    /// As in `table`.
    pub kind: String,
    /// Absent for what belongs to no schema.
    pub schema: Option<String>,
    /// Not quoted; of functions with the types of their arguments.
    pub name: String,
}

impl std::fmt::Display for ObjectName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ", self.kind)?;
        if let Some(schema) = &self.schema {
            write!(f, "{schema}.")?;
        }
        f.write_str(&self.name)
    }
}

/// One statement, or few that belong together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// What it belongs to.
    pub object: ObjectName,
    /// Each statement ends with a semicolon.
    pub sql: String,
    /// Whether rows or values are lost.
    pub is_destructive: bool,
}

/// All changes of one object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectGroup {
    /// The object.
    pub object: ObjectName,
    /// What happens to it.
    pub action: Action,
    /// Whether one of its changes loses rows or values.
    pub is_destructive: bool,
    /// Its changes, in order.
    pub sql: String,
}

/// A difference: empty if there is none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// In the order in which they can be run.
    pub changes: Vec<Change>,
    /// What cannot be compared, one sentence each.
    pub notes: Vec<String>,
    /// Which objects are new, and which go.
    pub(crate) created: Vec<ObjectName>,
    pub(crate) dropped: Vec<ObjectName>,
}

impl Changes {
    /// Whether the schemas are the same.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// Whether rows or values are lost.
    pub fn is_destructive(&self) -> bool {
        self.changes.iter().any(|change| change.is_destructive)
    }

    /// The changes of some of the objects.
    pub fn only(&self, mut is_wanted: impl FnMut(&ObjectName) -> bool) -> Self {
        let mut changes = self.clone();
        changes.changes.retain(|change| is_wanted(&change.object));
        changes
    }

    /// All statements, with a comment where the object changes and above what is destructive.
    pub fn to_sql(&self) -> String {
        let mut text = String::new();
        if self.is_empty() {
            return text;
        }
        if self.changes.iter().any(|change| is_routine(&change.object)) {
            // Bodies may name what comes later.
            text.push_str("set check_function_bodies = off;\n");
        }
        let mut object = None;
        for change in &self.changes {
            if object != Some(&change.object) {
                object = Some(&change.object);
                // Names may have line breaks, which would end the comment.
                let title = change.object.to_string().replace(char::is_control, " ");
                _ = writeln!(text, "\n-- {title}");
            }
            if change.is_destructive {
                text.push_str("-- destructive\n");
            }
            text.push_str(&change.sql);
            text.push('\n');
        }
        text
    }

    /// The changes by object, in the order of each object's first change.
    pub fn by_object(&self) -> Vec<ObjectGroup> {
        let mut groups: Vec<ObjectGroup> = Vec::new();
        let mut positions = std::collections::HashMap::new();
        for change in &self.changes {
            let at = *positions.entry(&change.object).or_insert_with(|| {
                groups.push(ObjectGroup {
                    object: change.object.clone(),
                    action: self.action(&change.object),
                    is_destructive: false,
                    sql: String::new(),
                });
                groups.len() - 1
            });
            groups[at].is_destructive |= change.is_destructive;
            groups[at].sql.push_str(&change.sql);
            groups[at].sql.push('\n');
        }
        groups
    }

    fn action(&self, object: &ObjectName) -> Action {
        if self.created.contains(object) {
            Action::Create
        } else if self.dropped.contains(object) {
            Action::Drop
        } else {
            Action::Alter
        }
    }
}

fn is_routine(object: &ObjectName) -> bool {
    object.kind == "function"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(name: &str, sql: &str, is_destructive: bool) -> Change {
        Change {
            object: ObjectName {
                kind: "table".to_owned(),
                schema: Some("public".to_owned()),
                name: name.to_owned(),
            },
            sql: sql.to_owned(),
            is_destructive,
        }
    }

    #[test]
    fn a_name_cannot_end_its_comment() {
        let changes = Changes {
            changes: vec![change("a\ndrop table b;--", "select 1;", true)],
            ..Changes::default()
        };

        assert_eq!(
            changes.to_sql(),
            "\n-- table public.a drop table b;--\n-- destructive\nselect 1;\n"
        );
    }

    #[test]
    fn changes_of_an_object_stand_together() {
        let changes = Changes {
            changes: vec![
                change("a", "1;", false),
                change("b", "2;", false),
                change("a", "3;", true),
            ],
            ..Changes::default()
        };

        let groups = changes.by_object();

        assert_eq!(groups.len(), 2);
        assert_eq!(groups[0].sql, "1;\n3;\n");
        assert!(groups[0].is_destructive && !groups[1].is_destructive);
    }
}
