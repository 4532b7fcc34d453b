//! What cargo built for the tests: the test programs, and the program itself.
//!
//! Cargo chooses the features of dependencies by the packages it is asked for. Asking for one
//! package would compile most of them a second time, so everything that runs tests takes what the
//! one build of the whole workspace made.

use std::{collections::BTreeSet, path::PathBuf, process::Command};

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use super::{PROGRAM, runner::Program};
use crate::{
    commands, tools,
    workspace::{self, Workspace},
};

/// What lints the packages of the workspace while it compiles them, in place of rustc. Without it
/// the tests are built all the same.
const LINTING_COMPILER: &str = "clippy-driver";

/// Everything executable that the build of all tests made, and what the compiler said.
pub(super) struct Artifacts {
    executables: Vec<Executable>,
    diagnostics: BTreeSet<String>,
}

struct Executable {
    package: String,
    /// The folder of the package, in which its tests run.
    folder: PathBuf,
    target: String,
    kind: Kind,
    file: PathBuf,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Program,
    UnitTests,
    IntegrationTests,
}

impl Kind {
    fn of(target: &Target, profile: &Profile) -> Self {
        match (profile.test, target.kind.iter().any(|kind| kind == "test")) {
            (false, _) => Self::Program,
            (true, false) => Self::UnitTests,
            (true, true) => Self::IntegrationTests,
        }
    }
}

/// A line that cargo writes about something it built, or that the compiler said about it.
#[derive(Deserialize)]
struct Message {
    message: Option<Diagnostic>,
    #[serde(default)]
    manifest_path: PathBuf,
    target: Option<Target>,
    profile: Option<Profile>,
    executable: Option<PathBuf>,
}

#[derive(Deserialize)]
struct Diagnostic {
    rendered: String,
}

#[derive(Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
}

#[derive(Deserialize)]
struct Profile {
    test: bool,
}

impl Artifacts {
    /// Builds all tests of the workspace, and lints what it compiles.
    pub(super) fn build() -> Result<Self> {
        let arguments = ["test", "--workspace", "--all-targets", "--no-run"];
        Self::compile(&arguments, &Workspace::load()?)
    }

    /// Fails if the compiler or clippy warned of something, also in programs that no test uses.
    pub(super) fn check_lints(&self) -> Result<()> {
        if tools::find(LINTING_COMPILER).is_none() {
            bail!("{LINTING_COMPILER} not found");
        }
        let arguments = ["build", "--workspace", "--bins", "--examples"];
        let others = Self::compile(&arguments, &Workspace::load()?)?;
        let diagnostics: BTreeSet<_> = self.diagnostics.union(&others.diagnostics).collect();
        for diagnostic in &self.diagnostics {
            commands::print(diagnostic)?;
        }
        match diagnostics.len() {
            0 => Ok(()),
            count => {
                bail!("warnings: {count}; `cargo clippy --workspace --all-targets` shows them")
            }
        }
    }

    /// Runs cargo and prints what the compiler says.
    fn compile(arguments: &[&str], workspace: &Workspace) -> Result<Self> {
        let mut build = cargo();
        build.args(arguments).args(["--message-format", "json"]);
        let (messages, ended) = commands::output_and_end(&mut build)?;
        let artifacts = Self::parse(&messages, workspace)?;
        for diagnostic in &artifacts.diagnostics {
            commands::print(diagnostic)?;
        }
        ended.map(|()| artifacts)
    }

    fn parse(messages: &str, workspace: &Workspace) -> Result<Self> {
        let mut executables = Vec::new();
        // A library and its unit tests get the same variables.
        let mut diagnostics = BTreeSet::new();
        for line in messages.lines().filter(|line| line.starts_with('{')) {
            let message: Message =
                serde_json::from_str(line).context("cargo wrote a message of unknown form")?;
            if let Some(diagnostic) = message.message {
                diagnostics.insert(diagnostic.rendered);
            }
            let (Some(file), Some(target), Some(profile)) =
                (message.executable, message.target, message.profile)
            else {
                continue;
            };
            let mut packages = workspace.packages.iter();
            if let Some(package) = packages.find(|p| p.manifest_path == message.manifest_path) {
                executables.push(Executable {
                    package: package.name.clone(),
                    folder: package.folder().to_owned(),
                    kind: Kind::of(&target, &profile),
                    target: target.name,
                    file,
                });
            }
        }
        Ok(Self {
            executables,
            diagnostics,
        })
    }

    /// The path of a program of the workspace.
    ///
    /// Cargo builds it for the integration tests of its package; a package without any gets a
    /// build of its own.
    pub(super) fn program(&self, name: &str) -> Result<PathBuf> {
        let mut programs = self
            .executables
            .iter()
            .filter(|executable| executable.kind == Kind::Program);
        if let Some(program) = programs.find(|program| program.target == name) {
            return Ok(program.file.clone());
        }
        commands::run(cargo().args(["build", "--package", name]))?;
        Ok(Workspace::load()?.target_directory.join("debug").join(name))
    }

    /// The tests of the whole program, integration tests first, because they take longest.
    pub(super) fn tests_of_program(&self) -> Vec<Program> {
        self.tests_where(|package| package == PROGRAM)
    }

    /// The tests of all other packages, in the same order.
    pub(super) fn tests_of_libraries(&self) -> Vec<Program> {
        self.tests_where(|package| package != PROGRAM)
    }

    fn tests_where(&self, is_chosen: impl Fn(&str) -> bool) -> Vec<Program> {
        let tests = self.executables.iter();
        let mut tests: Vec<&Executable> = tests
            .filter(|test| test.kind != Kind::Program && is_chosen(&test.package))
            .collect();
        tests.sort_by_key(|test| test.kind == Kind::UnitTests);
        tests.into_iter().map(Executable::as_program).collect()
    }

    /// The integration tests of some packages, with a variable set; the arguments are libtest's, which
    /// choose among the tests.
    pub(super) fn tests_of(
        &self,
        packages: &[&str],
        arguments: &[&str],
        (variable, value): (&str, &str),
    ) -> Vec<Program> {
        let tests = self.executables.iter().filter(|test| {
            test.kind == Kind::IntegrationTests && packages.contains(&test.package.as_str())
        });
        let mut programs: Vec<Program> = tests.map(Executable::as_program).collect();
        for program in &mut programs {
            program.command.args(arguments).env(variable, value);
        }
        programs
    }
}

/// Cargo with the compiler of the one build; another one would compile the workspace again.
pub(super) fn cargo() -> Command {
    let mut cargo = workspace::cargo();
    if tools::find(LINTING_COMPILER).is_some() {
        cargo.env("RUSTC_WORKSPACE_WRAPPER", LINTING_COMPILER);
    }
    cargo
}

impl Executable {
    fn as_program(&self) -> Program {
        let mut command = Command::new(&self.file);
        command
            .current_dir(&self.folder)
            .env("CARGO_MANIFEST_DIR", &self.folder);
        let what = match self.kind {
            Kind::UnitTests => "unit tests",
            Kind::IntegrationTests | Kind::Program => &self.target,
        };
        Program {
            name: format!("{what} of {}", self.package),
            command,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::json;

    use super::*;

    fn workspace() -> Workspace {
        let package = |name: &str| {
            json!({
                "name": name,
                "version": "0.1.0",
                "manifest_path": format!("/w/{name}/Cargo.toml"),
                "dependencies": [],
            })
        };
        let packages = ["plinth", "plinth-log"].map(package);
        let value = json!({ "packages": packages, "target_directory": "/t" });
        serde_json::from_value(value).expect("the form of cargo metadata")
    }

    fn message(
        package: &str,
        (kind, target): (&str, &str),
        is_test: bool,
        file: Option<&str>,
    ) -> String {
        json!({
            "reason": "compiler-artifact",
            "manifest_path": format!("/w/{package}/Cargo.toml"),
            "target": { "name": target, "kind": [kind] },
            "profile": { "test": is_test },
            "executable": file,
        })
        .to_string()
    }

    fn warning(package: &str) -> String {
        json!({
            "reason": "compiler-message",
            "manifest_path": format!("/w/{package}/Cargo.toml"),
            "target": { "name": package, "kind": ["lib"] },
            "message": { "level": "warning", "rendered": "warning: unused variable" },
        })
        .to_string()
    }

    fn artifacts() -> Artifacts {
        let messages = [
            message("plinth-log", ("lib", "plinth_log"), false, None),
            message("plinth-log", ("test", "files"), true, Some("/t/files-1")),
            message("plinth", ("bin", "plinth"), true, Some("/t/plinth-2")),
            message("plinth", ("bin", "plinth"), false, Some("/t/plinth")),
            message("plinth", ("test", "start"), true, Some("/t/start-3")),
            warning("plinth-log"),
            warning("plinth-log"),
            json!({ "reason": "build-finished", "success": true }).to_string(),
        ];
        Artifacts::parse(&messages.join("\n"), &workspace()).expect("well-formed messages")
    }

    #[test]
    fn the_program_is_distinguished_from_its_own_unit_tests() {
        assert_eq!(
            artifacts().program("plinth").expect("built"),
            Path::new("/t/plinth")
        );
    }

    #[test]
    fn a_warning_of_a_library_and_its_tests_is_one() {
        let diagnostics = artifacts().diagnostics;
        assert_eq!(diagnostics, ["warning: unused variable".to_owned()].into());
        let clean = Artifacts::parse("", &workspace()).expect("nothing to read");
        assert!(clean.diagnostics.is_empty());
    }

    #[test]
    fn only_the_integration_tests_of_the_chosen_packages_run() {
        let programs = artifacts().tests_of(&["plinth"], &[], ("A", "b"));
        let names: Vec<_> = programs.iter().map(|program| &program.name).collect();
        assert_eq!(names, ["start of plinth"]);
    }

    #[test]
    fn each_test_belongs_to_the_program_or_to_a_library_and_unit_tests_come_last() {
        let names = |programs: Vec<Program>| -> Vec<String> {
            programs.into_iter().map(|program| program.name).collect()
        };
        let of_program = names(artifacts().tests_of_program());
        assert_eq!(of_program, ["start of plinth", "unit tests of plinth"]);
        let of_libraries = names(artifacts().tests_of_libraries());
        assert_eq!(of_libraries, ["files of plinth-log"]);
    }
}
