//! Copies the npm package's programs to a public folder when the unprivileged user cannot read
//! them where they are, which is the case for a clone below root's home.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use plinth_child::public_folder::{self, PARTIAL_PREFIX};
use serde_json::Value;

use super::{Binaries, Source, package_root};
use crate::account::Account;
use crate::error::{Error, Result};

/// Returns programs that `account` can run: the same ones, or a copy below `system_dir`.
pub(crate) fn make_readable(
    binaries: Binaries,
    account: Option<&Account>,
    system_dir: &Path,
) -> Result<Binaries> {
    let Some(account) = account else {
        return Ok(binaries);
    };
    let is_runnable = |bin_dir: &Path| {
        ["postgres", "initdb"]
            .iter()
            .all(|program| account.can_run(&bin_dir.join(program)))
    };
    if is_runnable(&binaries.bin_dir) {
        return Ok(binaries);
    }
    let unreadable = |path: &Path| Error::Unreadable {
        account: account.name.clone(),
        path: path.to_owned(),
    };
    if binaries.source != Source::Package {
        return Err(unreadable(&binaries.bin_dir));
    }

    let package = package_root(&binaries.bin_dir);
    let name = package_version(package).unwrap_or_else(|| binaries.version.text.clone());
    let folder = system_dir.join("runtime");
    let native = package.join("native");
    let copy = public_folder::use_copy(&folder, &name, |copy| copy_once(&native, copy));
    let copy = copy.map_err(|cause| {
        Error::file(
            "copy the PostgreSQL programs to",
            &folder.join(&name),
            &cause,
        )
    })?;
    let bin_dir = copy.join("bin");
    if !is_runnable(&bin_dir) {
        return Err(unreadable(&bin_dir));
    }
    Ok(Binaries {
        bin_dir,
        ..binaries
    })
}

/// The package's own version, which distinguishes two builds of the same PostgreSQL.
fn package_version(package: &Path) -> Option<String> {
    let manifest: Value =
        serde_json::from_slice(&fs::read(package.join("package.json")).ok()?).ok()?;
    let version = manifest.get("version")?.as_str()?;
    let is_plain = version
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    (is_plain && !version.starts_with('.')).then(|| version.to_owned())
}

/// Copies beside the destination and renames, so that a copy that broke off is not taken for one.
fn copy_once(from: &Path, to: &Path) -> io::Result<()> {
    if to.is_dir() {
        return Ok(());
    }
    let temporary = to.with_file_name(format!("{PARTIAL_PREFIX}{}", std::process::id()));
    // Of a process that was killed and had the same id.
    _ = fs::remove_dir_all(&temporary);
    let copied = copy_tree(from, &temporary).and_then(|()| fs::rename(&temporary, to));
    if copied.is_err() {
        _ = fs::remove_dir_all(&temporary);
    }
    copied
}

fn copy_tree(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir(to)?;
    fs::set_permissions(to, Permissions::from_mode(0o755))?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type()?;
        if kind.is_symlink() {
            symlink(fs::read_link(&source)?, &target)?;
        } else if kind.is_dir() {
            copy_tree(&source, &target)?;
        } else {
            fs::copy(&source, &target)?;
            let mode = source.metadata()?.permissions().mode();
            fs::set_permissions(&target, Permissions::from_mode(mode & 0o755 | 0o444))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::binaries::Version;

    fn stranger() -> Account {
        Account {
            name: "stranger".to_owned(),
            uid: 4_000_001,
            gid: 4_000_001,
        }
    }

    fn is_root() -> bool {
        let is_root = rustix::process::geteuid().is_root();
        if !is_root {
            eprintln!("skipped: only root copies programs");
        }
        is_root
    }

    fn folder(mode: u32) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), Permissions::from_mode(mode)).unwrap();
        folder
    }

    fn package(folder: &Path, source: Source) -> Binaries {
        let bin_dir = folder.join("native/bin");
        fs::create_dir_all(&bin_dir).unwrap();
        fs::write(
            folder.join("package.json"),
            r#"{"version": "18.4.0-beta.17"}"#,
        )
        .unwrap();
        for program in ["postgres", "initdb"] {
            fs::write(bin_dir.join(program), program).unwrap();
            let mode = Permissions::from_mode(0o755);
            fs::set_permissions(bin_dir.join(program), mode).unwrap();
        }
        symlink("postgres", bin_dir.join("postmaster")).unwrap();
        Binaries {
            bin_dir,
            version: Version {
                major: 18,
                text: "18.4".to_owned(),
            },
            source,
        }
    }

    #[test]
    fn readable_programs_stay_where_they_are() {
        let (open, system) = (folder(0o755), folder(0o755));
        let binaries = package(open.path(), Source::Package);

        let result = make_readable(binaries.clone(), Some(&stranger()), system.path()).unwrap();

        assert_eq!(result, binaries);
        assert!(!system.path().join("runtime").exists());
    }

    #[test]
    fn a_private_package_is_copied_once_with_its_links() {
        if !is_root() {
            return;
        }
        let (private, system) = (folder(0o700), folder(0o755));
        let binaries = package(private.path(), Source::Package);

        for _ in 0..2 {
            let copy = make_readable(binaries.clone(), Some(&stranger()), system.path()).unwrap();

            assert_eq!(
                copy.bin_dir,
                system.path().join("runtime/18.4.0-beta.17/bin")
            );
            assert!(copy.bin_dir.join("postmaster").is_symlink());
            let entries = fs::read_dir(system.path().join("runtime")).unwrap();
            let folders = entries.filter(|entry| entry.as_ref().unwrap().path().is_dir());
            assert_eq!(folders.count(), 1, "no temporary copy stays behind");
        }
    }

    #[test]
    fn a_copy_is_not_used_where_others_than_root_may_write() {
        if !is_root() {
            return;
        }
        let (private, system) = (folder(0o700), folder(0o755));
        let binaries = package(private.path(), Source::Package);
        let attempt = || make_readable(binaries.clone(), Some(&stranger()), system.path());
        let copy = attempt().unwrap().bin_dir;
        let set = |path: &Path, mode| {
            fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        };

        for open in [copy.parent().unwrap(), system.path()] {
            set(open, 0o777);
            let error = attempt().unwrap_err().to_string();
            assert!(error.contains("other users than root may write"), "{error}");
            set(open, 0o755);
        }
        assert_eq!(attempt().unwrap().bin_dir, copy);
    }

    #[test]
    fn a_copy_that_broke_off_is_made_again() {
        if !is_root() {
            return;
        }
        let (private, system) = (folder(0o700), folder(0o755));
        let binaries = package(private.path(), Source::Package);
        let partial = format!("{PARTIAL_PREFIX}{}", std::process::id());
        let partial = system.path().join("runtime").join(partial);
        public_folder::create_public(&partial).unwrap();

        let copy = make_readable(binaries, Some(&stranger()), system.path()).unwrap();

        assert!(copy.bin_dir.join("initdb").is_file());
        assert!(!partial.exists());
    }

    #[test]
    fn a_private_system_installation_is_not_copied() {
        let (private, system) = (folder(0o700), folder(0o755));
        let binaries = package(private.path(), Source::Named);

        let error = make_readable(binaries, Some(&stranger()), system.path()).unwrap_err();

        assert!(matches!(error, Error::Unreadable { .. }), "{error}");
    }
}
