//! Statements of a dump.

use std::fmt;

/// Whether a statement runs before or after the rows are loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Section {
    /// Everything that rows need: schemas, types, functions, tables.
    PreData,
    /// What is faster or only correct once the rows are loaded: privileges, indexes, constraints,
    /// triggers, materialized views.
    PostData,
}

/// One step of a restore: usually one object with its owner.
#[derive(Clone, PartialEq, Eq)]
pub struct Statement {
    /// Before or after the rows.
    pub section: Section,
    /// What kind of object it concerns, as in `table`.
    pub kind: &'static str,
    /// The object's name, for messages.
    pub name: String,
    /// One or more SQL statements, each ended by a semicolon. Names are qualified.
    pub sql: String,
}

/// Without the SQL, which may contain passwords (user mappings, function bodies).
impl fmt::Debug for Statement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Statement")
            .field("section", &self.section)
            .field("kind", &self.kind)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_prints_no_sql() {
        let statement = Statement {
            section: Section::PostData,
            kind: "user mapping",
            name: "ada".to_owned(),
            sql: "create user mapping for ada server s options (password 'open sesame');"
                .to_owned(),
        };

        assert!(!format!("{statement:?}").contains("open sesame"));
    }
}
