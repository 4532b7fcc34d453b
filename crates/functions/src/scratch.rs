//! Room for a worker's temporary files, which goes with the worker.
//!
//! Where the system lets us, a worker has a `/tmp` of its own, in memory and bounded, and the same for
//! its caches: it sees the file system through a mount namespace in which nothing else differs.
//! Elsewhere, and where something that it needs lies below `/tmp`, it has a folder beside its socket,
//! caches stay on the disk, and what is bounded is a file's size.

use std::{
    io,
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::Command,
};

use rustix::process::{Resource, Rlimit};

use crate::catalog::Code;

const TMP: &str = "/tmp";

/// Where one worker's temporary files are.
pub(crate) enum Scratch {
    /// `/tmp`, which is another one for everybody else.
    Own,
    Folder(PathBuf),
}

impl Scratch {
    /// For a worker that has the folder and must see the paths.
    pub(crate) fn of<'a>(folder: &'a Path, seen: impl IntoIterator<Item = &'a Path>) -> Self {
        let mut seen = seen.into_iter().chain([folder]);
        if let Some(path) = seen.find(|path| is_below_tmp(path)) {
            let path = path.display();
            tracing::debug!(%path, "a function has no /tmp of its own: it needs something below it");
        } else if own::is_possible() {
            return Self::Own;
        }
        Self::Folder(folder.join("tmp"))
    }

    pub(crate) fn path(&self) -> &Path {
        match self {
            Self::Own => Path::new(TMP),
            Self::Folder(folder) => folder,
        }
    }

    /// Makes it between fork and exec, and gives the command its user: whoever has become somebody
    /// else cannot change what is mounted.
    pub(crate) fn make(&self, command: &mut Command, bytes: u64, code: &Code) {
        limit_files(command, bytes);
        match (self, code.account) {
            (Self::Own, account) => {
                let places = [TMP.into(), code.storage()];
                own::mount(command, &places, bytes, account);
            }
            (Self::Folder(_), Some(account)) => account.take(command),
            (Self::Folder(_), None) => {}
        }
    }
}

/// Whether it, or what it leads to, cannot be seen any more by whoever has another `/tmp`.
fn is_below_tmp(path: &Path) -> bool {
    let tmp = Path::new(TMP).canonicalize();
    let leads_there = |found: PathBuf| tmp.is_ok_and(|tmp| found.starts_with(tmp));
    path.starts_with(TMP) || path.canonicalize().is_ok_and(leads_there)
}

/// No file is larger. Writing beyond is an error, instead of the process's end.
fn limit_files(command: &mut Command, bytes: u64) {
    let most = rustix::process::getrlimit(Resource::Fsize).maximum;
    let most = Some(most.map_or(bytes, |most| most.min(bytes)));
    let limit = Rlimit {
        current: most,
        maximum: most,
    };
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
mod own {
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

    use crate::deno::Account;

    /// A file takes memory beyond what is in it; with one for so many bytes, that is bounded, too.
    const BYTES_PER_FILE: u64 = 4096;

    /// Whether the system lets us, asked of a process that goes before it runs anything.
    pub(super) fn is_possible() -> bool {
        static ANSWER: OnceLock<bool> = OnceLock::new();
        const DONE: i32 = libc::ECANCELED;
        if let Some(answer) = ANSWER.get() {
            return *answer;
        }
        let mut command = Command::new("true");
        mount(&mut command, &[super::TMP.into()], 1 << 20, None);
        // SAFETY: nothing is done at all.
        unsafe {
            command.pre_exec(|| Err(io::Error::from_raw_os_error(DONE)));
        }
        let outcome = command.status();
        let number = outcome.as_ref().err().and_then(io::Error::raw_os_error);
        // What is short may be there another time.
        if let Some(libc::EAGAIN | libc::ENOMEM | libc::EMFILE | libc::ENFILE | libc::ENOSPC) =
            number
        {
            return false;
        }
        *ANSWER.get_or_init(|| {
            let is_done = number == Some(DONE);
            if !is_done {
                tracing::info!(
                    ?outcome,
                    "functions have no /tmp of their own, but os.tmpdir()"
                );
            }
            is_done
        })
    }

    /// Puts a file system in memory to each of the places.
    pub(super) fn mount(
        command: &mut Command,
        places: &[PathBuf],
        bytes: u64,
        account: Option<Account>,
    ) {
        // None at all would be as much as there is.
        let bytes = bytes.max(BYTES_PER_FILE);
        let files = (bytes / BYTES_PER_FILE).max(16);
        let options = format!("size={bytes},nr_inodes={files},mode=1777");
        let options = CString::new(options).unwrap_or_default();
        let namespaces = Namespaces::ours();
        let place = |place: &PathBuf| CString::new(place.as_os_str().as_bytes()).ok();
        let places: Vec<_> = places.iter().filter_map(place).collect();
        // SAFETY: between fork and exec only system calls are made, nothing is allocated.
        unsafe {
            command.pre_exec(move || {
                namespaces.enter()?;
                mount_all(&places, &options)?;
                match account {
                    Some(account) => become_user(account),
                    None => Ok(()),
                }
            });
        }
    }

    /// What a process must have for itself before it may mount anything.
    struct Namespaces {
        /// Without root, users as well: these files say who is who, the same as before.
        written: Vec<(&'static CStr, String)>,
    }

    impl Namespaces {
        fn ours() -> Self {
            let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
            if user.is_root() {
                return Self { written: vec![] };
            }
            let (user, group) = (user.as_raw(), group.as_raw());
            Self {
                written: vec![
                    (c"/proc/self/setgroups", "deny".to_owned()),
                    (c"/proc/self/uid_map", format!("{user} {user} 1")),
                    (c"/proc/self/gid_map", format!("{group} {group} 1")),
                ],
            }
        }

        fn enter(&self) -> io::Result<()> {
            let users = if self.written.is_empty() {
                0
            } else {
                CLONE_NEWUSER
            };
            // SAFETY: the process has one thread, and nothing else shares what it leaves.
            ok(unsafe { libc::unshare(CLONE_NEWNS | users) })?;
            for (file, text) in &self.written {
                write(file, text)?;
            }
            Ok(())
        }
    }

    fn write(file: &CStr, text: &str) -> io::Result<()> {
        // SAFETY: both texts are there as long as the calls last. Exec closes the descriptor.
        unsafe {
            let descriptor = libc::open(file.as_ptr(), O_WRONLY | O_CLOEXEC);
            ok(descriptor)?;
            let written = libc::write(descriptor, text.as_ptr().cast(), text.len());
            ok(i32::from(written >= 0) - 1)
        }
    }

    fn mount_all(places: &[CString], options: &CStr) -> io::Result<()> {
        let (nothing, kind) = (ptr::null(), c"tmpfs".as_ptr());
        let flags = MS_NOSUID | MS_NODEV | MS_NOEXEC;
        // SAFETY: the kernel reads texts that are there as long as the calls last.
        unsafe {
            // What we mount is nobody else's; what others unmount goes here, too.
            let one_way = MS_REC | MS_SLAVE;
            let root = c"/".as_ptr();
            ok(libc::mount(nothing, root, nothing, one_way, ptr::null()))?;
            for place in places {
                let (place, options) = (place.as_ptr(), options.as_ptr().cast());
                ok(libc::mount(kind, place, kind, flags, options))?;
            }
        }
        Ok(())
    }

    fn become_user(Account(number): Account) -> io::Result<()> {
        // SAFETY: plain system calls.
        unsafe {
            ok(libc::setgroups(0, ptr::null()))?;
            ok(libc::setgid(number))?;
            ok(libc::setuid(number))
        }
    }

    fn ok(outcome: i32) -> io::Result<()> {
        match outcome < 0 {
            true => Err(io::Error::last_os_error()),
            false => Ok(()),
        }
    }
}

/// Other systems have no such namespaces.
#[cfg(not(target_os = "linux"))]
mod own {
    use std::{path::PathBuf, process::Command};

    use crate::deno::Account;

    pub(super) fn is_possible() -> bool {
        false
    }

    pub(super) fn mount(
        _command: &mut Command,
        _places: &[PathBuf],
        _bytes: u64,
        _account: Option<Account>,
    ) {
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn whoever_needs_something_below_tmp_keeps_the_common_one() {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let link = folder.path().join("link");
        symlink("/tmp", &link).unwrap();

        for below in [Path::new("/tmp/project"), Path::new("/tmp"), &link] {
            let scratch = Scratch::of(folder.path(), [Path::new("/usr"), below]);
            assert_eq!(scratch.path(), folder.path().join("tmp"), "{below:?}");
        }
        assert!(!is_below_tmp(Path::new("/tmpfs")));
        let scratch = Scratch::of(folder.path(), [Path::new("/usr")]);
        let is_own = scratch.path() == Path::new(TMP);
        assert_eq!(is_own, own::is_possible());
    }
}
