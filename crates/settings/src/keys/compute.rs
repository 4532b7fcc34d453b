//! `[compute.<name>]`: containers of the hosted platform.

use super::COUNT;
use crate::key::{Key, optional_integer, optional_path, optional_text};

pub(super) const KEYS: &[Key] = &[
    optional_text(
        "compute.*.runtime",
        "What it is built on: dockerfile, node or deno.",
    )
    .inert(),
    optional_text("compute.*.size", "Its size, named by memory.").inert(),
    optional_text("compute.*.exposure", "Who reaches it: public or private.").inert(),
    optional_integer("compute.*.instances", COUNT, "How many instances run.").inert(),
    optional_path("compute.*.source", "Folder of its code.").inert(),
];
