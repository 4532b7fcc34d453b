//! A finding.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Level {
    /// Data may be open to those who should not have it.
    Error,
    /// Worth a change.
    Warn,
    /// Worth a look.
    Info,
}

/// Which advisor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Category {
    /// Who may see and change what.
    Security,
    /// What is slower than it could be.
    Performance,
}

/// A finding, in the shape of the Management API; `fix` is an addition.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Lint {
    /// The check.
    pub name: String,
    /// The check, for people.
    pub title: String,
    /// How bad it is.
    pub level: Level,
    /// Always `EXTERNAL`: users of the project may see it.
    pub facing: String,
    /// One, as the Management API has it.
    pub categories: Vec<Category>,
    /// What the check looks for and why it matters.
    pub description: String,
    /// What was found.
    pub detail: String,
    /// Where the console explains it.
    pub remediation: String,
    /// The object: `schema`, `name`, `type`, and more.
    pub metadata: Map<String, Value>,
    /// The same for the same finding in each run.
    pub cache_key: String,
    /// SQL that fixes it, to be read before it is run; absent if no statement can.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}
