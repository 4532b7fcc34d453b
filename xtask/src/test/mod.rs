//! `cargo xtask test`: everything that a test needs, and then every test.
//!
//! One build makes the test programs, and lints the workspace while it compiles it. Rust tests run
//! on the PostgreSQL that Plinth brings along, and those whose statements another version may
//! understand otherwise also on the oldest one it supports. Suites in JavaScript drive the very binary that the Rust
//! tests were built with. What is about files runs once more on a real S3 server (`s3_store.rs`).

mod artifacts;
mod libtest;
mod node_test;
mod runner;
mod s3_store;
mod ssr;
mod threads;

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
    sync::OnceLock,
};

use anyhow::{Context, Result, bail};

use crate::{
    check, cpu_time,
    dist::{self, Compression},
    report::Seconds,
    steps::{Outcome, Plan, Step},
    tools, web,
    workspace::{self, Workspace},
};
use artifacts::Artifacts;
use runner::{Durations, Program};

const PROGRAM: &str = "plinth";

/// Packages that speak SQL without schemas of their own.
const SPEAKS_SQL: [&str; 4] = ["plinth-advisor", "plinth-db", "plinth-diff", "plinth-dump"];
/// The program's tests that are about which PostgreSQL it runs on.
const ABOUT_POSTGRES: [&str; 2] = ["external_database", "start_and_stop"];

/// Tests of services that the version of PostgreSQL does not concern: what they are about happens
/// before a statement, after it, or between servers, and other tests run the same statements. Modules
/// of these names within others (`oauth::attacks::`) are skipped with them.
const SAME_ON_ANY_POSTGRES: [&str; 23] = [
    "attacks::",
    "callers::",
    "captcha::",
    "conditions::",
    "cors::",
    "discovery::",
    "frames::",
    "handshake::",
    "hooks::texts::",
    "links::",
    "mail::",
    "mail_tls::",
    "metrics::",
    "names::",
    "oauth::custom::",
    "oauth::id_token::",
    "oauth::id_token_providers::",
    "oauth::quirks::",
    "ranges::",
    "redirects::",
    "sms::",
    "system::",
    "timing::",
];

/// The suite that needs a real browser.
const BROWSER: &str = "browser";

/// The suite of the published clients.
const JS_CLIENTS: &str = "js-clients";

// Steps that others need.
const RUNTIME_PACKAGES: &str = "runtime packages";
const SYSTEM_PACKAGES: &str = "system packages";
const WASM_TARGET: &str = "WebAssembly target";
const BUILD: &str = "build";

/// The variable without which tests that lack a program of the system are skipped.
const MUST_RUN: &str = "PLINTH_TESTS_MUST_RUN";

/// Steps at a time: what waits for the network, a browser or a timeout leaves processors to another.
const SLOTS: usize = 3;

/// What steps hand to later ones.
#[derive(Default)]
struct Shared {
    artifacts: OnceLock<Artifacts>,
    durations: Durations,
    /// Set once every program of the system is there that a test needs.
    has_system_packages: OnceLock<()>,
}

impl Shared {
    fn artifacts(&self) -> Result<&Artifacts> {
        self.artifacts.get().context("the tests were not built")
    }

    fn install_system_packages(&self, needs_browser: bool) -> Result<Outcome> {
        let outcome = tools::install_system_packages(needs_browser)?;
        if !matches!(outcome, Outcome::Skipped(_)) {
            self.has_system_packages.get_or_init(|| ());
        }
        Ok(outcome)
    }

    /// Fails tests for want of a program instead of skipping them, where all are installed.
    fn forbid_skips(&self, command: &mut Command) {
        if self.has_system_packages.get().is_some() {
            command.env(MUST_RUN, "1");
        }
    }

    fn run(&self, mut programs: Vec<Program>) -> Result<Outcome> {
        for program in &mut programs {
            self.forbid_skips(&mut program.command);
        }
        runner::run(programs, &self.durations)
    }
}

/// Runs the steps that the filter chooses, all without one.
pub(crate) fn run(arguments: &[String]) -> Result<ExitCode> {
    let shared = Shared::default();
    let plan = plan(&shared)?;
    let plan = match arguments {
        [] => plan,
        [list] if list == "--list" => {
            plan.names().for_each(|name| println!("{name}"));
            return Ok(ExitCode::SUCCESS);
        }
        [filter] if !filter.starts_with('-') => plan.filter(filter)?,
        _ => bail!("`cargo xtask test` takes one filter, or --list"),
    };
    tools::require_node()?;
    let logs = Workspace::load()?.target_directory.join("xtask-logs");
    let report = plan.run_parallel(SLOTS, &logs)?;
    println!("{}", shared.durations);
    print!("{report}");
    if let Some(time) = cpu_time::of_children() {
        println!("{} of processor time", Seconds(time));
    }
    Ok(report.exit_code())
}

fn plan(shared: &Shared) -> Result<Plan<'_>> {
    let root = workspace::root();
    let suites = suites(&root.join("tests"))?;
    let needs_browser = suites.iter().any(|suite| suite.ends_with(BROWSER));
    let runtime = root.join("runtime");

    let mut plan = Plan::default();
    plan.add(Step::new(RUNTIME_PACKAGES, move || {
        tools::install_packages(&runtime)
    }));
    plan.add(Step::new(SYSTEM_PACKAGES, move || {
        shared.install_system_packages(needs_browser)
    }));
    plan.add(Step::new(WASM_TARGET, tools::install_browser_target));
    let web_build = plan.add_all(web::steps());
    plan.add_all(check::steps());
    plan.add(build_step(web_build, shared));
    // All packages first: suites share what supports them.
    plan.add_all(suites.iter().map(|suite| package_step(suite)));
    let js_clients = suites.iter().find(|suite| suite.ends_with(JS_CLIENTS));
    let js_clients = js_clients.cloned();
    // The longest steps first, so that no slot is left with one of them at the end.
    let (browser, suites): (Vec<_>, Vec<_>) = suites
        .into_iter()
        .partition(|suite| suite.ends_with(BROWSER));
    plan.add_all(browser.into_iter().map(|suite| suite_step(suite, shared)));
    plan.add_all(rust_steps(shared));
    plan.add_all(suites.into_iter().map(|suite| suite_step(suite, shared)));
    plan.add_all(web_tests()?);
    plan.add_all(s3_store::steps(js_clients, shared));
    plan.add_all(archive_steps(shared)?);
    Ok(plan)
}

/// One build for everything that follows.
fn build_step(web_build: Option<String>, shared: &Shared) -> Step<'_> {
    let build = || {
        let is_first = shared.artifacts.set(Artifacts::build()?).is_ok();
        is_first
            .then_some(Outcome::Done)
            .context("the tests were built twice")
    };
    Step::new(BUILD, build).needs(web_build)
}

/// The Rust tests on both ends of the supported range, and clippy.
fn rust_steps(shared: &Shared) -> Vec<Step<'_>> {
    const NEEDS: [&str; 4] = [BUILD, RUNTIME_PACKAGES, WASM_TARGET, SYSTEM_PACKAGES];
    let mut examples = artifacts::cargo();
    examples.args(["test", "--doc", "--workspace", "--no-fail-fast"]);
    vec![
        Step::new("rust tests of libraries", || {
            shared.run(shared.artifacts()?.tests_of_libraries())
        })
        .needs(NEEDS),
        Step::new("rust tests of the program", || {
            shared.run(shared.artifacts()?.tests_of_program())
        })
        .needs(NEEDS),
        Step::new("clippy", || {
            shared.artifacts()?.check_lints()?;
            Ok(Outcome::Done)
        })
        .needs([BUILD, check::RUST_COMPONENTS]),
        Step::new("rust tests on PostgreSQL 15", || {
            test_on_oldest_postgres(shared)
        })
        .needs([BUILD, RUNTIME_PACKAGES, SYSTEM_PACKAGES]),
        Step::command("examples in rust documentation", examples).needs([BUILD]),
    ]
}

/// What `cargo xtask dist` packs, made of the program that was tested. The npm packages take minutes
/// to pack and install, which is left to `cargo xtask dist --check`.
fn archive_steps(shared: &Shared) -> Result<Vec<Step<'_>>> {
    const PACK: &str = "archive";
    let dist = Workspace::load()?.target_directory.join("dist-tests");
    let debian = dist.clone();
    Ok(vec![
        Step::new(PACK, move || {
            if !dist::IS_PACKED_HERE {
                return Ok(Outcome::Skipped("only packed on Linux x64".to_owned()));
            }
            let program = shared.artifacts()?.program(PROGRAM)?;
            dist::pack(&program, &dist, Compression::Fast)?;
            Ok(Outcome::Done)
        })
        .needs([BUILD, RUNTIME_PACKAGES]),
        Step::new("archive on a bare Debian", move || {
            if dist::IS_PACKED_HERE {
                dist::bare::check(&debian)
            } else {
                Ok(Outcome::Skipped("there is no archive".to_owned()))
            }
        })
        .needs([PACK, SYSTEM_PACKAGES, &packages_of(JS_CLIENTS)]),
    ])
}

fn web_tests() -> Result<Option<Step<'static>>> {
    let Some(folder) = web::folder() else {
        return Ok(None);
    };
    let mut npm = tools::npm(&folder);
    npm.arg("test");
    let step = Step::command("web tests", npm).needs(["web packages"]);
    Ok(web::has_tests(&folder)?.then_some(step))
}

/// The name of the step that installs a suite's packages.
fn packages_of(suite: &str) -> String {
    format!("{suite} packages")
}

fn name_of(folder: &Path) -> String {
    let name = folder.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

fn package_step(folder: &Path) -> Step<'static> {
    let install_folder = folder.to_owned();
    Step::new(packages_of(&name_of(folder)), move || {
        tools::install_packages(&install_folder)
    })
}

/// The tests of one folder that is an npm package.
fn suite_step(folder: PathBuf, shared: &Shared) -> Step<'_> {
    let name = name_of(&folder);
    let packages = packages_of(&name);
    let is_in_browser = name == BROWSER;
    let step = Step::new(format!("{name} tests"), move || {
        if is_in_browser && !tools::has_browser() {
            return Ok(Outcome::Skipped("there is no Chromium".to_owned()));
        }
        test_in_javascript(&folder, shared)
    });
    // Suites that use programs of the system, and what supports the suites before them.
    let (is_wide, shared): (bool, &[&str]) = match name.as_str() {
        JS_CLIENTS => (true, &[]),
        BROWSER => (true, &[JS_CLIENTS]),
        ssr::SUITE => (true, &[JS_CLIENTS, BROWSER]),
        _ => (false, &[]),
    };
    step.needs([BUILD, RUNTIME_PACKAGES, &packages])
        .needs(is_wide.then_some(SYSTEM_PACKAGES))
        .needs(shared.iter().map(|suite| packages_of(suite)))
}

/// The folders of `tests` that are npm packages.
fn suites(tests: &Path) -> Result<Vec<PathBuf>> {
    if !tests.is_dir() {
        return Ok(Vec::new());
    }
    let mut suites = Vec::new();
    for entry in
        fs::read_dir(tests).with_context(|| format!("{} cannot be listed", tests.display()))?
    {
        let folder = entry?.path();
        if folder.join("package.json").is_file() {
            suites.push(folder);
        }
    }
    suites.sort();
    Ok(suites)
}

fn test_on_oldest_postgres(shared: &Shared) -> Result<Outcome> {
    if !tools::has_debian_postgres() {
        let folder = tools::DEBIAN_POSTGRES;
        return Ok(Outcome::Skipped(format!(
            "there is no PostgreSQL in {folder}"
        )));
    }
    let workspace = Workspace::load()?;
    let sql_packages: Vec<&str> = workspace
        .packages
        .iter()
        .filter(|package| {
            package.folder().join("migrations").is_dir()
                || SPEAKS_SQL.contains(&package.name.as_str())
        })
        .map(|package| package.name.as_str())
        .collect();
    let artifacts = shared.artifacts()?;
    let oldest = ("PLINTH_TEST_BIN_DIR", tools::DEBIAN_POSTGRES);
    let mut programs = artifacts.tests_of(&[PROGRAM], &ABOUT_POSTGRES, oldest);
    let skipped: Vec<&str> = SAME_ON_ANY_POSTGRES
        .iter()
        .flat_map(|module| ["--skip", module])
        .collect();
    programs.extend(artifacts.tests_of(&sql_packages, &skipped, oldest));
    shared.run(programs)
}

fn test_in_javascript(suite: &Path, shared: &Shared) -> Result<Outcome> {
    let mut npm = npm_test(suite, shared)?;
    ssr::add_example(suite, shared.artifacts()?, &mut npm)?;
    node_test::run(&mut npm, &[], &name_of(suite), &shared.durations)?;
    Ok(Outcome::Done)
}

/// `npm test` of a suite, which is given the path of the program.
fn npm_test(suite: &Path, shared: &Shared) -> Result<Command> {
    let mut npm = tools::npm(suite);
    npm.args(["test", "--"]);
    npm.env("PLINTH_BIN", shared.artifacts()?.program(PROGRAM)?);
    shared.forbid_skips(&mut npm);
    npm.env("PLINTH_RUNTIME_DIR", workspace::root().join("runtime"));
    Ok(npm)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_need_is_an_earlier_step() {
        let shared = Shared::default();
        let plan = plan(&shared).expect("the repository can be read");
        assert_eq!(plan.unmet_needs(), Vec::<String>::new());
    }

    #[test]
    fn tests_may_be_skipped_until_all_programs_of_the_system_are_installed() {
        let is_forbidden = |shared: &Shared| {
            let mut command = Command::new("test");
            shared.forbid_skips(&mut command);
            command.get_envs().any(|(name, _)| name == MUST_RUN)
        };
        let shared = Shared::default();
        assert!(!is_forbidden(&shared));

        shared.has_system_packages.get_or_init(|| ());

        assert!(is_forbidden(&shared));
    }

    #[test]
    fn modules_that_are_skipped_on_the_oldest_postgres_exist() {
        let crates = workspace::root().join("crates");
        let tests = fs::read_dir(crates).expect("the crates");
        let tests: Vec<PathBuf> = tests
            .flatten()
            .flat_map(|package| {
                [
                    package.path().join("tests"),
                    package.path().join("tests/api"),
                ]
            })
            .collect();
        for module in SAME_ON_ANY_POSTGRES {
            let path = module.trim_end_matches("::").replace("::", "/") + ".rs";
            let exists = tests.iter().any(|folder| {
                let folder_module = path.trim_end_matches(".rs");
                folder.join(&path).is_file() || folder.join(folder_module).is_dir()
            });
            assert!(exists, "no test file is the module {module}");
        }
    }

    #[test]
    fn only_folders_with_a_manifest_are_suites() {
        let tests = tempfile::tempdir().expect("a folder");
        for name in ["js-clients", "browser", "notes"] {
            fs::create_dir(tests.path().join(name)).expect("a folder");
        }
        for name in ["js-clients", "browser"] {
            fs::write(tests.path().join(name).join("package.json"), "{}").expect("a file");
        }

        let found = suites(tests.path()).expect("readable");

        assert_eq!(
            found,
            ["browser", "js-clients"].map(|name| tests.path().join(name))
        );
        assert!(
            suites(&tests.path().join("missing"))
                .expect("no folder, no suites")
                .is_empty()
        );
    }
}
