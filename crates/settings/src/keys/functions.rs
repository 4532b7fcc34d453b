//! `[functions.<name>]`: one function each.

use crate::key::{Key, flag, list, optional_path, secret_table};

pub(super) const KEYS: &[Key] = &[
    flag(
        "functions.*.enabled",
        true,
        "Serve and deploy this function.",
    ),
    flag(
        "functions.*.verify_jwt",
        true,
        "Refuse requests without a valid token.",
    ),
    optional_path("functions.*.import_map", "Import map to use."),
    optional_path(
        "functions.*.entrypoint",
        "File to run; by default functions/<name>/index.ts.",
    ),
    list(
        "functions.*.static_files",
        &[],
        "Files (globs) that it may read.",
    ),
    // Meant to be filled from the environment, so the values are treated as secrets.
    secret_table("functions.*.env", "Further variables that it receives."),
];
