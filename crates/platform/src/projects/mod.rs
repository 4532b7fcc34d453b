//! Projects: their rows, and what can be done with them (console contract §1.4, §2.11).

mod branch;
mod copy_branch;
mod create;
mod delete;
mod dump_branch;
mod pause;
mod recover;
mod reset;
mod row;
mod summary;

pub use branch::{Branch, BranchChanges, BranchRequest, CopyMethod};
pub use create::ProjectRequest;
pub use row::ProjectRow;

pub(crate) use branch::MAIN_BRANCH;
pub(crate) use create::{NewProject, checked_name, insert_project, new_project_secrets};
pub(crate) use row::{parse_kind, parse_ref, parse_server};
pub(crate) use summary::{DatabaseSizes, ProjectSummary};
