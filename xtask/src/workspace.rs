//! What cargo knows about this repository.

use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::LazyLock,
};

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::commands;

/// The folder that holds the workspace manifest.
///
/// Cargo says at run time where this package lies. What it said when this was compiled may be
/// another clone, if both build into one folder.
pub(crate) fn root() -> &'static Path {
    static ROOT: LazyLock<PathBuf> = LazyLock::new(|| {
        let manifest_dir = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
        let mut xtask = manifest_dir.unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")));
        xtask.pop();
        xtask
    });
    &ROOT
}

/// Cargo, in the root of the workspace.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    // `cargo run` describes this package in the environment. Some build scripts look at these
    // variables and would compile again whenever the description is there or not.
    for (name, _) in std::env::vars_os() {
        let is_description = name.to_str().is_some_and(|name| {
            ["CARGO_PKG_", "CARGO_MANIFEST_"]
                .iter()
                .any(|p| name.starts_with(p))
        });
        if is_description {
            command.env_remove(name);
        }
    }
    command
}

/// The output of `cargo metadata`.
#[derive(Debug, Deserialize)]
pub(crate) struct Workspace {
    pub(crate) packages: Vec<Package>,
    /// Where cargo puts what it builds.
    pub(crate) target_directory: PathBuf,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) license: Option<String>,
    /// Absent for the packages of this workspace.
    pub(crate) source: Option<String>,
    pub(crate) manifest_path: PathBuf,
    pub(crate) dependencies: Vec<Dependency>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    /// `None` for a normal dependency, else `dev` or `build`.
    pub(crate) kind: Option<String>,
}

impl Workspace {
    /// The packages of this repository only; needs neither network nor lock.
    pub(crate) fn load() -> Result<Self> {
        Self::read_metadata(&["--no-deps", "--offline"])
    }

    /// All packages that `Cargo.lock` names, for every platform.
    pub(crate) fn load_with_dependencies() -> Result<Self> {
        Self::read_metadata(&["--locked"])
    }

    fn read_metadata(arguments: &[&str]) -> Result<Self> {
        let metadata_json = commands::output(
            cargo()
                .args(["metadata", "--format-version", "1"])
                .args(arguments),
        )?;
        serde_json::from_str(&metadata_json).context("`cargo metadata` has an unknown form")
    }

    pub(crate) fn has_package(&self, name: &str) -> bool {
        self.packages.iter().any(|package| package.name == name)
    }
}

impl Package {
    /// The folder of the package's manifest.
    pub(crate) fn folder(&self) -> &Path {
        self.manifest_path
            .parent()
            .expect("a manifest lies in a folder")
    }
}
