//! The project's own commands, run as `cargo xtask <command>`.
//!
//! One module per command; `steps` runs named steps and `report` sums them up, `tools` finds and
//! installs what they need, `workspace` asks cargo about this repository. Nothing here is part of
//! the program that users run.

mod api_types;
mod bench;
mod check;
mod commands;
mod conformance;
mod cpu_time;
mod dist;
mod docs;
mod progress;
mod report;
mod steps;
mod test;
mod tools;
mod up;
mod web;
mod workspace;

use std::process::ExitCode;

use anyhow::bail;

const HELP: &str = "\
The project's own commands.

  cargo xtask up [arguments]     Install, build and start Plinth in the current folder, and stay
                                 in the foreground until Ctrl-C. Further arguments go to
                                 `plinth start`:  cargo xtask up --port auto
  cargo xtask test [filter]      Set up what the tests need and run every test. With a filter, only
                                 the steps whose name contains it, and what those need:
                                 cargo xtask test format
  cargo xtask test --list        Name the steps.
  cargo xtask check              The quick part of it: format, lints, licences, dependencies,
                                 documents. Run this before a commit.
  cargo xtask docs               Write the generated pages below docs/.
  cargo xtask bench [name] …     Run a benchmark in release form. `--help` names them.
  cargo xtask dist [--check]     Build a release and pack it: one archive for Linux x64, and npm
                                 packages. With --check, run the archive on a bare Debian and
                                 install the packages. --profile <name> packs another build.
  cargo xtask conformance rest   Run the originals' own suites, where they are found, and say what
                                 is missing otherwise. Others are storage and webauthn; `--help`
                                 names the options.

A single Rust test:    cargo test -p plinth-settings the_name_of_the_test
A single JS test:      cd tests/js-clients && PLINTH_BIN=<path of plinth> node --test health.test.mjs
";

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let command = arguments.next();
    let rest: Vec<String> = arguments.collect();
    match dispatch(command.as_deref(), &rest) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(command: Option<&str>, rest: &[String]) -> anyhow::Result<ExitCode> {
    match command {
        None | Some("help" | "-h" | "--help") => {
            print!("{HELP}");
            Ok(ExitCode::SUCCESS)
        }
        Some("up") => up::run(rest),
        Some("test") => test::run(rest),
        Some("check") => check::run(rest),
        Some("docs") => docs::run(rest),
        Some("bench") => bench::run(rest),
        Some("dist") => dist::run(rest),
        Some("conformance") => conformance::run(rest),
        Some(other) => bail!(
            "there is no command {other:?}; the commands are up, test, check, docs, bench, dist \
             and conformance, and `cargo xtask` explains them"
        ),
    }
}
