//! `[functions.<name>]`: one function each.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::maps::{Map, Members};
use crate::key::MemberKey;
use crate::value::Secret;

/// Functions that have settings of their own.
pub const FUNCTIONS: Map = Map::new(
    "functions",
    Members::Pattern {
        is_valid: is_function_name,
        expected: "letters, digits, hyphens and underscores",
    },
);

keys! {
    /// Serve and deploy this function.
    pub const ENABLED: MemberKey<bool> = flag("functions.*.enabled", true);

    /// Reject requests without a valid access token or API key.
    pub const VERIFY_JWT: MemberKey<bool> = flag("functions.*.verify_jwt", true);

    /// Import map of this function.
    pub const IMPORT_MAP: MemberKey<Option<PathBuf>> = optional_path("functions.*.import_map");

    /// Main module; by default `functions/<name>/index.ts`.
    pub const ENTRYPOINT: MemberKey<Option<PathBuf>> = optional_path("functions.*.entrypoint");

    /// Files (globs) that this function may read.
    pub const STATIC_FILES: MemberKey<Vec<String>> = list("functions.*.static_files", &[]);

    // Meant to be filled from the environment, so the values are treated as secrets.
    /// Further environment variables of this function.
    pub const ENV: MemberKey<BTreeMap<String, Secret>> = secret_table("functions.*.env");
}

fn is_function_name(name: &str) -> bool {
    !name.is_empty()
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}
