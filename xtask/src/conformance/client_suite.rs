//! postgrest-js's own tests, unchanged, over their own migrations and seed.
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

const PACKAGE: &str = "packages/core/postgrest-js";
const LOCK_FILE: &str = "pnpm-lock.yaml";

pub(super) fn run(options: &Options) -> Result<Verdict> {
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

    let folder = check_out(clients, &options.clients_rev, scratch.path())?;
    if let Err(error) = install(scratch.path()) {
        return Ok(Verdict::Missing(vec![format!("npm packages: {error:#}")]));
    }
    let place = Place {
        program: &program,
        project: &folder.join("test"),
        state: &scratch.path().join("state"),
        postgres,
    };
    let server = Server::start(&place)?;
    let score = jest::run(&folder, scratch.path(), &server.url()?)?;
    Ok(Verdict::Ran(score))
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
fn check_out(repository: &Path, revision: &str, scratch: &Path) -> Result<PathBuf> {
    let archive = scratch.join("clients.tar");
    commands::run(
        Command::new("git")
            .arg("-C")
            .arg(repository)
            .arg("archive")
            .arg("--output")
            .arg(&archive)
            .args([revision, LOCK_FILE, "tsconfig.base.json", PACKAGE]),
    )?;
    commands::run(
        Command::new("tar")
            .arg("-x")
            .arg("-f")
            .arg(&archive)
            .arg("-C")
            .arg(scratch),
    )?;
    Ok(scratch.join(PACKAGE))
}

/// Installs above the package, whose own manifest only pnpm understands.
fn install(scratch: &Path) -> Result<()> {
    let lock = fs::read_to_string(scratch.join(LOCK_FILE)).context("there is no lock file")?;
    let packages = lock_file::packages(&lock, PACKAGE)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checkout_holds_the_package_and_leaves_the_repository_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let (repository, scratch) = (folder.path().join("repo"), folder.path().join("scratch"));
        let package = repository.join(PACKAGE);
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

        let found = check_out(&repository, "HEAD", &scratch).expect("a checkout");

        assert!(found.join("package.json").is_file());
        assert!(scratch.join(LOCK_FILE).is_file());
        assert!(!scratch.join("other.txt").exists());
        assert_eq!(git(&["status", "--short"]), "");
    }
}
