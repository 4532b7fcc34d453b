//! Whoever keeps the bytes of projects' files, as seen by those who look after projects.

use std::io;

use serde_json::Value;
use tokio::sync::mpsc;

use crate::{BoxFuture, Project, ProjectRef};

/// Keeps the bytes of files. The storage service does; the platform asks.
pub trait FileKeeper: Send + Sync {
    /// Compares rows and bytes. Gives findings as they come, word of progress now and then, and a
    /// summary or an error as the last; ends when nobody reads on.
    fn check(&self, project: &Project, how: FileCheck) -> mpsc::Receiver<Value>;

    /// Gives a project whose database is a copy of another one's the bytes that its rows name.
    /// Uploads that are not finished stay with the other one.
    fn copy<'a>(&'a self, from: &'a ProjectRef, to: &'a Project) -> BoxFuture<'a, io::Result<()>>;

    /// Removes all bytes of a project that is gone for good. May be said twice.
    fn forget<'a>(&'a self, project: &'a ProjectRef) -> BoxFuture<'a, io::Result<()>>;
}

/// How a check is made.
#[derive(Debug, Clone, Copy, Default)]
pub struct FileCheck {
    /// Bytes that nothing names are handed to the collector.
    pub repairs: bool,
    /// Every byte is read and compared with its digest.
    pub verifies_digests: bool,
}
