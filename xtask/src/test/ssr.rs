//! The suite in which a Rust application and the published `@supabase/ssr` share a session.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use super::artifacts::Artifacts;

const SUITE: &str = "ssr";

/// The application, of `examples/`.
const EXAMPLE: &str = "axum-session";

/// The suite signs in at the OpenID provider that another suite has the packages of.
pub(super) fn further_needs(suite: &str) -> Option<&'static str> {
    (suite == SUITE).then_some("js-clients packages")
}

/// Tells the suite where its application is.
pub(super) fn add_example(suite: &Path, artifacts: &Artifacts, npm: &mut Command) -> Result<()> {
    if suite.ends_with(SUITE) {
        npm.env("PLINTH_EXAMPLE_BIN", artifacts.program(EXAMPLE)?);
    }
    Ok(())
}
