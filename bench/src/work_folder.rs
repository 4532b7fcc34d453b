//! A temporary folder that the user who runs Postgres can reach.

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt as _,
};

use tempfile::TempDir;

/// Others may pass through, not look around. Everything in it goes with it.
pub(crate) fn create() -> anyhow::Result<TempDir> {
    let folder = tempfile::Builder::new().prefix("plinth-bench-").tempdir()?;
    fs::set_permissions(folder.path(), Permissions::from_mode(0o711))?;
    Ok(folder)
}
