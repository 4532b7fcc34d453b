//! What a check is, and what it found.

use serde_json::{Map, Value};

use crate::{Category, Level, Lint};

/// What is common to the findings of a check.
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) level: Level,
    pub(crate) category: Category,
    pub(crate) description: &'static str,
}

/// A check that one statement makes. Its rows have `schema`, `name`, `type`, `detail`, `fix`,
/// `metadata` and `key`; `given` has the exposed schemas, the limits and the system's schemas.
pub(crate) struct SqlCheck {
    pub(crate) kind: Kind,
    pub(crate) sql: &'static str,
}

impl Kind {
    pub(crate) fn not_run(&self, reason: String) -> NotRun {
        NotRun {
            name: self.name.to_owned(),
            title: self.title.to_owned(),
            category: self.category,
            reason,
        }
    }
}

/// A check that was not run, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotRun {
    /// The check.
    pub name: String,
    /// The check, for people.
    pub title: String,
    /// Which advisor.
    pub category: Category,
    /// A sentence.
    pub reason: String,
}

/// What a check found, without what all its findings have in common.
pub(crate) struct Found {
    pub(crate) detail: String,
    pub(crate) metadata: Map<String, Value>,
    pub(crate) key: String,
    pub(crate) fix: Option<String>,
}

impl Found {
    pub(crate) fn into_lint(self, kind: &Kind) -> Lint {
        let key = match self.key.as_str() {
            "" => kind.name.to_owned(),
            key => format!("{}_{key}", kind.name),
        };
        Lint {
            name: kind.name.to_owned(),
            title: kind.title.to_owned(),
            level: kind.level,
            facing: "EXTERNAL".to_owned(),
            categories: vec![kind.category],
            description: kind.description.to_owned(),
            detail: self.detail,
            remediation: format!("/console/docs/advisors/{}", kind.name),
            metadata: self.metadata,
            cache_key: key,
            fix: self.fix,
        }
    }
}
