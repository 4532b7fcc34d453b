//! Extensions, installed or not.

use serde::{Deserialize, Serialize};

use super::Object;

/// An extension that the server has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extension {
    /// Its name.
    pub name: String,
    /// Where its objects are, if it is installed.
    pub schema: Option<String>,
    /// The version that would be installed.
    pub default_version: Option<String>,
    /// The version that is installed.
    pub installed_version: Option<String>,
    /// What is said about it.
    pub comment: Option<String>,
    /// Whether only a superuser may install it.
    pub needs_superuser: bool,
    /// The extensions that it needs.
    pub requires: Vec<String>,
}

impl Object for Extension {
    const SQL: &'static str = include_str!("../read/sql/extensions.sql");
    const KIND: &'static str = "extension";
    // A package may be installed on the server at any time.
    const IS_ANNOUNCED: bool = false;

    fn schema(&self) -> Option<&str> {
        None
    }
}
