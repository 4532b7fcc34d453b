//! Projects: their rows, and what can be done with them (console contract §1.4, §2.11).

mod branch;
mod copy_branch;
mod create;
mod delete;
mod dump_branch;
mod heal;
mod pause;
mod reset;
mod row;

pub use branch::{Branch, BranchRequest, CopyMethod};
pub use create::ProjectRequest;
pub use row::ProjectRow;

pub(crate) use create::{NewProject, checked_name, insert_project, new_project_secrets};
pub(crate) use row::{parse_kind, parse_ref};
