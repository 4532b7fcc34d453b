//! The interface between the platform and the storage service, which stores files of projects.

use std::io;

use serde_json::Value;
use tokio::sync::mpsc;

use crate::{BoxFuture, Project, ProjectRef};

/// Stores the blobs of projects; implemented by the storage service, used by the platform.
pub trait ProjectFiles: Send + Sync {
    /// Compares rows and blobs. Sends findings, progress, and at the end a summary or an error; stops
    /// when the receiver is dropped.
    fn check(&self, project: &Project, options: FileCheck) -> mpsc::Receiver<Value>;

    /// Copies the blobs of a project to a branch, whose database is a copy already. Unfinished
    /// uploads are not copied.
    fn copy<'a>(&'a self, from: &'a ProjectRef, to: &'a Project) -> BoxFuture<'a, io::Result<()>>;

    /// Removes all blobs of a deleted project. Idempotent.
    fn remove_project<'a>(&'a self, project: &'a ProjectRef) -> BoxFuture<'a, io::Result<()>>;
}

/// Options of a check.
#[derive(Debug, Clone, Copy, Default)]
pub struct FileCheck {
    /// Orphaned blobs are marked for garbage collection.
    pub repairs: bool,
    /// Every blob is read and its digest compared.
    pub verifies_digests: bool,
}
