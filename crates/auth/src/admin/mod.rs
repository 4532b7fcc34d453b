//! Endpoints for administrators: users, invitations, links, audit log (auth contract §2.13).

mod audit_log;
mod ban;
mod common_pieces;
mod conflict;
mod create;
mod cursor;
mod delete;
mod invite;
mod links;
mod list;
mod milestones;
mod numbered_pages;
mod one_user;
mod order;
mod params;
mod total;
mod update;

pub(crate) use audit_log::list as list_audit_log;
pub(crate) use common_pieces::CommonPiecesCache;
pub(crate) use create::create;
pub(crate) use delete::delete;
pub(crate) use invite::invite;
pub(crate) use links::generate as generate_link;
pub(crate) use list::list;
pub(crate) use milestones::MilestoneCache;
pub(crate) use one_user::read;
pub(crate) use total::TotalCache;
pub(crate) use update::update;
