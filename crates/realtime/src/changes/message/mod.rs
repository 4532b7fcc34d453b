//! The `data` of a `postgres_changes` message (realtime contract §9.5 to §9.7).
//!
//! A change's values become JSON once ([`ChangedRow`]), whoever may see them; a message is put
//! together from them for every distinct set of columns that subscribers may see ([`data`]).

mod changed_row;
mod data;

pub use changed_row::ChangedRow;
pub use data::{Refusal, Shown, data, refusal_data};

#[cfg(test)]
mod tests;
