//! `cargo xtask up`: from a fresh clone to a running Plinth.

use std::{
    os::unix::process::CommandExt,
    process::{Command, ExitCode},
};

use anyhow::{Context, Result};

use crate::{
    progress,
    steps::{Outcome, Plan, Step},
    tools, web,
    workspace::{self, Workspace},
};

/// The profile of Cargo.toml that compiles quickly.
const PROFILE: &str = "up";

/// Installs, builds, and becomes `plinth start`, which prints the URLs and keys.
pub(crate) fn run(arguments: &[String]) -> Result<ExitCode> {
    tools::require_node()?;
    let runtime = workspace::root().join("runtime");

    let mut plan = Plan::default();
    plan.add(Step::new("runtime packages", || {
        tools::install_packages(&runtime)
    }));
    let web_build = plan.add_all(web::steps());
    plan.add(
        Step::new("build (some minutes the first time)", || {
            let mut build = workspace::cargo();
            build.args(["build", "--profile", PROFILE, "--package", "plinth"]);
            progress::build(&mut build)?;
            Ok(Outcome::Done)
        })
        .needs(web_build),
    );

    let report = plan.run();
    if !report.is_success() {
        print!("{report}");
        return Ok(report.exit_code());
    }

    let target = Workspace::load()?.target_directory;
    let binary = target.join(PROFILE).join("plinth");
    println!("Starting Plinth. Ctrl-C stops it.\n");
    // Replaces this process, so that Ctrl-C and SIGTERM reach Plinth itself.
    let error = Command::new(&binary)
        .arg("start")
        .args(arguments)
        .env("PLINTH_RUNTIME_DIR", &runtime)
        .exec();
    Err(error).with_context(|| format!("{} could not be started", binary.display()))
}
