//! `cargo xtask docs`: the pages that are generated from code.

use std::{fs, path::PathBuf, process::ExitCode};

use anyhow::{Context, Result, bail};

use crate::{steps::Outcome, workspace};

/// Writes the pages, or with `--check` only compares them.
pub(crate) fn run(arguments: &[String]) -> Result<ExitCode> {
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => write()?,
        ["--check"] => {
            check()?;
            println!("The generated pages are up to date.");
        }
        _ => bail!("`cargo xtask docs` takes nothing but --check"),
    }
    Ok(ExitCode::SUCCESS)
}

/// Fails when a page is not what the code would write now.
pub(crate) fn check() -> Result<Outcome> {
    for (path, text) in pages() {
        let current = fs::read_to_string(workspace::root().join(&path)).unwrap_or_default();
        if current != text {
            bail!("{} is stale; run `cargo xtask docs`", path.display());
        }
    }
    Ok(Outcome::Done)
}

fn write() -> Result<()> {
    for (path, text) in pages() {
        let file = workspace::root().join(&path);
        let folder = file.parent().context("a page lies in a folder")?;
        fs::create_dir_all(folder)
            .and_then(|()| fs::write(&file, text))
            .with_context(|| format!("{} could not be written", path.display()))?;
        println!("Wrote {}", path.display());
    }
    Ok(())
}

/// Path in the repository and text of every generated page.
fn pages() -> [(PathBuf, String); 1] {
    [(
        PathBuf::from("docs/settings.md"),
        plinth_settings::render_reference(),
    )]
}
