//! The user that runs PostgreSQL. It does not run as root, so a root Plinth picks an unprivileged
//! user.

use std::ffi::{CStr, CString};
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::error::{Error, Result};

/// In order of preference; `nobody` exists nearly everywhere.
const CANDIDATES: [&str; 3] = ["plinth", "postgres", "nobody"];

/// An unprivileged user of this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    pub name: String,
    pub uid: u32,
    pub gid: u32,
}

impl Account {
    /// The user that runs Postgres, or `None` when Plinth is not root and runs it as itself.
    pub fn choose() -> Result<Option<Self>> {
        if !rustix::process::geteuid().is_root() {
            return Ok(None);
        }
        let found = CANDIDATES.iter().find_map(|name| Self::find(name));
        found.map(Some).ok_or(Error::NoAccount)
    }

    /// Looks a user up by name; root itself never counts.
    pub fn find(name: &str) -> Option<Self> {
        let c_name = CString::new(name).ok()?;
        let (uid, gid) = passwd_ids(&c_name)?;
        (uid != 0).then(|| Self {
            name: name.to_owned(),
            uid,
            gid,
        })
    }

    /// Whether this user may pass through the folder and everything above it.
    pub fn can_enter(&self, folder: &Path) -> bool {
        let Ok(folder) = folder.canonicalize() else {
            return false;
        };
        folder.ancestors().all(|step| {
            step.metadata()
                .is_ok_and(|meta| meta.is_dir() && self.has(&meta, 0o1))
        })
    }

    /// Whether this user may read and execute the program.
    pub fn can_run(&self, program: &Path) -> bool {
        // The target of a link may have other permissions than the link's folder.
        let Ok(program) = program.canonicalize() else {
            return false;
        };
        program.metadata().is_ok_and(|meta| self.has(&meta, 0o5))
            && program
                .parent()
                .is_some_and(|folder| self.can_enter(folder))
    }

    /// Only the primary group counts, because Postgres is started without the others.
    fn has(&self, meta: &Metadata, wanted: u32) -> bool {
        let shift = match meta {
            meta if meta.uid() == self.uid => 6,
            meta if meta.gid() == self.gid => 3,
            _ => 0,
        };
        (meta.mode() >> shift) & wanted == wanted
    }
}

fn passwd_ids(name: &CStr) -> Option<(u32, u32)> {
    let mut buffer = vec![0; 4096];
    loop {
        // SAFETY: all-zero bytes are a valid `passwd`: its pointers are null and never read here.
        let mut entry: libc::passwd = unsafe { std::mem::zeroed() };
        let mut found = std::ptr::null_mut();
        // SAFETY: name is NUL-terminated, the buffer's length is its own, the rest outlives the call.
        let code = unsafe {
            libc::getpwnam_r(
                name.as_ptr(),
                &raw mut entry,
                buffer.as_mut_ptr(),
                buffer.len(),
                &raw mut found,
            )
        };
        match code {
            libc::ERANGE if buffer.len() < 1 << 20 => buffer.resize(buffer.len() * 4, 0),
            0 if !found.is_null() => return Some((entry.pw_uid, entry.pw_gid)),
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn stranger() -> Account {
        Account {
            name: "stranger".to_owned(),
            uid: 4_000_001,
            gid: 4_000_001,
        }
    }

    fn folder(mode: u32) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), Permissions::from_mode(mode)).unwrap();
        folder
    }

    #[test]
    fn unknown_users_and_root_are_not_found() {
        assert_eq!(Account::find("no such user here"), None);
        assert_eq!(Account::find("nul\0inside"), None);
        assert_eq!(Account::find("root"), None);
    }

    #[test]
    fn the_nobody_user_is_an_ordinary_account() {
        let Some(nobody) = Account::find("nobody") else {
            eprintln!("skipped: this machine has no user `nobody`");
            return;
        };
        assert_ne!(nobody.uid, 0);
    }

    #[test]
    fn another_user_enters_open_folders_only() {
        let (open, closed) = (folder(0o711), folder(0o700));
        fs::create_dir(closed.path().join("inside")).unwrap();

        assert!(stranger().can_enter(open.path()));
        assert!(!stranger().can_enter(closed.path()));
        assert!(!stranger().can_enter(&closed.path().join("inside")));
    }

    #[test]
    fn group_bits_count_for_the_group() {
        let folder = folder(0o710);
        let gid = folder.path().metadata().unwrap().gid();

        assert!(Account { gid, ..stranger() }.can_enter(folder.path()));
        assert!(!stranger().can_enter(folder.path()));
    }

    #[test]
    fn running_needs_read_and_execute() {
        let folder = folder(0o755);
        let program = folder.path().join("program");
        fs::write(&program, "").unwrap();

        fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
        assert!(stranger().can_run(&program));
        fs::set_permissions(&program, Permissions::from_mode(0o711)).unwrap();
        assert!(!stranger().can_run(&program));
    }
}
