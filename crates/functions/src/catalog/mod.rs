//! The functions of a project: those of the folder take precedence over deployed ones.

mod deployed;
mod environment;
mod folder;
mod scan;

use std::sync::{Arc, atomic::AtomicBool};

use plinth_settings::Secret;
use uuid::Uuid;

pub(crate) use deployed::{Deployed, SourcesInUse, deployed_code, remove_set_aside, unpack};
pub(crate) use environment::{ProjectEnvironment, variables};
pub(crate) use folder::{FolderFunctions, FolderSnapshot, ProjectHome};

use crate::{code::Code, log_rate::LogRateLimit, metrics::FunctionMetrics};

/// A function that can be called.
#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) slug: String,
    pub(crate) origin: Origin,
    pub(crate) verify_jwt: bool,
    pub(crate) code: Code,
    /// Environment variables of its own.
    pub(crate) variables: Vec<(String, Secret)>,
    /// Whether its code is prepared.
    pub(crate) is_prepared: tokio::sync::Mutex<bool>,
    pub(crate) metrics: FunctionMetrics,
    pub(crate) log_rate: Arc<LogRateLimit>,
    /// Whether it failed to boot in a prewarmed process.
    pub(crate) needs_own_process: AtomicBool,
    /// Whether the settings name it but its entrypoint does not exist.
    pub(crate) is_missing: bool,
}

/// Where a function comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The folder that Plinth was started in, where it is being developed.
    Folder,
    Deployed(Arc<plinth_project::DeployedFunction>),
}

impl Function {
    pub(crate) fn is_in_folder(&self) -> bool {
        self.origin == Origin::Folder
    }

    /// The version in log records.
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

/// Whether the text is a valid name of a function.
pub(crate) fn is_valid_slug(text: &str) -> bool {
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
    fn names_begin_with_a_letter() {
        for name in ["a", "Hello-World_2", "x1"] {
            assert!(is_valid_slug(name), "{name}");
        }
        for name in [
            "", "1a", "_shared", ".git", "a.b", "a b", "a/b", "é", "a%20", "-a",
        ] {
            assert!(!is_valid_slug(name), "{name}");
        }
    }
}
