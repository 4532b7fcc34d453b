//! Creates a new database cluster with `initdb`, atomically.
//!
//! `initdb` runs in a sibling folder that is renamed at the end: after an interruption the next
//! start finds either a complete cluster or none.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use rustix::process::Signal;

use crate::account::Account;
use crate::binaries::Binaries;
use crate::command::unprivileged;
use crate::error::{Error, Result, plain};
use crate::layout::{chown_to, create_private, sync_folder};
use crate::password::write_private;

/// ICU sorts the same on every machine; builds without it fall back to what the system has.
const LOCALES: [&[&str]; 4] = [
    &[
        "--locale-provider=icu",
        "--icu-locale=en-US",
        "--locale=C.UTF-8",
    ],
    &["--locale-provider=icu", "--icu-locale=en-US", "--locale=C"],
    &["--locale=C.UTF-8"],
    &["--locale=C"],
];

/// Inputs of `initdb`.
pub(crate) struct Initialise<'a> {
    pub(crate) binaries: &'a Binaries,
    pub(crate) account: Option<&'a Account>,
    /// The folder around the data folder.
    pub(crate) cluster_dir: &'a Path,
    pub(crate) data_dir: &'a Path,
    pub(crate) superuser: &'a str,
    pub(crate) password: &'a str,
}

impl Initialise<'_> {
    /// Creates the cluster. Blocks for about a second.
    pub(crate) fn run(&self) -> Result<()> {
        let unfinished = self.cluster_dir.join("database.new");
        remove_if_there(&unfinished)?;
        create_private(&unfinished)?;
        chown_to(self.account, &unfinished)?;

        let made = self
            .make_in(&unfinished)
            .and_then(|()| self.move_into_place(&unfinished));
        if made.is_err() {
            _ = fs::remove_dir_all(&unfinished);
        }
        made
    }

    fn make_in(&self, folder: &Path) -> Result<()> {
        let password_file = PasswordFile::create(self.cluster_dir, self.password, self.account)?;
        for locale in LOCALES {
            let output = self.run_initdb(folder, &password_file.path, locale)?;
            if output.status.success() {
                return Ok(());
            }
            let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
            let is_last = locale == LOCALES[LOCALES.len() - 1];
            if is_last || !is_about_locale(&complaint) {
                return Err(self.failed(first_error(&complaint)));
            }
            tracing::debug!(
                ?locale,
                "this PostgreSQL build does not support the locale, trying the next one"
            );
        }
        Ok(())
    }

    fn run_initdb(&self, folder: &Path, password_file: &Path, locale: &[&str]) -> Result<Output> {
        let program = self.binaries.program("initdb");
        unprivileged(&program, self.account, Path::new("/"), Signal::KILL)
            .arg("--pgdata")
            .arg(folder)
            .args(["--username", self.superuser, "--pwfile"])
            .arg(password_file)
            .args([
                "--auth=scram-sha-256",
                "--encoding=UTF8",
                "--data-checksums",
            ])
            .arg("--no-instructions")
            .args(locale)
            .stdin(Stdio::null())
            .output()
            .map_err(|cause| self.failed(plain(&cause)))
    }

    fn move_into_place(&self, unfinished: &Path) -> Result<()> {
        let moved = match fs::remove_dir(self.data_dir) {
            Err(cause) if cause.kind() != io::ErrorKind::NotFound => Err(cause),
            _ => fs::rename(unfinished, self.data_dir).and_then(|()| sync_folder(self.cluster_dir)),
        };
        moved.map_err(|cause| Error::file("move the new database to", self.data_dir, &cause))
    }

    /// Gives the superuser of an existing cluster a new password, for when the old one was lost
    /// with the state folder. The server must not be running.
    pub(crate) fn reset_password(&self) -> Result<()> {
        let program = self.binaries.program("postgres");
        let mut child = unprivileged(&program, self.account, self.data_dir, Signal::INT)
            .args(["--single", "-D"])
            .arg(self.data_dir)
            .args([
                "-c",
                "shared_preload_libraries=",
                "-c",
                "log_line_prefix=",
                "template1",
            ])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|cause| self.failed(plain(&cause)))?;

        let name = self.superuser.replace('"', "\"\"");
        let password = self.password.replace('\'', "''");
        let statement = format!("alter role \"{name}\" with password '{password}';\n");
        let mut stdin = child.stdin.take();
        let sent = stdin
            .as_mut()
            .map_or(Ok(()), |stdin| stdin.write_all(statement.as_bytes()));
        drop(stdin);

        let output = child
            .wait_with_output()
            .map_err(|cause| self.failed(plain(&cause)))?;
        let complaint = String::from_utf8_lossy(&output.stderr);
        let has_failed = complaint.lines().any(|line| line.contains("ERROR:  "));
        if sent.is_err() || has_failed || !output.status.success() {
            return Err(Error::StartFailed {
                reason: format!(
                    "the superuser's password was lost and cannot be replaced ({})",
                    first_error(&complaint)
                ),
            });
        }
        Ok(())
    }

    fn failed(&self, reason: String) -> Error {
        Error::InitialiseFailed {
            path: self.data_dir.to_owned(),
            reason,
        }
    }
}

/// Removed when dropped.
struct PasswordFile {
    path: PathBuf,
}

impl PasswordFile {
    fn create(cluster_dir: &Path, password: &str, account: Option<&Account>) -> Result<Self> {
        let path = cluster_dir.join("initial-password");
        write_private(&path, password).map_err(|cause| Error::file("write", &path, &cause))?;
        let file = Self { path };
        chown_to(account, &file.path)?;
        Ok(file)
    }
}

impl Drop for PasswordFile {
    fn drop(&mut self) {
        _ = fs::remove_file(&self.path);
    }
}

fn remove_if_there(folder: &Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(cause) if cause.kind() != io::ErrorKind::NotFound => {
            Err(Error::file("remove", folder, &cause))
        }
        _ => Ok(()),
    }
}

fn is_about_locale(complaint: &str) -> bool {
    let complaint = complaint.to_ascii_lowercase();
    ["locale", "icu", "collation"]
        .iter()
        .any(|word| complaint.contains(word))
}

/// The first line that names a problem, without the program's name and without a full stop.
fn first_error(complaint: &str) -> String {
    let markers = ["error: ", "FATAL:  ", "PANIC:  ", "ERROR:  "];
    let named = complaint
        .lines()
        .find_map(|line| markers.iter().find_map(|marker| line.split_once(marker)))
        .map(|(_, message)| message);
    let line = named.or_else(|| complaint.lines().find(|line| !line.trim().is_empty()));
    line.unwrap_or("it gave no reason")
        .trim()
        .trim_end_matches('.')
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_is_the_first_named_problem() {
        let complaint = "creating directory ... ok\n\
                         initdb: error: could not create directory \"x\": Permission denied\n\
                         initdb: removing contents\n";
        assert_eq!(
            first_error(complaint),
            "could not create directory \"x\": Permission denied"
        );
        assert_eq!(first_error("\n something odd.\n"), "something odd");
        assert_eq!(first_error(""), "it gave no reason");
    }

    #[test]
    fn only_locale_errors_lead_to_another_try() {
        assert!(is_about_locale(
            "initdb: error: invalid locale name \"C.UTF-8\""
        ));
        assert!(is_about_locale(
            "initdb: error: ICU is not supported in this build"
        ));
        assert!(!is_about_locale(
            "initdb: error: could not write: No space left on device"
        ));
    }

    #[test]
    fn the_password_file_does_not_outlive_its_use() {
        let cluster_dir = tempfile::tempdir().unwrap();

        let file = PasswordFile::create(cluster_dir.path(), "secret", None).unwrap();
        assert_eq!(fs::read_to_string(&file.path).unwrap(), "secret\n");
        drop(file);

        assert_eq!(fs::read_dir(cluster_dir.path()).unwrap().count(), 0);
    }
}
