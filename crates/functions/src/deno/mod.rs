//! The Deno runtime: where it is, its command line, and how sources are prepared for it.

mod command;
mod graph;
mod npmrc;
mod prepare;
mod relocate;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

pub(crate) use command::{DELETED_VARIABLES, RunSpec, TLS_VARIABLES, run};
pub(crate) use prepare::{PrepareError, prepare};

/// Parent of copies for the users of workers.
const SYSTEM_DIR: &str = "/var/lib/plinth/runtime";

/// The runtime, if it is installed.
#[derive(Debug, Clone)]
pub struct Deno {
    program: Option<Arc<Path>>,
}

/// The error message where it is not.
pub(crate) const NOT_INSTALLED: &str = "Deno, which runs functions, is not installed: run `npm ci` in Plinth's runtime folder, or name \
     that folder with PLINTH_RUNTIME_DIR";

impl Deno {
    /// Looks into the folders in which `npm ci` was run.
    pub fn find(runtime_dirs: &[PathBuf]) -> Self {
        let program = runtime_dirs
            .iter()
            .filter_map(|folder| {
                Some(
                    folder
                        .join("node_modules/@deno")
                        .join(package()?)
                        .join("deno"),
                )
            })
            .find_map(|program| {
                program
                    .canonicalize()
                    .ok()
                    .filter(|program| program.is_file())
            });
        Self {
            program: program.map(Into::into),
        }
    }

    /// Where workers run as users of their own that cannot reach the program, as for a clone below root's home,
    /// it becomes a copy in a folder of the system.
    #[must_use]
    pub fn for_workers(self) -> Self {
        let program = self.program.map(|program| {
            relocate::make_runnable(program.to_path_buf(), Path::new(SYSTEM_DIR)).into()
        });
        Self { program }
    }

    /// Whether functions can run at all.
    pub fn is_installed(&self) -> bool {
        self.program.is_some()
    }

    /// The executable.
    pub fn program(&self) -> Option<&Path> {
        self.program.as_deref()
    }
}

/// The npm package for this platform.
fn package() -> Option<&'static str> {
    match (std::env::consts::OS, std::env::consts::ARCH) {
        ("linux", "x86_64") => Some("linux-x64-glibc"),
        ("linux", "aarch64") => Some("linux-arm64-glibc"),
        ("macos", "x86_64") => Some("darwin-x64"),
        ("macos", "aarch64") => Some("darwin-arm64"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_first_folder_with_the_package_is_used() {
        let (empty, full) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let Some(package) = package() else {
            return;
        };
        let folder = full.path().join("node_modules/@deno").join(package);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("deno"), "").unwrap();
        let dirs = [empty.path().to_owned(), full.path().to_owned()];

        let found = Deno::find(&dirs);

        let expected = folder.join("deno").canonicalize().unwrap();
        assert_eq!(found.program(), Some(&*expected));
        assert!(!Deno::find(&dirs[..1]).is_installed());
    }
}
