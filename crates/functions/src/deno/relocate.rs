//! Copies the program to a public folder where the users of workers cannot reach it.

use std::{
    fs::{self, OpenOptions, Permissions},
    io,
    os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use plinth_child::public_folder::{self, PARTIAL_PREFIX, create_public};
use serde::Deserialize;

use crate::account::Account;

/// How the name of a copy's folder begins; the version follows.
const COPY_PREFIX: &str = "deno-";
/// The file in it.
const PROGRAM: &str = "deno";

/// The manifest of the npm package.
#[derive(Deserialize)]
struct Manifest {
    version: String,
}

/// The program itself, or a copy below `system_dir`. Without root there are no other users; and where
/// no copy can be made, starting a worker says what is wrong.
pub(super) fn make_runnable(program: PathBuf, system_dir: &Path) -> PathBuf {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root || Account::can_read(&program) {
        return program;
    }
    match copy(&program, system_dir) {
        Ok(copy) => copy,
        Err(error) => {
            tracing::warn!(
                "Deno cannot be copied to {}, where workers could run it: {error}",
                system_dir.display()
            );
            program
        }
    }
}

/// A folder for each version, so that servers of several versions do not disturb each other.
fn copy(program: &Path, system_dir: &Path) -> io::Result<PathBuf> {
    let name = format!("{COPY_PREFIX}{}", version(program));
    let size = fs::metadata(program)?.len();
    let folder = public_folder::use_copy(system_dir, &name, |folder| {
        create_public(folder)?;
        let copy = folder.join(PROGRAM);
        if fs::symlink_metadata(&copy).is_ok_and(|found| found.is_file() && found.len() == size) {
            return Ok(());
        }
        replace(program, folder, &copy)
    })?;
    let copy = folder.join(PROGRAM);
    if Account::can_read(&copy) {
        return Ok(copy);
    }
    let message = format!("other users cannot read {}", copy.display());
    Err(io::Error::other(message))
}

/// Renamed at the end, so that no process sees a partial copy.
fn replace(program: &Path, folder: &Path, copy: &Path) -> io::Result<()> {
    let temporary = folder.join(format!("{PARTIAL_PREFIX}{PROGRAM}"));
    // Of a server that was killed: there is one at a time.
    _ = fs::remove_file(&temporary);
    let copied = write(program, &temporary).and_then(|()| fs::rename(&temporary, copy));
    if copied.is_err() {
        _ = fs::remove_file(&temporary);
    }
    copied
}

fn write(program: &Path, temporary: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let mut file = options
        .write(true)
        .create_new(true)
        .mode(0o700)
        .open(temporary)?;
    io::copy(&mut fs::File::open(program)?, &mut file)?;
    file.set_permissions(Permissions::from_mode(0o755))
}

fn version(program: &Path) -> String {
    let manifest = fs::read(program.with_file_name("package.json")).ok();
    let manifest = manifest.and_then(|text| serde_json::from_slice::<Manifest>(&text).ok());
    let version = manifest.map(|manifest| manifest.version);
    let is_plain = |text: &String| {
        text.chars()
            .all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
    };
    version
        .filter(is_plain)
        .unwrap_or_else(|| "unknown".to_owned())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt as _, chown};

    use super::*;

    /// A package, below a folder of this mode.
    fn package(mode: u32) -> (tempfile::TempDir, PathBuf) {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("linux-x64-glibc");
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("package.json"), r#"{ "version": "2.1.0" }"#).unwrap();
        let program = folder.join("deno");
        fs::write(&program, "#!/bin/sh").unwrap();
        fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
        fs::set_permissions(home.path(), Permissions::from_mode(mode)).unwrap();
        (home, program)
    }

    fn public_folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
        folder
    }

    #[test]
    fn a_program_below_a_private_folder_is_copied_for_the_users_of_workers() {
        let (_home, program) = package(0o700);
        let system = public_folder();

        let found = make_runnable(program.clone(), system.path());

        if rustix::process::geteuid().is_root() {
            assert_eq!(found, system.path().join("deno-2.1.0/deno"));
            assert!(Account::can_read(&found));
            assert_eq!(fs::metadata(&found).unwrap().mode() & 0o777, 0o755);
        } else {
            assert_eq!(found, program);
        }
    }

    #[test]
    fn a_program_that_every_user_can_run_stays() {
        let (_home, program) = package(0o755);
        let system = public_folder();

        assert_eq!(make_runnable(program.clone(), system.path()), program);
        assert_eq!(fs::read_dir(system.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_copy_that_broke_off_is_made_again() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let (_home, program) = package(0o700);
        let system = public_folder();
        let copied = copy(&program, system.path()).unwrap();
        fs::write(&copied, "#").unwrap();

        assert_eq!(copy(&program, system.path()).unwrap(), copied);
        assert_eq!(fs::read(&copied).unwrap(), b"#!/bin/sh");
    }

    #[test]
    fn no_copy_is_made_or_trusted_where_others_may_write() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let (_home, program) = package(0o700);
        let system = public_folder();
        let copied = copy(&program, system.path()).unwrap();

        fs::set_permissions(copied.parent().unwrap(), Permissions::from_mode(0o777)).unwrap();
        copy(&program, system.path()).unwrap_err();
        assert_eq!(make_runnable(program.clone(), system.path()), program);

        fs::set_permissions(copied.parent().unwrap(), Permissions::from_mode(0o755)).unwrap();
        chown(system.path(), Some(65_534), None).unwrap();
        copy(&program, system.path()).unwrap_err();
    }

    #[test]
    fn a_version_is_no_path() {
        let (_home, program) = package(0o700);
        let manifest = program.with_file_name("package.json");
        fs::write(manifest, r#"{ "version": "../../etc" }"#).unwrap();

        assert_eq!(version(&program), "unknown");
    }
}
