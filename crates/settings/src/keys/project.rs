//! Keys that stand before the first section.

use crate::key::{Key, optional_text};

pub(super) const KEYS: &[Key] = &[optional_text(
    "project_id",
    "Name that tells projects on the same machine apart.",
)];
