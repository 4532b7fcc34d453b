//! `cargo xtask check`: what must hold for every commit and needs no running database.

mod cycles;
mod documents;
pub(crate) mod edges;
pub(crate) mod files;
mod licences;
mod lock_files;
mod machine_paths;
mod sleeps;
mod test_commands;

use std::process::ExitCode;

use anyhow::{Result, bail};

use crate::{
    api_types,
    steps::{Outcome, Plan, Step},
    tools, web, workspace,
};

/// The step that installs rustfmt and clippy.
pub(crate) const RUST_COMPONENTS: &str = "rust components";

/// Runs all checks and prints a summary.
pub(crate) fn run(arguments: &[String]) -> Result<ExitCode> {
    if !arguments.is_empty() {
        bail!("`cargo xtask check` takes no arguments");
    }
    let mut plan = Plan::default();
    let web_build = plan.add_all(web::steps());
    plan.add_all(steps());
    plan.add(clippy().needs(web_build));
    let report = plan.run();
    print!("{report}");
    Ok(report.exit_code())
}

/// Lints alone; the tests' build lints while it compiles.
fn clippy() -> Step<'static> {
    let mut clippy = workspace::cargo();
    clippy.args(["clippy", "--workspace", "--all-targets"]);
    clippy.args(["--", "-D", "warnings"]);
    Step::command("clippy", clippy).needs([RUST_COMPONENTS])
}

/// The rules of this repository that need no compiler.
pub(crate) fn steps() -> Vec<Step<'static>> {
    let mut format = workspace::cargo();
    format.args(["fmt", "--all", "--check"]);
    vec![
        Step::new(RUST_COMPONENTS, tools::install_rust_components),
        Step::command("format", format).needs([RUST_COMPONENTS]),
        Step::new("licences", || verdict(licences::problems()?)),
        Step::new("dependency directions", || verdict(edges::problems()?)),
        Step::new("module cycles", || {
            verdict(cycles::problems(workspace::root())?)
        }),
        Step::new("lock files", || {
            verdict(lock_files::problems(workspace::root())?)
        }),
        Step::new("machine paths", || {
            verdict(machine_paths::problems(workspace::root())?)
        }),
        Step::new("sleeps in tests", || {
            verdict(sleeps::problems(workspace::root())?)
        }),
        Step::new("types of the platform API", || {
            verdict(api_types::problems()?)
        }),
        Step::new("documents", || {
            verdict(documents::problems(workspace::root())?)
        }),
    ]
}

fn verdict(problems: Vec<String>) -> Result<Outcome> {
    match problems.len() {
        0 => Ok(Outcome::Done),
        1 => bail!("{}", problems[0]),
        count => bail!("{count} problems\n  {}", problems.join("\n  ")),
    }
}
