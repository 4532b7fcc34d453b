//! How many tests written in Rust run at once.

use std::process::Command;

/// What libtest looks at.
const VARIABLE: &str = "RUST_TEST_THREADS";

/// Tells a command that runs tests. They mostly wait, for a server that starts or for time to pass:
/// half as many again as there are processors get done sooner, and still in time. Whoever sets the
/// number themselves is obeyed.
pub(super) fn share_processors(command: &mut Command) {
    if std::env::var_os(VARIABLE).is_none() {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        command.env(VARIABLE, (processors + processors.div_ceil(2)).to_string());
    }
}
