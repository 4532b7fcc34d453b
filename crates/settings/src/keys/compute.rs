//! `[compute.<name>]`: containers of the hosted platform.

use std::path::PathBuf;

use super::COUNT;
use super::maps::{Map, Members};
use crate::key::MemberKey;

/// Containers of the hosted platform.
pub const CONTAINERS: Map = Map::new(
    "compute",
    Members::Pattern {
        is_valid: is_host_label,
        expected: "at most 63 lower-case letters, digits and inner hyphens",
    },
);

keys! {
    /// Runtime: dockerfile, node or deno.
    pub const RUNTIME: MemberKey<Option<String>> = optional_text("compute.*.runtime").inert();

    /// Instance size, named by its memory.
    pub const SIZE: MemberKey<Option<String>> = optional_text("compute.*.size").inert();

    /// Exposure: public or private.
    pub const EXPOSURE: MemberKey<Option<String>> = optional_text("compute.*.exposure").inert();

    /// Number of instances.
    pub const INSTANCES: MemberKey<Option<u64>> =
        optional_integer("compute.*.instances", COUNT).inert();

    /// Source folder.
    pub const SOURCE: MemberKey<Option<PathBuf>> = optional_path("compute.*.source").inert();
}

fn is_host_label(name: &str) -> bool {
    (1..=63).contains(&name.len())
        && !name.starts_with('-')
        && !name.ends_with('-')
        && name
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
}
