//! A worker's temporary files, which are removed with the worker.
//!
//! Where the system permits it, a worker has a private `/tmp`: a tmpfs of limited size, and another one
//! for its web caches, in a mount namespace in which nothing else differs. Elsewhere, and where
//! something that it needs lies below `/tmp`, it has a directory beside its socket, caches stay on the
//! disk, and only the size of a single file is limited.

use std::{
    io,
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::Command,
};

use rustix::process::Resource;

use crate::account::Account;

const TMP: &str = "/tmp";

/// Where one worker's temporary files are.
pub(crate) enum Scratch {
    /// `/tmp`, mounted for this worker alone.
    PrivateTmp,
    Directory(PathBuf),
}

impl Scratch {
    /// For a worker with that directory, which needs to see these paths.
    pub(crate) fn choose<'a>(dir: &'a Path, needed: impl IntoIterator<Item = &'a Path>) -> Self {
        let mut needed = needed.into_iter().chain([dir]);
        if let Some(path) = needed.find(|path| is_below_tmp(path)) {
            let path = path.display();
            tracing::debug!(%path, "no private /tmp for a function: it needs a path below /tmp");
        } else if mounts::are_permitted() {
            return Self::PrivateTmp;
        }
        Self::Directory(dir.join("tmp"))
    }

    pub(crate) fn path(&self) -> &Path {
        match self {
            Self::PrivateTmp => Path::new(TMP),
            Self::Directory(dir) => dir,
        }
    }

    /// Sets it up between fork and exec, and then changes the user of the command: another user may not
    /// mount anything.
    pub(crate) fn set_up(
        &self,
        command: &mut Command,
        max_bytes: u64,
        web_caches: PathBuf,
        account: Option<Account>,
    ) {
        limit_file_size(command, max_bytes);
        match (self, account) {
            (Self::PrivateTmp, account) => {
                mounts::mount_tmpfs(command, &[TMP.into(), web_caches], max_bytes, account);
            }
            (Self::Directory(_), Some(account)) => account.apply_to(command),
            (Self::Directory(_), None) => {}
        }
    }
}

/// Whether the path, or what it links to, is hidden by a private `/tmp`.
fn is_below_tmp(path: &Path) -> bool {
    let tmp = Path::new(TMP).canonicalize();
    let is_inside = |found: PathBuf| tmp.is_ok_and(|tmp| found.starts_with(tmp));
    path.starts_with(TMP) || path.canonicalize().is_ok_and(is_inside)
}

/// Limits the size of every file. Writing beyond it is an error, and does not kill the process.
fn limit_file_size(command: &mut Command, max_bytes: u64) {
    let inherited = rustix::process::getrlimit(Resource::Fsize).maximum;
    let limit = super::soft_and_hard_limit(inherited.unwrap_or(max_bytes).min(max_bytes));
    // SAFETY: between fork and exec only system calls are made, nothing is allocated.
    unsafe {
        command.pre_exec(move || {
            if libc::signal(libc::SIGXFSZ, libc::SIG_IGN) == libc::SIG_ERR {
                return Err(io::Error::last_os_error());
            }
            Ok(rustix::process::setrlimit(Resource::Fsize, limit)?)
        });
    }
}

#[cfg(target_os = "linux")]
mod mounts {
    use std::{
        ffi::{CStr, CString},
        io,
        os::unix::{ffi::OsStrExt as _, process::CommandExt as _},
        path::PathBuf,
        process::Command,
        ptr,
        sync::OnceLock,
    };

    use libc::{
        CLONE_NEWNS, CLONE_NEWUSER, MS_NODEV, MS_NOEXEC, MS_NOSUID, MS_REC, MS_SLAVE, O_CLOEXEC,
        O_WRONLY,
    };

    use crate::account::Account;

    /// A file takes memory beyond its content. One inode for so many bytes limits that, too.
    const BYTES_PER_INODE: u64 = 4096;

    /// Whether the system permits them. Tried once, in a process that ends before it executes anything.
    pub(super) fn are_permitted() -> bool {
        static PERMITTED: OnceLock<bool> = OnceLock::new();
        /// What the process fails with when everything has succeeded.
        const MOUNTED: i32 = libc::ECANCELED;
        if let Some(permitted) = PERMITTED.get() {
            return *permitted;
        }
        let mut command = Command::new("true");
        mount_tmpfs(&mut command, &[super::TMP.into()], 1 << 20, None);
        // SAFETY: nothing is done at all.
        unsafe {
            command.pre_exec(|| Err(io::Error::from_raw_os_error(MOUNTED)));
        }
        let outcome = command.status();
        let errno = outcome.as_ref().err().and_then(io::Error::raw_os_error);
        // A shortage may pass: it is tried again for the next worker.
        if let Some(libc::EAGAIN | libc::ENOMEM | libc::EMFILE | libc::ENFILE | libc::ENOSPC) =
            errno
        {
            return false;
        }
        *PERMITTED.get_or_init(|| {
            let is_permitted = errno == Some(MOUNTED);
            if !is_permitted {
                tracing::info!(
                    ?outcome,
                    "no private /tmp for functions: mount namespaces are not permitted, TMPDIR is used"
                );
            }
            is_permitted
        })
    }

    /// Mounts a tmpfs on each of the paths, between fork and exec, and then changes the user.
    pub(super) fn mount_tmpfs(
        command: &mut Command,
        paths: &[PathBuf],
        max_bytes: u64,
        account: Option<Account>,
    ) {
        // For the kernel, 0 means without a limit.
        let max_bytes = max_bytes.max(BYTES_PER_INODE);
        let inodes = (max_bytes / BYTES_PER_INODE).max(16);
        let options = format!("size={max_bytes},nr_inodes={inodes},mode=1777");
        let options = CString::new(options).unwrap_or_default();
        let namespaces = Namespaces::needed();
        let path = |path: &PathBuf| CString::new(path.as_os_str().as_bytes()).ok();
        let paths: Vec<_> = paths.iter().filter_map(path).collect();
        // SAFETY: between fork and exec only system calls are made, nothing is allocated.
        unsafe {
            command.pre_exec(move || {
                namespaces.enter()?;
                mount_all(&paths, &options)?;
                match account {
                    Some(account) => change_user(account),
                    None => Ok(()),
                }
            });
        }
    }

    /// The namespaces that a process needs before it may mount anything.
    struct Namespaces {
        /// Without root, a user namespace as well: these files map our user and group to themselves.
        id_maps: Vec<(&'static CStr, String)>,
    }

    impl Namespaces {
        fn needed() -> Self {
            let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
            if user.is_root() {
                return Self { id_maps: vec![] };
            }
            let (user, group) = (user.as_raw(), group.as_raw());
            Self {
                id_maps: vec![
                    (c"/proc/self/setgroups", "deny".to_owned()),
                    (c"/proc/self/uid_map", format!("{user} {user} 1")),
                    (c"/proc/self/gid_map", format!("{group} {group} 1")),
                ],
            }
        }

        fn enter(&self) -> io::Result<()> {
            let user_namespace = if self.id_maps.is_empty() {
                0
            } else {
                CLONE_NEWUSER
            };
            // SAFETY: the process has a single thread.
            check(unsafe { libc::unshare(CLONE_NEWNS | user_namespace) })?;
            for (file, text) in &self.id_maps {
                write(file, text)?;
            }
            Ok(())
        }
    }

    fn write(file: &CStr, text: &str) -> io::Result<()> {
        // SAFETY: both strings outlive the calls. Exec closes the descriptor.
        unsafe {
            let descriptor = libc::open(file.as_ptr(), O_WRONLY | O_CLOEXEC);
            check(descriptor)?;
            let written = libc::write(descriptor, text.as_ptr().cast(), text.len());
            check(i32::from(written >= 0) - 1)
        }
    }

    fn mount_all(paths: &[CString], options: &CStr) -> io::Result<()> {
        let (none, tmpfs) = (ptr::null(), c"tmpfs".as_ptr());
        let flags = MS_NOSUID | MS_NODEV | MS_NOEXEC;
        // SAFETY: the kernel reads strings that outlive the calls.
        unsafe {
            // Our mounts stay in this namespace; unmounts outside take effect in it, too.
            let propagation = MS_REC | MS_SLAVE;
            let root = c"/".as_ptr();
            check(libc::mount(none, root, none, propagation, ptr::null()))?;
            for path in paths {
                let (path, options) = (path.as_ptr(), options.as_ptr().cast());
                check(libc::mount(tmpfs, path, tmpfs, flags, options))?;
            }
        }
        Ok(())
    }

    fn change_user(Account(number): Account) -> io::Result<()> {
        // SAFETY: plain system calls.
        unsafe {
            check(libc::setgroups(0, ptr::null()))?;
            check(libc::setgid(number))?;
            check(libc::setuid(number))
        }
    }

    fn check(outcome: i32) -> io::Result<()> {
        if outcome < 0 {
            Err(io::Error::last_os_error())
        } else {
            Ok(())
        }
    }
}

/// Other systems have no such namespaces.
#[cfg(not(target_os = "linux"))]
mod mounts {
    use std::{path::PathBuf, process::Command};

    use crate::account::Account;

    pub(super) fn are_permitted() -> bool {
        false
    }

    pub(super) fn mount_tmpfs(
        _command: &mut Command,
        _paths: &[PathBuf],
        _max_bytes: u64,
        _account: Option<Account>,
    ) {
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_worker_that_needs_a_path_below_tmp_gets_no_private_one() {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let link = folder.path().join("link");
        symlink("/tmp", &link).unwrap();

        for below in [Path::new("/tmp/project"), Path::new("/tmp"), &link] {
            let scratch = Scratch::choose(folder.path(), [Path::new("/usr"), below]);
            assert_eq!(scratch.path(), folder.path().join("tmp"), "{below:?}");
        }
        assert!(!is_below_tmp(Path::new("/tmpfs")));
        let scratch = Scratch::choose(folder.path(), [Path::new("/usr")]);
        let is_private = scratch.path() == Path::new(TMP);
        assert_eq!(is_private, mounts::are_permitted());
    }
}
