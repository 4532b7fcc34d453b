//! Objects (storage contract §3).

mod commit;
mod conditions;
mod delete;
mod find;
mod info;
mod list;
mod list_v2;
mod model;
mod probe;
mod range;
mod relocate;
mod right;
mod serve;
mod sign;
mod upload;
mod upload_body;

pub(crate) use commit::{Arrival, Ends, UserMetadata, commit, commit_ending, write_row};
pub(crate) use conditions::Validators;
pub(crate) use delete::{MOST as MOST_DELETED, delete, delete_many, delete_rows};
pub(crate) use find::{find, find_as_caller, find_signed};
pub(crate) use info::{head, info};
pub(crate) use list::list;
pub(crate) use list_v2::list_v2;
pub(crate) use model::{Facts, Object, metadata, time_of};
pub(crate) use probe::{Intent, probe};
pub(crate) use range::Asked;
pub(crate) use relocate::{Changes, copy, copy_object, move_object};
pub(crate) use right::Right;
pub(crate) use serve::{
    COMPONENT, Keeping, can_run_script, download, headers, respond, shown_type, value,
};
pub(crate) use sign::{sign, sign_many, sign_upload};
pub(crate) use upload::{PLACEHOLDER, create, replace, upload_signed};
pub(crate) use upload_body::{DEFAULT_CACHE_CONTROL, DEFAULT_TYPE, next_of_body};
