//! `cargo xtask docs`: the pages that are generated from code.
//!
//! The program prints them (`plinth reference`), and a test of its own fails while one is stale.

use std::{fs, process::ExitCode};

use anyhow::{Context, Result, bail};

use crate::{api_types, commands, workspace};

/// What `plinth reference` is asked for, and where it goes.
const PAGES: [(&str, &str); 3] = [
    ("errors", "docs/errors.md"),
    ("settings", "docs/settings.md"),
    ("openapi", "docs/platform-openapi.json"),
];

/// Writes the pages.
pub(crate) fn run(arguments: &[String]) -> Result<ExitCode> {
    if !arguments.is_empty() {
        bail!("`cargo xtask docs` takes no arguments");
    }
    for (page, path) in PAGES {
        let mut plinth = workspace::cargo();
        plinth.args(["run", "--package", "plinth", "--", "reference", page]);
        let text = commands::output(&mut plinth)?;
        fs::write(workspace::root().join(path), text)
            .with_context(|| format!("{path} could not be written"))?;
        println!("Wrote {path}");
    }
    println!("Wrote {}", api_types::write()?);
    Ok(ExitCode::SUCCESS)
}
