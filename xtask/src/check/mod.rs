//! `cargo xtask check`: what must hold for every commit and needs no running database.

pub(crate) mod edges;
pub(crate) mod files;
mod licences;
mod lock_files;
mod machine_paths;

use std::process::ExitCode;

use anyhow::{Result, bail};

use crate::{
    docs,
    steps::{Outcome, Plan, Step},
    tools, web, workspace,
};

/// Runs all checks and prints a summary.
pub(crate) fn run(arguments: &[String]) -> Result<ExitCode> {
    if !arguments.is_empty() {
        bail!("`cargo xtask check` takes no arguments");
    }
    let mut plan = Plan::default();
    let web_build = plan.add_all(web::steps());
    plan.add_all(steps(web_build.as_deref()));
    let report = plan.run();
    print!("{report}");
    Ok(report.exit_code())
}

/// Format, lints and the rules of this repository. `web_build` names the step that must come
/// before anything is compiled.
pub(crate) fn steps(web_build: Option<&str>) -> Vec<Step<'static>> {
    let mut format = workspace::cargo();
    format.args(["fmt", "--all", "--check"]);
    let mut clippy = workspace::cargo();
    clippy.args([
        "clippy",
        "--workspace",
        "--all-targets",
        "--",
        "-D",
        "warnings",
    ]);
    vec![
        Step::new("rust components", tools::install_rust_components),
        Step::command("format", format).needs(["rust components"]),
        Step::command("clippy", clippy)
            .needs(["rust components"])
            .needs(web_build),
        Step::new("licences", || verdict(licences::problems()?)),
        Step::new("dependency directions", || verdict(edges::problems()?)),
        Step::new("lock files", || {
            verdict(lock_files::problems(workspace::root())?)
        }),
        Step::new("machine paths", || {
            verdict(machine_paths::problems(workspace::root())?)
        }),
        Step::new("generated pages", docs::check),
    ]
}

fn verdict(problems: Vec<String>) -> Result<Outcome> {
    match problems.len() {
        0 => Ok(Outcome::Done),
        1 => bail!("{}", problems[0]),
        count => bail!("{count} problems\n  {}", problems.join("\n  ")),
    }
}
