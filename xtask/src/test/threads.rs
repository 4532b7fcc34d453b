//! How many tests written in Rust run at once.

use std::process::Command;

/// What libtest looks at.
const VARIABLE: &str = "RUST_TEST_THREADS";

/// Tests mostly wait, for a server that starts or for time to pass: more of them than there are
/// processors get done sooner. Whoever sets the number themselves is obeyed.
const PER_PROCESSOR: usize = 2;

/// Tells a command that runs tests.
pub(super) fn share_processors(command: &mut Command) {
    if std::env::var_os(VARIABLE).is_none() {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        command.env(VARIABLE, (processors * PER_PROCESSOR).to_string());
    }
}
