//! Multipart uploads.
//!
//! Each part is a blob of its own, referenced by a row. Completing the upload concatenates them
//! into one blob and deletes the rows. Triggers hand the blobs of deleted and replaced rows to the
//! garbage collection.

mod abort;
mod complete;
mod completion_lease;
mod create;
mod list;
mod part;
mod part_list;
mod upload;

pub(super) use abort::abort;
pub(super) use complete::complete;
pub(super) use create::create;
pub(super) use list::{list_parts, list_uploads};
pub(super) use part::{upload_part, upload_part_copy};

#[cfg(test)]
mod tests;
