//! Tables with free names, such as `functions.<name>`, and which names they allow.

use super::{auth_email, auth_external, auth_hook, compute, functions, storage};

/// A table with members of a common shape, such as `functions`.
#[derive(Debug, Clone, Copy)]
pub struct Map {
    pub(crate) path: &'static str,
    pub(crate) members: Members,
}

/// Which names the members of a map may have.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Members {
    Any,
    /// Only these; another one is unknown.
    Known(&'static [&'static str]),
    /// Names that match a pattern; another one is an error.
    Pattern {
        is_valid: fn(&str) -> bool,
        expected: &'static str,
    },
}

pub(crate) const MAPS: [Map; 7] = [
    auth_external::PROVIDERS,
    auth_hook::HOOKS,
    auth_email::TEMPLATES,
    auth_email::NOTIFICATIONS,
    storage::BUCKETS,
    functions::FUNCTIONS,
    compute::CONTAINERS,
];

impl Map {
    pub(super) const fn new(path: &'static str, members: Members) -> Self {
        Self { path, members }
    }
}
