//! Changes of tables, for those who subscribed to them (realtime contract §9): what a subscriber
//! asks for, whether a change is what it asked for, and what it is told.
//!
//! All of it is values in and values out, but for `table` and `ask`, which ask the database.
//! Who is subscribed, who may see which row and how messages travel is the business of others.

mod array_literal;
pub mod ask;
pub mod decide;
pub mod filter;
mod inspect;
pub mod json_value;
pub mod message;
pub mod request;
pub mod table;

pub use filter::{Filter, Operator};
pub use request::{ChangeRequest, Event, Name};
pub use table::{Column, Table};
