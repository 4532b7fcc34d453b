//! A version of a function, with everything else that its workers are made from.

use std::sync::Arc;

use crate::{
    catalog::{Function, ProjectEnvironment},
    config::FunctionsConfig,
};

/// What workers are made from. A new generation replaces all workers.
#[derive(Clone)]
pub(crate) struct Generation {
    /// When it was read: what was read before a change does not replace what was read after it.
    pub(crate) epoch: u64,
    pub(crate) function: Arc<Function>,
    pub(crate) environment: Arc<ProjectEnvironment>,
    pub(crate) config: Arc<FunctionsConfig>,
}

impl Generation {
    /// Whether workers of the one serve for the other.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.function, &other.function)
            && (Arc::ptr_eq(&self.environment, &other.environment)
                || self.environment == other.environment)
            && (Arc::ptr_eq(&self.config, &other.config) || self.config == other.config)
    }
}
