//! The suite in which a Rust application and the published `@supabase/ssr` share a session.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use super::{SYSTEM_PACKAGES, artifacts::Artifacts};

const SUITE: &str = "ssr";

/// The application, of `examples/`.
const EXAMPLE: &str = "axum-session";

/// The suite signs in at the OpenID provider that another suite has the packages of, and opens the
/// application in Chromium.
pub(super) fn further_needs(suite: &str) -> &'static [&'static str] {
    match suite {
        SUITE => &["js-clients packages", SYSTEM_PACKAGES],
        _ => &[],
    }
}

/// Tells the suite where its application is.
pub(super) fn add_example(suite: &Path, artifacts: &Artifacts, npm: &mut Command) -> Result<()> {
    if suite.ends_with(SUITE) {
        npm.env("PLINTH_EXAMPLE_BIN", artifacts.program(EXAMPLE)?);
    }
    Ok(())
}
