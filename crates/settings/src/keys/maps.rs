//! Tables whose members people name themselves, and which names they may choose.

use super::auth_external::PROVIDERS;
use super::auth_hook::HOOKS;

/// A table with members of a common shape.
#[derive(Debug)]
pub(crate) struct Map {
    pub(crate) path: &'static str,
    pub(crate) members: Members,
}

/// Which names the members of a map may have.
#[derive(Debug)]
pub(crate) enum Members {
    Any,
    /// Only these; another one is unknown.
    Known(&'static [&'static str]),
    /// Names that pass a check; another one is an error.
    Shaped {
        fits: fn(&str) -> bool,
        expected: &'static str,
    },
}

pub(crate) const MAPS: &[Map] = &[
    Map {
        path: "auth.external",
        members: Members::Known(PROVIDERS),
    },
    Map {
        path: "auth.hook",
        members: Members::Known(HOOKS),
    },
    Map {
        path: "auth.email.template",
        members: Members::Any,
    },
    Map {
        path: "auth.email.notification",
        members: Members::Any,
    },
    Map {
        path: "storage.buckets",
        members: Members::Any,
    },
    Map {
        path: "functions",
        members: Members::Shaped {
            fits: is_function_name,
            expected: "letters, digits, hyphens and underscores",
        },
    },
    Map {
        path: "compute",
        members: Members::Shaped {
            fits: is_host_label,
            expected: "at most 63 lower-case letters, digits and inner hyphens",
        },
    },
];

fn is_function_name(name: &str) -> bool {
    !name.is_empty()
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

fn is_host_label(name: &str) -> bool {
    (1..=63).contains(&name.len())
        && !name.starts_with('-')
        && !name.ends_with('-')
        && name
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
}
