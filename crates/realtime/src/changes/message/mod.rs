//! The `data` of a `postgres_changes` message (realtime contract §9.5 to §9.7).
//!
//! The values of a change are converted to JSON once ([`ChangedRow`]); `data` is assembled from them
//! for every distinct set of columns that subscribers may see ([`data`]).

mod changed_row;
mod data;

pub use changed_row::ChangedRow;
pub use data::{ChangeError, Shown, data, error_data};

#[cfg(test)]
mod tests;
