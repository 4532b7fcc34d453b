//! Uploads in parts.
//!
//! Each part is a blob of its own, named by its row; when the upload is completed they become one
//! blob, and the rows go. Triggers hand the bytes of rows that go, or are replaced, to the collector.

mod begin;
mod choice;
mod finish;
mod list;
mod part;
mod turn;
mod upload;

pub(super) use begin::{abort, create};
pub(super) use finish::complete;
pub(super) use list::{list_parts, list_uploads};
pub(super) use part::{upload_part, upload_part_copy};

#[cfg(test)]
mod tests;
