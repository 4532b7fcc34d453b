//! Importing files into tables (console contract N58).
//!
//! A file is read as a stream: decoded, cut into records and sent to PostgreSQL by COPY, a few hundred
//! kilobytes at a time. All of it is one transaction, so that an import that is interrupted in any way,
//! also by a kill of this process, leaves nothing behind; the staging table of an import that keeps the
//! good rows is a temporary one, which goes with its transaction.

mod copy_text;
mod csv;
mod decode;
mod detect;
mod feed;
mod infer;
mod json;
mod keep_good;
mod load;
mod options;
mod plan;
mod preview;
mod record;
mod rejects;

pub use load::{ImportPhase, ImportProgress, ImportReport, import};
pub use options::{
    ColumnMapping, DateOrder, Encoding, FileFormat, FileOptions, ImportMode, ImportRequest, OnError,
};
pub use preview::{Preview, PreviewColumn, SAMPLE_BYTES, preview};
pub use rejects::Rejects;
