//! What those who administrate do with accounts (auth contract §2.13).

mod audit_log;
mod ban;
mod by_number;
mod conflict;
mod create;
mod cursor;
mod delete;
mod invite;
mod links;
mod list;
mod milestones;
mod one_user;
mod order;
mod page;
mod params;
mod search;
mod search_index;
mod selection;
mod total;
mod update;

pub(crate) use audit_log::list as list_audit_log;
pub(crate) use create::create;
pub(crate) use delete::delete;
pub(crate) use invite::invite;
pub(crate) use links::generate as generate_link;
pub(crate) use list::list;
pub(crate) use milestones::KeptMilestones;
pub(crate) use one_user::read;
pub(crate) use page::{Page, Pairs, pairs, value};
pub(crate) use search_index::SearchIndex;
pub(crate) use total::Totals;
pub(crate) use update::update;
