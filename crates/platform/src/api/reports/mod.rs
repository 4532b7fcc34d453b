//! Reports of a project: requests over time, the database, its slow statements (console contract §1.15).

mod changes;
mod database;
mod overview;
mod queries;
mod state;
mod traffic;

pub(super) use database::database;
pub(super) use overview::overview;
pub(super) use queries::queries;
pub(super) use traffic::query as metrics;
