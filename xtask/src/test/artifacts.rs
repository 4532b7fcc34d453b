//! What cargo built for the tests: the test programs, and the program itself.
//!
//! Cargo chooses the features of dependencies by the packages it is asked for. Asking for one
//! package would compile most of them a second time, so everything that runs tests takes what the
//! one build of the whole workspace made.

use std::{
    path::PathBuf,
    process::{Command, Stdio},
};

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use super::threads;
use crate::{
    commands,
    steps::Outcome,
    workspace::{self, Workspace},
};

/// Everything executable that the build of all tests made.
pub(super) struct Artifacts {
    executables: Vec<Executable>,
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

/// A line that cargo writes about something it built.
#[derive(Deserialize)]
struct Message {
    #[serde(default)]
    manifest_path: PathBuf,
    target: Option<Target>,
    profile: Option<Profile>,
    executable: Option<PathBuf>,
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
    /// Builds all tests of the workspace.
    pub(super) fn build() -> Result<Self> {
        let mut cargo = workspace::cargo();
        cargo.args(["test", "--workspace", "--no-run", "--message-format"]);
        let messages = commands::output(cargo.arg("json-render-diagnostics"))?;
        Self::parse(&messages, &Workspace::load()?)
    }

    fn parse(messages: &str, workspace: &Workspace) -> Result<Self> {
        let mut executables = Vec::new();
        for line in messages.lines().filter(|line| line.starts_with('{')) {
            let message: Message =
                serde_json::from_str(line).context("cargo wrote a message of unknown form")?;
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
        Ok(Self { executables })
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
        commands::run(workspace::cargo().args(["build", "--package", name]))?;
        Ok(Workspace::load()?.target_directory.join("debug").join(name))
    }

    /// Runs the integration tests of some packages with a variable set, all of them even if one
    /// fails.
    pub(super) fn run_tests_of(
        &self,
        packages: &[&str],
        variable: (&str, &str),
    ) -> Result<Outcome> {
        self.run_tests_named(packages, &[], variable)
    }

    /// As [`Self::run_tests_of`], only tests whose name has one of these in it.
    pub(super) fn run_tests_named(
        &self,
        packages: &[&str],
        parts_of_name: &[&str],
        (variable, value): (&str, &str),
    ) -> Result<Outcome> {
        let mut failed = Vec::new();
        for test in self.tests_of(packages) {
            println!("     Running {} of {}", test.target, test.package);
            let mut command = Command::new(&test.file);
            command
                .args(parts_of_name)
                .current_dir(&test.folder)
                .env("CARGO_MANIFEST_DIR", &test.folder)
                .env(variable, value)
                .stdin(Stdio::null());
            threads::share_processors(&mut command);
            if !command.status().is_ok_and(|status| status.success()) {
                failed.push(format!("{} of {}", test.target, test.package));
            }
        }
        if failed.is_empty() {
            Ok(Outcome::Done)
        } else {
            bail!("failed: {}", failed.join(", "))
        }
    }

    fn tests_of<'a>(&'a self, packages: &'a [&str]) -> impl Iterator<Item = &'a Executable> {
        let tests = self
            .executables
            .iter()
            .filter(|executable| executable.kind == Kind::IntegrationTests);
        tests.filter(|test| packages.contains(&test.package.as_str()))
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

    fn artifacts() -> Artifacts {
        let messages = [
            message("plinth-log", ("lib", "plinth_log"), false, None),
            message("plinth-log", ("test", "files"), true, Some("/t/files-1")),
            message("plinth", ("bin", "plinth"), true, Some("/t/plinth-2")),
            message("plinth", ("bin", "plinth"), false, Some("/t/plinth")),
            message("plinth", ("test", "start"), true, Some("/t/start-3")),
            json!({ "reason": "build-finished", "success": true }).to_string(),
        ];
        Artifacts::parse(&messages.join("\n"), &workspace()).expect("well-formed messages")
    }

    #[test]
    fn the_program_is_told_from_its_own_unit_tests() {
        assert_eq!(
            artifacts().program("plinth").expect("built"),
            Path::new("/t/plinth")
        );
    }

    #[test]
    fn only_the_integration_tests_of_the_chosen_packages_run() {
        let artifacts = artifacts();
        let files: Vec<_> = artifacts
            .tests_of(&["plinth"])
            .map(|test| test.file.clone())
            .collect();
        assert_eq!(files, [Path::new("/t/start-3")]);
    }

    #[test]
    fn a_failing_test_program_does_not_keep_the_others_from_running() {
        let folder = tempfile::tempdir().expect("a folder");
        let executable = |target: &str, file: &str| Executable {
            package: "plinth".to_owned(),
            folder: folder.path().to_owned(),
            target: target.to_owned(),
            kind: Kind::IntegrationTests,
            file: PathBuf::from(file),
        };
        let executables = vec![
            executable("first", "/bin/false"),
            executable("second", "/bin/true"),
            executable("third", "/bin/false"),
        ];
        let Err(error) = Artifacts { executables }.run_tests_of(&["plinth"], ("A", "b")) else {
            panic!("two of three fail");
        };
        assert_eq!(
            error.to_string(),
            "failed: first of plinth, third of plinth"
        );
    }

    #[test]
    fn a_test_program_can_be_told_which_tests_are_wanted() {
        let folder = tempfile::tempdir().expect("a folder");
        let executable = Executable {
            package: "plinth".to_owned(),
            folder: folder.path().to_owned(),
            target: "blackbox".to_owned(),
            kind: Kind::IntegrationTests,
            file: PathBuf::from("/usr/bin/mkdir"),
        };
        let executables = vec![executable];
        let run = Artifacts { executables }.run_tests_named(&["plinth"], &["storage_"], ("A", "b"));
        run.expect("it succeeds");
        assert!(folder.path().join("storage_").is_dir());
    }
}
