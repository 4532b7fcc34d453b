//! The clients' own tests, unchanged, over their own migrations and seed.
//!
//! Tests of types alone are left out: they never speak to a server.

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, anyhow};

use super::{
    Options, Verdict, build_program, jest, lock_file, postgres,
    server::{Place, Server},
};
use crate::{commands, tools, workspace};

const LOCK_FILE: &str = "pnpm-lock.yaml";

/// The tests of one client.
pub(super) struct ClientSuite {
    /// Its folder in the repository of all clients.
    package: &'static str,
    /// What it runs with: what its own manifest names, less what builds, formats and documents.
    packages: &'static [&'static str],
    /// What the root adds to read its configuration.
    packages_of_root: &'static [&'static str],
    /// Test files that are left out.
    ignored: &'static str,
    /// Settings of the server that the tests take for granted.
    settings: &'static [&'static str],
    needs_postgis: bool,
}

pub(super) const POSTGREST_JS: ClientSuite = ClientSuite {
    package: "packages/core/postgrest-js",
    packages: &[
        "@jest/types",
        "@types/jest",
        "@types/node",
        "jest",
        "prettier",
        "ts-jest",
        "tslib",
        "type-fest",
        "typescript",
        "zod",
    ],
    packages_of_root: &["ts-node"],
    // They test a client for an older server, and need that server.
    ignored: "test/v12/",
    settings: &[],
    needs_postgis: true,
};

pub(super) const STORAGE_JS: ClientSuite = ClientSuite {
    package: "packages/core/storage-js",
    packages: &[
        "@types/jest",
        "@types/node",
        "iceberg-js",
        "jest",
        "ts-jest",
        "tslib",
        "typescript",
    ],
    packages_of_root: &[],
    // Buckets of vectors and tables are none of ours yet; these files only speak to a mock of them.
    ignored: "vector-|index-api|bucket-api|e2e-workflow|analytics-",
    // The key in the tests is signed with the secret that every local stack of the original has.
    settings: &["auth.jwt_secret=super-secret-jwt-token-with-at-least-32-characters-long"],
    needs_postgis: false,
};

impl ClientSuite {
    pub(super) fn run(&self, options: &Options) -> Result<Verdict> {
        let postgres = postgres::find(options.pg_bin.as_deref());
        let missing = missing(options, postgres.as_ref().err());
        let (Ok(postgres), Some(clients), true) = (&postgres, &options.clients, missing.is_empty())
        else {
            return Ok(Verdict::Missing(missing));
        };
        tools::install_packages(&workspace::root().join("runtime"))?;
        let program = build_program()?;
        let scratch = tempfile::tempdir().context("there is no temporary folder")?;
        // PostgreSQL runs as another user when root starts it, and must reach its files.
        fs::set_permissions(scratch.path(), Permissions::from_mode(0o711))?;

        let folder = check_out(clients, &options.clients_rev, self.package, scratch.path())?;
        if let Err(error) = self.install(scratch.path()) {
            return Ok(Verdict::Missing(vec![format!("npm packages: {error:#}")]));
        }
        let place = Place {
            program: &program,
            project: &folder.join("test"),
            state: &scratch.path().join("state"),
            postgres,
            settings: self.settings,
        };
        let server = Server::start(&place, self.needs_postgis)?;
        let score = jest::run(&folder, scratch.path(), self.ignored, &server.url()?)?;
        Ok(Verdict::Ran(score))
    }

    /// Installs above the package, whose own manifest only pnpm understands.
    fn install(&self, scratch: &Path) -> Result<()> {
        let lock = fs::read_to_string(scratch.join(LOCK_FILE)).context("there is no lock file")?;
        let packages = self
            .versions(&lock)
            .map_err(|names| anyhow!("the lock file has no version of {}", names.join(", ")))?;
        fs::write(scratch.join("package.json"), "{ \"private\": true }\n")?;
        let arguments = [
            "install",
            "--no-save",
            "--no-package-lock",
            "--ignore-scripts",
            "--no-audit",
            "--no-fund",
            "--loglevel=error",
        ];
        commands::run(tools::npm(scratch).args(arguments).args(packages))
    }

    /// What npm is to install; the names of those without a version otherwise.
    fn versions(&self, lock: &str) -> Result<Vec<String>, Vec<String>> {
        let own = self.packages.iter().map(|name| (self.package, *name));
        let of_root = self.packages_of_root.iter().map(|name| (".", *name));
        lock_file::packages(lock, own.chain(of_root))
    }
}

fn missing(options: &Options, postgres: Option<&String>) -> Vec<String> {
    let mut missing = Vec::new();
    if !options.clients.as_deref().is_some_and(Path::is_dir) {
        let how = "name it with --clients or SUPABASE_JS_SOURCE";
        missing.push(format!("a git directory of supabase-js; {how}"));
    }
    for program in ["git", "tar"] {
        if tools::find(program).is_none() {
            missing.push(program.to_owned());
        }
    }
    missing.extend(tools::require_node().err().map(|error| error.to_string()));
    missing.extend(postgres.cloned());
    missing
}

/// Writes the suite of one revision below `scratch`, and says where its package is.
fn check_out(repository: &Path, revision: &str, package: &str, scratch: &Path) -> Result<PathBuf> {
    let archive = scratch.join("clients.tar");
    commands::run(
        Command::new("git")
            .arg("-C")
            .arg(repository)
            .arg("archive")
            .arg("--output")
            .arg(&archive)
            .args([revision, LOCK_FILE, "tsconfig.base.json", package]),
    )?;
    commands::run(
        Command::new("tar")
            .arg("-x")
            .arg("-f")
            .arg(&archive)
            .arg("-C")
            .arg(scratch),
    )?;
    Ok(scratch.join(package))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checkout_holds_the_package_and_leaves_the_repository_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let (repository, scratch) = (folder.path().join("repo"), folder.path().join("scratch"));
        let package = repository.join(POSTGREST_JS.package);
        for path in [&package, &scratch] {
            fs::create_dir_all(path).expect("a folder");
        }
        for file in [LOCK_FILE, "tsconfig.base.json", "other.txt"] {
            fs::write(repository.join(file), file).expect("a file");
        }
        fs::write(package.join("package.json"), "{}").expect("a file");
        let git = |arguments: &[&str]| {
            let identity = ["-c", "user.name=a", "-c", "user.email=a@example.com"];
            let mut git = Command::new("git");
            git.arg("-C").arg(&repository).args(identity);
            commands::output(git.args(arguments)).expect("git works")
        };
        git(&["init", "--quiet"]);
        git(&["add", "."]);
        git(&["commit", "--quiet", "--message", "all"]);

        let found =
            check_out(&repository, "HEAD", POSTGREST_JS.package, &scratch).expect("a checkout");

        assert!(found.join("package.json").is_file());
        assert!(scratch.join(LOCK_FILE).is_file());
        assert!(!scratch.join("other.txt").exists());
        assert_eq!(git(&["status", "--short"]), "");
    }
}
