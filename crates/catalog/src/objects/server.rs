//! The server: its version and its settings.

use serde::{Deserialize, Serialize};

use super::Object;

/// A setting of the server, as `pg_settings` has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerSetting {
    /// Its name.
    pub name: String,
    /// Its value in this session.
    pub setting: Option<String>,
    /// Where the documentation has it.
    pub category: String,
    /// The first part of that.
    pub group: String,
    /// The second.
    pub subgroup: String,
    /// Its unit.
    pub unit: Option<String>,
    /// What it is.
    pub short_desc: Option<String>,
    /// More of that.
    pub extra_desc: Option<String>,
    /// Who may set it, and when.
    pub context: String,
    /// The type of its value.
    pub vartype: String,
    /// Where its value comes from.
    pub source: String,
    /// Its smallest value.
    pub min_val: Option<String>,
    /// Its largest value.
    pub max_val: Option<String>,
    /// Its possible values.
    pub enumvals: Option<Vec<String>>,
    /// Its value if nobody sets it.
    pub boot_val: Option<String>,
    /// Its value after RESET.
    pub reset_val: Option<String>,
    /// The file that it is set in.
    pub sourcefile: Option<String>,
    /// The line of it.
    pub sourceline: Option<i32>,
    /// Whether a new value waits for a restart.
    pub pending_restart: bool,
}

impl Object for ServerSetting {
    const SQL: &'static str = include_str!("../read/sql/config.sql");
    const KIND: &'static str = "setting";
    const IS_ANNOUNCED: bool = false;

    fn schema(&self) -> Option<&str> {
        None
    }
}

/// The version of the server, and its connections.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerVersion {
    /// All that it says of itself.
    pub version: String,
    /// Such as 180001.
    pub version_number: i64,
    /// Sessions now, those of the server's own processes included.
    pub active_connections: i64,
    /// How many there may be.
    pub max_connections: i64,
}

impl Object for ServerVersion {
    const SQL: &'static str = include_str!("../read/sql/version.sql");
    const KIND: &'static str = "version";
    const IS_ANNOUNCED: bool = false;

    fn schema(&self) -> Option<&str> {
        None
    }
}
