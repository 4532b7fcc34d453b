//! The advisors: findings about the security and the performance of a project (console contract
//! §1.17), in the shape of the Management API (§2.4.9) and with the SQL that fixes each.
//!
//! [`run`] asks the project's database, one statement per check and each with a time limit: what takes
//! too long is told as not run. What is no matter of the database (settings, keys in sources, when the
//! last backup was made) comes as [`Facts`]; of what the caller does not know, the check is not run
//! either. Nothing here changes anything, and it sees this database alone.

mod check;
mod checks;
mod facts;
mod fixes;
mod kind;
mod lint;

pub use check::{Limits, Report, checks, run};
pub use facts::{AuthFacts, Facts};
pub use kind::NotRun;
pub use lint::{Category, Level, Lint};
