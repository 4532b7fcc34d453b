//! Statements of a dump: text with a place in the order.

/// Where a statement stands relative to the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Section {
    /// Everything that rows need: schemas, types, functions, tables.
    PreData,
    /// What is quicker or only right once the rows are there: rights, indexes, constraints,
    /// triggers, materialized rows.
    PostData,
}

/// One step of making a database: usually one object with its owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// Before or after the rows.
    pub section: Section,
    /// What kind of object it concerns, as in `table`.
    pub kind: &'static str,
    /// Which one, for people.
    pub name: String,
    /// One or more SQL statements, each ended by a semicolon. Names are qualified.
    pub sql: String,
}
