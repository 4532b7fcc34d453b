//! Which functions a project has: those of the folder win over those that were deployed.

mod code;
mod deployed;
mod environment;
mod folder;
mod scan;

use std::sync::{Arc, atomic::AtomicBool};

use uuid::Uuid;

pub(crate) use code::Code;
pub(crate) use deployed::{Deployed, InUse, code as deployed_code, remove_set_aside, unpack};
pub(crate) use environment::{Surroundings, environment};
pub(crate) use folder::{FolderFunctions, Place};

use crate::{numbers::Numbers, record::Printed};

/// A function that can be called.
#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) slug: String,
    pub(crate) origin: Origin,
    pub(crate) verify_jwt: bool,
    pub(crate) code: Code,
    /// Variables that only it receives.
    pub(crate) variables: Vec<(String, String)>,
    /// Whether its code has been made ready.
    pub(crate) is_prepared: tokio::sync::Mutex<bool>,
    pub(crate) numbers: Numbers,
    pub(crate) printed: Arc<Printed>,
    /// Whether it did not come up in a process that was started before anybody knew of it.
    pub(crate) needs_own_process: AtomicBool,
    /// Whether the settings name it, and there is no module.
    pub(crate) is_missing: bool,
}

/// Where a function comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The folder that Plinth was started in. Whoever calls is developing it.
    Folder,
    Deployed(Arc<plinth_project::DeployedFunction>),
}

impl Function {
    pub(crate) fn is_in_folder(&self) -> bool {
        self.origin == Origin::Folder
    }

    /// What records call this version of it.
    pub(crate) fn version(&self) -> i32 {
        match &self.origin {
            Origin::Folder => 0,
            Origin::Deployed(deployed) => deployed.version,
        }
    }

    pub(crate) fn id(&self) -> Option<Uuid> {
        match &self.origin {
            Origin::Folder => None,
            Origin::Deployed(deployed) => Some(deployed.id),
        }
    }
}

/// Whether a text may name a function.
pub(crate) fn is_name(text: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    text.bytes()
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic())
        && text.bytes().all(is_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_begin_with_a_letter_and_hold_nothing_odd() {
        for name in ["a", "Hello-World_2", "x1"] {
            assert!(is_name(name), "{name}");
        }
        for name in [
            "", "1a", "_shared", ".git", "a.b", "a b", "a/b", "é", "a%20", "-a",
        ] {
            assert!(!is_name(name), "{name}");
        }
    }
}
