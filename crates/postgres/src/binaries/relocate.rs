//! Copies the npm package's programs to a public folder when the unprivileged user cannot read
//! them where they are, which is the case for a clone below root's home.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

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
    let copy = system_dir.join("runtime").join(name);
    if !copy.is_dir() {
        copy_once(&package.join("native"), &copy)
            .map_err(|cause| Error::file("copy the PostgreSQL programs to", &copy, &cause))?;
    }
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

/// Copies beside the destination and renames, so that no process sees a partial copy.
fn copy_once(from: &Path, to: &Path) -> io::Result<()> {
    let parent = to.parent().unwrap_or(to);
    create_public(parent)?;
    let temporary = parent.join(format!(".copy-{}", std::process::id()));
    let copied = copy_tree(from, &temporary).and_then(|()| fs::rename(&temporary, to));
    if copied.is_err() {
        _ = fs::remove_dir_all(&temporary);
    }
    // Another process may have finished the same copy first.
    if to.is_dir() { Ok(()) } else { copied }
}

/// The process may have a strict umask; these folders are for others to read.
fn create_public(folder: &Path) -> io::Result<()> {
    let missing: Vec<PathBuf> = folder
        .ancestors()
        .take_while(|step| !step.exists())
        .map(Path::to_owned)
        .collect();
    for step in missing.iter().rev() {
        match fs::create_dir(step) {
            Err(cause) if cause.kind() != io::ErrorKind::AlreadyExists => return Err(cause),
            _ => fs::set_permissions(step, Permissions::from_mode(0o755))?,
        }
    }
    Ok(())
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
        let (private, system) = (folder(0o700), folder(0o755));
        let binaries = package(private.path(), Source::Package);

        for _ in 0..2 {
            let copy = make_readable(binaries.clone(), Some(&stranger()), system.path()).unwrap();

            assert_eq!(
                copy.bin_dir,
                system.path().join("runtime/18.4.0-beta.17/bin")
            );
            assert!(copy.bin_dir.join("postmaster").is_symlink());
            let left = fs::read_dir(system.path().join("runtime")).unwrap().count();
            assert_eq!(left, 1, "no temporary copy stays behind");
        }
    }

    #[test]
    fn a_private_system_installation_is_not_copied() {
        let (private, system) = (folder(0o700), folder(0o755));
        let binaries = package(private.path(), Source::Named);

        let error = make_readable(binaries, Some(&stranger()), system.path()).unwrap_err();

        assert!(matches!(error, Error::Unreadable { .. }), "{error}");
    }
}
