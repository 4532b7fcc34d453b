//! Row changes (realtime contract §9): what a subscriber requests, whether a change matches, and the
//! message about it.
//!
//! Pure functions on values, except `table` and `queries`, which query the database. Subscriptions,
//! visibility of rows and sending are in `subscriptions` and `delivery`.

mod array_literal;
pub mod decide;
pub mod filter;
mod inspect;
pub mod json_value;
pub mod message;
pub mod queries;
pub mod request;
pub mod table;

pub use filter::{Filter, Operator};
pub use request::{ChangeRequest, Event, Name};
pub use table::{Column, Table};
