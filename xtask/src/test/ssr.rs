//! The suite in which a Rust application and the published `@supabase/ssr` share a session.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use super::artifacts::Artifacts;

pub(super) const SUITE: &str = "ssr";

/// The application, of `examples/`.
const EXAMPLE: &str = "axum-session";

/// The variable that gives the suite the path of its application.
pub(super) fn add_example(suite: &Path, artifacts: &Artifacts, npm: &mut Command) -> Result<()> {
    if suite.ends_with(SUITE) {
        npm.env("PLINTH_EXAMPLE_BIN", artifacts.program(EXAMPLE)?);
    }
    Ok(())
}
