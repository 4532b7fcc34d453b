//! What operators do in a project's database (console contract §1.6, §1.7, §1.9): pages of rows and
//! their edits, SQL as a stream of events, import, export, activity, tests of policies.
//!
//! This crate knows no HTTP, no project and no operator. It is given a transaction or a session that
//! has the right role already, and builds, runs and reads statements. Names pass through
//! [`plinth_db::QuotedIdent`]; values are parameters, or quoted literals where COPY takes none.

mod activity;
mod error;
mod explain;
mod export;
pub mod import;
pub mod policy;
mod relation;
mod rows;
pub mod script;
mod sql;

/// Has a session notice also while a statement runs that its client is gone; not every server can.
pub const WATCH_CLIENT: &str = "
    do $$ begin
        perform pg_catalog.set_config('client_connection_check_interval', '2s', false);
    exception when others then null;
    end $$";

pub use activity::{Backend, Signal, list_backends, signal_backend};
pub use error::{ChangedRow, QueryError, Rejection};
pub use explain::{ExplainOptions, explain};
pub use export::{ExportFormat, ExportRequest, ExportStatement, TextUnescaper, export_statement};
pub use relation::{Column, Relation, RelationKind, RelationName};
pub use rows::{
    CellRequest, CellValue, Condition, Count, CountKind, CountRequest, DeleteRequest, Filter,
    FilterValue, InsertRequest, NewValue, Operator, Page, PageRequest, RowChange, RowKey, RowSet,
    Sort, TableColumn, UpdateRequest, WrittenRows, constraint_columns, count, delete, insert, page,
    read_cell, update,
};
