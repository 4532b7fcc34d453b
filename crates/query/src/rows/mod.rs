//! Rows of one table or view: pages, cells, counts, edits (console contract N52–N54).

mod cell;
mod count;
mod cursor;
mod filter;
mod output;
mod page;
mod sort;
mod write;

pub use cell::{CellRequest, CellValue, read_cell};
pub use count::{Count, CountKind, CountRequest, count};
pub use filter::{Condition, Filter, FilterValue, Operator};
pub use output::{RowSet, TableColumn};
pub use page::{Page, PageRequest, page};
pub use sort::Sort;
pub use write::{
    DeleteRequest, InsertRequest, NewValue, RowChange, RowKey, UpdateRequest, WrittenRows,
    constraint_columns, delete, insert, update,
};

pub(crate) use filter::push_where;
pub(crate) use output::Output;
pub(crate) use sort::{push_order, sort_keys};
pub(crate) use write::{push_assignments, push_new_row};
