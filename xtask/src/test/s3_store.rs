//! The tests about files once more, with the files on a real S3 server that the tests start.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};

use super::{
    BUILD, JS_CLIENTS, PROGRAM, RUNTIME_PACKAGES, SYSTEM_PACKAGES, Shared, node_test, npm_test,
    packages_of,
};
use crate::steps::{Outcome, Step};

const STORAGE: &str = "plinth-storage";
/// The variables that say where tests written in Rust keep files.
const ON_S3: (&str, &str) = ("PLINTH_TEST_STORE", "s3");
/// What the names of the program's tests about files begin with.
const OF_PROGRAM: &str = "storage_";
/// The server as a program of its own.
const TESTSTORE: &str = "plinth-teststore";

/// The folder of `js-clients` that is about files.
const FOLDER: &str = "storage";

pub(super) fn steps(js_clients: Option<PathBuf>, shared: &Shared) -> Vec<Step<'_>> {
    let in_rust = Step::new("rust tests of files on S3", || {
        let artifacts = shared.artifacts()?;
        let mut programs = artifacts.tests_of(&[STORAGE], &[], ON_S3);
        programs.extend(artifacts.tests_of(&[PROGRAM], &[OF_PROGRAM], ON_S3));
        shared.run(programs)
    });
    let mut steps = vec![in_rust.needs([BUILD, RUNTIME_PACKAGES, SYSTEM_PACKAGES])];
    if let Some(suite) = js_clients {
        let packages = packages_of(JS_CLIENTS);
        let in_javascript = Step::new("js-clients tests of files on S3", move || {
            test_in_javascript(&suite, shared)
        });
        let needs = [BUILD, RUNTIME_PACKAGES, SYSTEM_PACKAGES, &packages];
        steps.push(in_javascript.needs(needs));
    }
    steps
}

fn test_in_javascript(suite: &Path, shared: &Shared) -> Result<Outcome> {
    let mut npm = npm_test(suite, shared)?;
    npm.env(
        "PLINTH_TESTSTORE_BIN",
        shared.artifacts()?.program(TESTSTORE)?,
    );
    let files = test_files(suite)?;
    node_test::run(&mut npm, &files, "js-clients on S3", &shared.durations)?;
    Ok(Outcome::Done)
}

fn test_files(suite: &Path) -> Result<Vec<PathBuf>> {
    let folder = suite.join(FOLDER);
    let entries = fs::read_dir(&folder);
    let entries = entries.with_context(|| format!("{} cannot be listed", folder.display()))?;
    let mut files = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.to_string_lossy().ends_with(".test.mjs") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}
