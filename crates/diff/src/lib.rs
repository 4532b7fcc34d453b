//! The difference of two databases' schemas as SQL (console contract N35, L30).
//!
//! [`Schema::read`] reads a database; [`compare`] tells what makes one of them like the other:
//! [`Changes`], each with the object that it belongs to, in an order in which they can be run. It
//! converges: run, then compared again, nothing is left. What is read is the catalog of
//! `plinth_dump`, whose statements make new objects; this crate adds what can be altered in place.
//!
//! Only users' schemas are compared, and on system tables the triggers and policies, which users
//! may add. It runs nothing, and knows neither projects nor branches.

mod change;
mod error;
mod fingerprint;
mod names;
mod plan;
mod schema;
mod scope;

pub use change::{Action, Change, Changes, ObjectGroup, ObjectName};
pub use error::DiffError;
pub use fingerprint::Fingerprint;
pub use plan::compare;
pub use schema::Schema;
pub use scope::{SYSTEM_SCHEMAS, Scope};
