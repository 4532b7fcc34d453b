//! Room for a worker's temporary files, which goes with the worker.
//!
//! Where the system lets us, a worker has a `/tmp` of its own, in memory and bounded: it sees the file
//! system through a mount namespace in which nothing else differs. Elsewhere, and where something that
//! it needs lies below `/tmp`, it has a folder beside its socket, and what is bounded is a file's size.

use std::{
    io,
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::Command,
};

use rustix::process::{Resource, Rlimit};

use crate::deno::Account;

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
        match seen.any(is_below_tmp) || !own::is_possible() {
            true => Self::Folder(folder.join("tmp")),
            false => Self::Own,
        }
    }

    pub(crate) fn path(&self) -> &Path {
        match self {
            Self::Own => Path::new(TMP),
            Self::Folder(folder) => folder,
        }
    }

    /// Makes it between fork and exec, and gives the command its user: whoever has become somebody
    /// else cannot change what is mounted.
    pub(crate) fn make(&self, command: &mut Command, bytes: u64, account: Option<Account>) {
        match self {
            Self::Own => own::mount(command, bytes, account),
            Self::Folder(_) => {
                limit_files(command, bytes);
                if let Some(account) = account {
                    account.take(command);
                }
            }
        }
    }
}

/// Whether it, or what it leads to, cannot be seen any more by whoever has another `/tmp`.
fn is_below_tmp(path: &Path) -> bool {
    let leads_there = |found: PathBuf| found.starts_with(TMP);
    path.starts_with(TMP) || path.canonicalize().is_ok_and(leads_there)
}

/// Writing beyond is an error, instead of the process's end.
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
        os::unix::process::CommandExt as _,
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

    /// Whether the system lets us; asked once, of a process that goes before it runs anything.
    pub(super) fn is_possible() -> bool {
        static ANSWER: OnceLock<bool> = OnceLock::new();
        *ANSWER.get_or_init(|| {
            const DONE: i32 = libc::ECANCELED;
            let mut command = Command::new("true");
            mount(&mut command, 1 << 20, None);
            // SAFETY: nothing is done at all.
            unsafe {
                command.pre_exec(|| Err(io::Error::from_raw_os_error(DONE)));
            }
            match command.status() {
                Err(error) if error.raw_os_error() == Some(DONE) => true,
                outcome => {
                    tracing::info!(
                        ?outcome,
                        "functions have no /tmp of their own, but os.tmpdir()"
                    );
                    false
                }
            }
        })
    }

    pub(super) fn mount(command: &mut Command, bytes: u64, account: Option<Account>) {
        // None at all would be as much as there is.
        let bytes = bytes.max(BYTES_PER_FILE);
        let files = (bytes / BYTES_PER_FILE).max(16);
        let options = format!("size={bytes},nr_inodes={files},mode=1777");
        let options = CString::new(options).unwrap_or_default();
        let namespaces = Namespaces::ours();
        // SAFETY: between fork and exec only system calls are made, nothing is allocated.
        unsafe {
            command.pre_exec(move || {
                namespaces.enter()?;
                mount_tmp(&options)?;
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

    fn mount_tmp(options: &CStr) -> io::Result<()> {
        let nothing = ptr::null();
        let flags = MS_NOSUID | MS_NODEV | MS_NOEXEC;
        // SAFETY: the kernel reads texts that are there as long as the calls last.
        unsafe {
            // What we mount is nobody else's; what others unmount goes here, too.
            let one_way = MS_REC | MS_SLAVE;
            let root = c"/".as_ptr();
            ok(libc::mount(nothing, root, nothing, one_way, ptr::null()))?;
            let (kind, place) = (c"tmpfs".as_ptr(), c"/tmp".as_ptr());
            ok(libc::mount(
                kind,
                place,
                kind,
                flags,
                options.as_ptr().cast(),
            ))
        }
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
    use std::process::Command;

    use crate::deno::Account;

    pub(super) fn is_possible() -> bool {
        false
    }

    pub(super) fn mount(_command: &mut Command, _bytes: u64, _account: Option<Account>) {}
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
    }
}
