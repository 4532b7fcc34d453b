//! `cargo xtask conformance`: suites of the originals, run against our services.
//!
//! They are no part of this repository and none of their files is kept here: each suite is read
//! from a copy that the developer has, and runs in a temporary folder. What is not there is named.

mod client_suite;
mod jest;
mod lock_file;
mod options;
mod postgres;
mod server;
mod spec_suite;
mod webauthn_suite;

use std::{fmt, path::PathBuf, process::ExitCode};

use anyhow::Result;

use crate::{
    commands,
    workspace::{self, Workspace},
};
use options::{Options, Suite};

/// The exit code when a suite could not run.
const MISSING: u8 = 2;

/// How one suite ended.
enum Verdict {
    Ran(Score),
    /// What it needs and is not here, one sentence each.
    Missing(Vec<String>),
}

/// How many cases passed, and which did not.
#[derive(Debug, PartialEq, Eq)]
struct Score {
    passed: usize,
    failed: Vec<String>,
}

impl Score {
    fn percent(&self) -> f64 {
        let all = self.passed + self.failed.len();
        match all {
            0 => 0.0,
            all => 100.0 * self.passed as f64 / all as f64,
        }
    }
}

impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = self.passed + self.failed.len();
        write!(
            f,
            "{} of {all} passed, {:.1} %",
            self.passed,
            self.percent()
        )?;
        for name in &self.failed {
            write!(f, "\n  failed: {name}")?;
        }
        Ok(())
    }
}

/// Runs the suites that were asked for, all of them even if one cannot run.
pub(crate) fn run(arguments: &[String]) -> Result<ExitCode> {
    let Some(options) = Options::parse(arguments)? else {
        print!("{}", options::HELP);
        return Ok(ExitCode::SUCCESS);
    };
    let mut verdicts = Vec::new();
    for &suite in options.suites() {
        println!("{suite}");
        verdicts.push((suite, run_suite(suite, &options)?));
    }
    println!();
    for (suite, verdict) in &verdicts {
        match verdict {
            Verdict::Ran(score) => println!("{suite}: {score}"),
            Verdict::Missing(needs) => {
                println!(
                    "{suite}: not run\n  missing: {}",
                    needs.join("\n  missing: ")
                );
            }
        }
    }
    Ok(exit_code(&verdicts, options.min))
}

fn run_suite(suite: Suite, options: &Options) -> Result<Verdict> {
    match suite {
        Suite::Spec => spec_suite::run(options),
        Suite::PostgrestJs => client_suite::POSTGREST_JS.run(options),
        Suite::StorageJs => client_suite::STORAGE_JS.run(options),
        Suite::WebAuthn => webauthn_suite::run(options),
    }
}

/// A suite below the minimum weighs more than one that could not run.
fn exit_code(verdicts: &[(Suite, Verdict)], min: f64) -> ExitCode {
    let is_below = |(_, verdict): &(Suite, Verdict)| matches!(verdict, Verdict::Ran(score) if score.percent() < min);
    let is_missing = |(_, verdict): &(Suite, Verdict)| matches!(verdict, Verdict::Missing(_));
    if verdicts.iter().any(is_below) {
        ExitCode::FAILURE
    } else if verdicts.iter().any(is_missing) {
        ExitCode::from(MISSING)
    } else {
        ExitCode::SUCCESS
    }
}

/// Builds the program and says where it is.
fn build_program() -> Result<PathBuf> {
    commands::run(workspace::cargo().args(["build", "--package", "plinth"]))?;
    Ok(Workspace::load()?.target_directory.join("debug/plinth"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ran(passed: usize, failed: &[&str]) -> Verdict {
        let failed = failed.iter().map(|name| (*name).to_owned()).collect();
        Verdict::Ran(Score { passed, failed })
    }

    fn check_exit_code(verdicts: Vec<Verdict>, expected: ExitCode) {
        let suites = [Suite::Spec, Suite::PostgrestJs];
        let verdicts: Vec<_> = suites.into_iter().zip(verdicts).collect();
        assert_eq!(exit_code(&verdicts, 75.0), expected);
    }

    #[test]
    fn the_exit_code_distinguishes_success_failure_and_absence() {
        let missing = || Verdict::Missing(vec!["git".to_owned()]);
        check_exit_code(vec![ran(3, &["a"]), ran(1, &[])], ExitCode::SUCCESS);
        check_exit_code(vec![ran(3, &["a", "b"]), ran(1, &[])], ExitCode::FAILURE);
        check_exit_code(vec![ran(4, &[]), missing()], ExitCode::from(2));
        check_exit_code(vec![ran(0, &["a"]), missing()], ExitCode::FAILURE);
    }

    #[test]
    fn a_suite_without_cases_has_not_passed() {
        check_exit_code(vec![ran(0, &[])], ExitCode::FAILURE);
    }

    #[test]
    fn a_score_names_what_failed() {
        let Verdict::Ran(score) = ran(2, &["it counts"]) else {
            panic!("it ran");
        };
        assert_eq!(
            score.to_string(),
            "2 of 3 passed, 66.7 %\n  failed: it counts"
        );
    }
}
