//! How many tests of one program run at once.

use std::process::Command;

/// What libtest looks at.
const VARIABLE: &str = "RUST_TEST_THREADS";

/// As many as there are processors, unless the environment says otherwise.
pub(super) fn limit(command: &mut Command) {
    if std::env::var_os(VARIABLE).is_none() {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        command.env(VARIABLE, processors.max(2).to_string());
    }
}
