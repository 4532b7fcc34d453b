//! Roles. They belong to the whole cluster, not to one database.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Object;

/// A role.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Role {
    /// Its oid.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// Whether it may do everything.
    pub is_superuser: bool,
    /// Whether it may create databases.
    pub can_create_db: bool,
    /// Whether it may create roles.
    pub can_create_role: bool,
    /// Whether it has the rights of roles that it is a member of.
    pub inherit_role: bool,
    /// Whether one can log in with it.
    pub can_login: bool,
    /// Whether it may replicate.
    pub is_replication_role: bool,
    /// Whether policies do not apply to it.
    pub can_bypass_rls: bool,
    /// Its sessions now.
    pub active_connections: i64,
    /// How many it may have.
    pub connection_limit: i64,
    /// Stars: PostgreSQL shows no password.
    pub password: String,
    /// Until when its password counts.
    pub valid_until: Option<String>,
    /// Its settings.
    pub config: Option<BTreeMap<String, String>>,
    /// Roles that it is a member of.
    pub member_of: Vec<String>,
    /// What is said about it.
    pub comment: Option<String>,
}

impl Object for Role {
    const SQL: &'static str = include_str!("../read/sql/roles.sql");
    const KIND: &'static str = "role";
    const IS_ANNOUNCED: bool = false;

    fn schema(&self) -> Option<&str> {
        None
    }
}
