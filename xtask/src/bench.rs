//! `cargo xtask bench`: hands over to the benchmark program.

use std::{os::unix::process::CommandExt, process::ExitCode};

use anyhow::{Context, Result, bail};

use crate::workspace::{self, Workspace};

const PACKAGE: &str = "plinth-bench";

/// Runs the benchmark program in release form with all arguments.
pub(crate) fn run(arguments: &[String]) -> Result<ExitCode> {
    if !Workspace::load()?.has_package(PACKAGE) {
        bail!("this workspace has no package `{PACKAGE}`, so there is nothing to measure");
    }
    let mut cargo = workspace::cargo();
    cargo.args(["run", "--release", "--package", PACKAGE, "--"]);
    cargo.args(arguments);
    // Replaces this process, so that exit code and Ctrl-C are the benchmark's own.
    Err(cargo.exec()).context("cargo could not be started")
}
