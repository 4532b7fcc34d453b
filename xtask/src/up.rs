//! `cargo xtask up`: from a fresh clone to a running Plinth.

use std::{
    os::unix::process::CommandExt,
    process::{Command, ExitCode},
};

use anyhow::{Context, Result};

use crate::{
    steps::{Plan, Step},
    tools, web,
    workspace::{self, Workspace},
};

/// Installs, builds, and becomes `plinth start`, which prints the URLs and keys.
pub(crate) fn run(arguments: &[String]) -> Result<ExitCode> {
    tools::require_node()?;
    let runtime = workspace::root().join("runtime");

    let mut plan = Plan::default();
    plan.add(Step::new("runtime packages", || {
        tools::install_packages(&runtime)
    }));
    let web_build = plan.add_all(web::steps());
    let mut build = workspace::cargo();
    build.args(["build", "--release", "--package", "plinth"]);
    plan.add(Step::command("release build", build).needs(web_build));

    let report = plan.run();
    if !report.is_success() {
        print!("{report}");
        return Ok(report.exit_code());
    }

    let binary = Workspace::load()?.target_directory.join("release/plinth");
    println!("Starting Plinth. Ctrl-C stops it.\n");
    // Replaces this process, so that Ctrl-C and SIGTERM reach Plinth itself.
    let error = Command::new(&binary)
        .arg("start")
        .args(arguments)
        .env("PLINTH_RUNTIME_DIR", &runtime)
        .exec();
    Err(error).with_context(|| format!("{} could not be started", binary.display()))
}
