//! Finding the programs that the commands need, and installing what can be installed.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::SystemTime,
};

use anyhow::{Context, Result, bail};

use crate::{commands, steps::Outcome, workspace};

/// The oldest Node.js that runs our scripts and tests.
pub(crate) const NODE_MAJOR: u32 = 20;

/// The PostgreSQL that Debian carries: the oldest version that Plinth supports.
pub(crate) const DEBIAN_POSTGRES: &str = "/usr/lib/postgresql/15/bin";

/// The browsers that the tests can use, the preferred one first: Debian's names of packages and programs.
const BROWSERS: [&str; 2] = ["chromium-headless-shell", "chromium"];

/// What the SDK compiles to for browsers.
const BROWSER_TARGET: &str = "wasm32-unknown-unknown";

/// Fails with one sentence when Node.js is missing or too old.
pub(crate) fn require_node() -> Result<()> {
    let missing: Vec<&str> = ["node", "npm"]
        .into_iter()
        .filter(|program| find(program).is_none())
        .collect();
    if !missing.is_empty() {
        bail!(
            "{} not found; install Node.js {NODE_MAJOR} or newer (https://nodejs.org) and try again.",
            missing.join(" and ")
        );
    }
    let version = commands::output(Command::new("node").arg("--version"))?;
    let major = version.trim().trim_start_matches('v').split('.').next();
    match major.and_then(|major| major.parse::<u32>().ok()) {
        Some(major) if major >= NODE_MAJOR => Ok(()),
        _ => bail!(
            "Node.js {NODE_MAJOR} or newer is needed, but `node --version` says {}.",
            version.trim()
        ),
    }
}

/// The path of a program, if the shell would find it.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join(program))
        .find(|file| file.is_file())
}

/// npm in a folder of the repository.
pub(crate) fn npm(folder: &Path) -> Command {
    let mut command = Command::new("npm");
    command.current_dir(folder);
    command
}

/// Installs exactly what the lock file of `folder` names, unless that was done before.
pub(crate) fn install_packages(folder: &Path) -> Result<Outcome> {
    if are_packages_installed(folder) {
        return Ok(Outcome::AlreadyDone);
    }
    let arguments = [
        "ci",
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
        "--loglevel=error",
    ];
    commands::run(npm(folder).args(arguments))?;
    Ok(Outcome::Done)
}

/// npm writes its own list last, so that it shows whether the installation was finished.
fn are_packages_installed(folder: &Path) -> bool {
    let installed = modified(&folder.join("node_modules/.package-lock.json"));
    let locked = modified(&folder.join("package-lock.json"));
    matches!((installed, locked), (Some(installed), Some(locked)) if installed >= locked)
}

/// When a file was last written; `None` if it is not there.
pub(crate) fn modified(file: &Path) -> Option<SystemTime> {
    fs::metadata(file)
        .and_then(|metadata| metadata.modified())
        .ok()
}

/// `rustfmt` and `clippy`, which a minimal installation of Rust leaves out.
pub(crate) fn install_rust_components() -> Result<Outcome> {
    let is_missing = |subcommand: &str| {
        let version = workspace::cargo().args([subcommand, "--version"]).output();
        !version.is_ok_and(|output| output.status.success())
    };
    let components = [("fmt", "rustfmt"), ("clippy", "clippy")];
    let missing: Vec<&str> = components
        .into_iter()
        .filter(|(subcommand, _)| is_missing(subcommand))
        .map(|(_, component)| component)
        .collect();
    if missing.is_empty() {
        return Ok(Outcome::AlreadyDone);
    }
    if find("rustup").is_none() {
        bail!(
            "install {} for this Rust and try again",
            missing.join(" and ")
        );
    }
    commands::run(
        Command::new("rustup")
            .args(["component", "add"])
            .args(missing),
    )?;
    Ok(Outcome::Done)
}

/// Rust's library for the browser, by which `crates/client/tests/wasm.rs` finds out whether the SDK
/// compiles there. Where it can neither be found nor had, that stays unknown, and the report says so.
pub(crate) fn install_browser_target() -> Result<Outcome> {
    if has_browser_target() {
        return Ok(Outcome::AlreadyDone);
    }
    let unknown = |why: &str| {
        Outcome::Skipped(format!(
            "not checked whether the SDK compiles for {BROWSER_TARGET}: {why}"
        ))
    };
    if find("rustup").is_none() {
        return Ok(unknown(
            "this Rust has no such target, and there is no rustup",
        ));
    }
    let mut rustup = Command::new("rustup");
    rustup.args(["target", "add", BROWSER_TARGET]);
    Ok(match commands::run(&mut rustup) {
        Ok(()) => Outcome::Done,
        Err(_) => unknown("rustup cannot install the target"),
    })
}

fn has_browser_target() -> bool {
    let folder = Command::new("rustc")
        .args(["--print", "target-libdir", "--target", BROWSER_TARGET])
        .output();
    folder.is_ok_and(|output| Path::new(String::from_utf8_lossy(&output.stdout).trim()).is_dir())
}

/// Whether there is a browser for the tests.
pub(crate) fn has_browser() -> bool {
    BROWSERS.iter().any(|browser| find(browser).is_some())
}

/// Debian's PostgreSQL 15 and, for browser tests, Chromium.
pub(crate) fn install_system_packages(needs_browser: bool) -> Result<Outcome> {
    let mut missing = Vec::new();
    if !has_debian_postgres() || find("psql").is_none() {
        missing.extend(["postgresql-15", "postgresql-client-15"]);
    }
    // Clients of the S3 protocol.
    for client in ["rclone", "restic", "s3cmd"] {
        if find(client).is_none() {
            missing.push(client);
        }
    }
    if !Path::new("/usr/share/doc/python3-venv").exists() {
        missing.push("python3-venv");
    }
    // What nodes talk over.
    if find("nats-server").is_none() {
        missing.push("nats-server");
    }
    // Certificates of servers that tests start.
    if find("openssl").is_none() {
        missing.push("openssl");
    }
    let can_install = find("apt-get").is_some() && is_root()?;
    // The tests take half the processor time with the preferred browser.
    let has_better = can_install && find(BROWSERS[0]).is_none() && is_known_to_apt(BROWSERS[0]);
    if needs_browser && (has_better || !has_browser()) {
        missing.push(BROWSERS[0]);
    }
    if missing.is_empty() {
        return Ok(Outcome::AlreadyDone);
    }
    if !can_install {
        let missing = missing.join(", ");
        return Ok(Outcome::Skipped(format!(
            "only root on Debian can install {missing}"
        )));
    }
    commands::run(apt_get().args(["update", "--quiet"]))?;
    let (known, unknown): (Vec<&str>, Vec<&str>) = missing
        .into_iter()
        .partition(|package| is_known_to_apt(package));
    if !known.is_empty() {
        let arguments = ["install", "--yes", "--no-install-recommends"];
        commands::run(apt_get().args(arguments).args(known))?;
    }
    if !unknown.is_empty() {
        let unknown = unknown.join(", ");
        return Ok(Outcome::Skipped(format!(
            "this system's packages have no {unknown}"
        )));
    }
    Ok(Outcome::Done)
}

/// `debootstrap`, which makes an empty Debian; otherwise the reason why there is none.
pub(crate) fn install_debootstrap() -> Result<Option<String>> {
    if !is_root()? {
        return Ok(Some("only root can make an empty Debian".to_owned()));
    }
    if find("debootstrap").is_some() {
        return Ok(None);
    }
    if find("apt-get").is_none() {
        return Ok(Some("there is no debootstrap".to_owned()));
    }
    commands::run(apt_get().args(["update", "--quiet"]))?;
    let arguments = ["install", "--yes", "--no-install-recommends", "debootstrap"];
    commands::run(apt_get().args(arguments))?;
    Ok(None)
}

/// The mirror that this machine's apt takes Debian from.
pub(crate) fn debian_mirror() -> Option<String> {
    let mut apt = Command::new("apt-get");
    let targets = [
        "indextargets",
        "--format",
        "$(SITE)",
        "Created-By: Packages",
        "Origin: Debian",
    ];
    let sites = commands::output(apt.args(targets)).ok()?;
    let is_main = |site: &&str| !site.contains("security");
    sites.lines().find(is_main).map(ToOwned::to_owned)
}

/// Whether tests can run against the oldest supported PostgreSQL.
pub(crate) fn has_debian_postgres() -> bool {
    Path::new(DEBIAN_POSTGRES).join("postgres").is_file()
}

fn apt_get() -> Command {
    let mut command = Command::new("apt-get");
    command.env("DEBIAN_FRONTEND", "noninteractive");
    command
}

fn is_known_to_apt(package: &str) -> bool {
    let shown = Command::new("apt-cache").args(["show", package]).output();
    shown.is_ok_and(|output| output.status.success())
}

fn is_root() -> Result<bool> {
    let id = commands::output(Command::new("id").arg("-u")).context("who runs this is unknown")?;
    Ok(id.trim() == "0")
}

#[cfg(test)]
mod tests {
    use std::{fs::File, time::Duration};

    use super::*;

    fn folder_with(installed_after_lock: Option<i64>) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        let written = SystemTime::now() - Duration::from_secs(100);
        let lock = File::create(folder.path().join("package-lock.json")).expect("a lock file");
        lock.set_modified(written).expect("a time");
        if let Some(seconds) = installed_after_lock {
            let modules = folder.path().join("node_modules");
            fs::create_dir(&modules).expect("a folder");
            let list = File::create(modules.join(".package-lock.json")).expect("a list");
            let offset = Duration::from_secs(seconds.unsigned_abs());
            let time = if seconds < 0 {
                written - offset
            } else {
                written + offset
            };
            list.set_modified(time).expect("a time");
        }
        folder
    }

    #[test]
    fn packages_are_installed_when_npm_finished_after_the_lock_was_written() {
        assert!(are_packages_installed(folder_with(Some(5)).path()));
    }

    #[test]
    fn packages_are_stale_when_the_lock_is_newer() {
        assert!(!are_packages_installed(folder_with(Some(-5)).path()));
    }

    #[test]
    fn packages_are_missing_without_the_list_that_npm_writes_last() {
        assert!(!are_packages_installed(folder_with(None).path()));
    }

    #[test]
    fn a_program_that_is_not_there_is_not_found() {
        assert!(find("sh").is_some());
        assert!(find("no-such-program-anywhere").is_none());
    }
}
