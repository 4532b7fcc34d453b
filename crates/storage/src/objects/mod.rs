//! Objects (storage contract §3).

mod commit;
mod conditions;
mod cursor;
mod delete;
mod find;
mod info;
mod list;
mod list_v2;
mod model;
mod probe_write;
mod range;
mod relocate;
mod render_image;
mod serve;
mod sign;
mod stored_headers;
mod upload;
mod upload_body;
mod upload_permission;

pub(crate) use commit::{
    CompletedUpload, NewObject, UserMetadata, commit, commit_upload, write_row,
};
pub(crate) use conditions::Validators;
pub(crate) use delete::{MAX_DELETED, delete, delete_many, delete_rows};
pub(crate) use find::{find, find_as_caller, find_signed};
pub(crate) use info::{head, info};
pub(crate) use list::list;
pub(crate) use list_v2::list_v2;
pub(crate) use model::{Object, ObjectDetails, new_metadata, read_time};
pub(crate) use probe_write::{WriteIntent, probe_write};
pub(crate) use range::RequestedRange;
pub(crate) use relocate::{CopyOverrides, copy, copy_object, move_object};
pub(crate) use render_image::render_image;
pub(crate) use serve::{
    URI_COMPONENT, can_run_script, download, header_value, respond, safe_content_type,
};
pub(crate) use sign::{sign, sign_many, sign_upload};
pub(crate) use stored_headers::StoredHeaders;
pub(crate) use upload::{PLACEHOLDER, create, replace, upload_signed};
pub(crate) use upload_body::{DEFAULT_CACHE_CONTROL, DEFAULT_TYPE};
pub(crate) use upload_permission::UploadPermission;
