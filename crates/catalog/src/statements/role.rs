//! Roles. They belong to the whole cluster: another project sees them too.

use std::collections::BTreeMap;

use plinth_db::QuotedIdent;
use serde::{Deserialize, Serialize};

use super::{
    StatementError, Statements,
    names::{literal, name_list, new_name, setting_name, setting_value},
};
use crate::objects::Role;

/// A new role.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct NewRole {
    /// Its name.
    pub name: String,
    /// Its password.
    #[serde(default)]
    pub password: Option<String>,
    /// Whether it has the rights of roles that it is a member of; it has if absent.
    #[serde(default)]
    pub inherit_role: Option<bool>,
    /// Whether one can log in with it.
    #[serde(default)]
    pub can_login: Option<bool>,
    /// Whether it may do everything.
    #[serde(default)]
    pub is_superuser: Option<bool>,
    /// Whether it may create databases.
    #[serde(default)]
    pub can_create_db: Option<bool>,
    /// Whether it may create roles.
    #[serde(default)]
    pub can_create_role: Option<bool>,
    /// Whether it may replicate.
    #[serde(default)]
    pub is_replication_role: Option<bool>,
    /// Whether policies do not apply to it.
    #[serde(default)]
    pub can_bypass_rls: Option<bool>,
    /// How many sessions it may have; -1 for any number.
    #[serde(default)]
    pub connection_limit: Option<i32>,
    /// Roles that it is a member of.
    #[serde(default)]
    pub member_of: Vec<String>,
    /// Its members.
    #[serde(default)]
    pub members: Vec<String>,
    /// Its members, who may add others.
    #[serde(default)]
    pub admins: Vec<String>,
    /// Until when its password counts.
    #[serde(default)]
    pub valid_until: Option<String>,
    /// Its settings.
    #[serde(default)]
    pub config: BTreeMap<String, String>,
}

/// The attributes that a new role and a change have in common.
struct Attributes<'a> {
    flags: [(Option<bool>, &'static str); 7],
    connection_limit: Option<i32>,
    password: Option<&'a str>,
    valid_until: Option<&'a str>,
}

impl Attributes<'_> {
    fn sql(&self) -> Result<String, StatementError> {
        let mut sql = String::new();
        for (value, name) in self.flags {
            match value {
                Some(true) => sql += &format!(" {name}"),
                Some(false) => sql += &format!(" no{name}"),
                None => {}
            }
        }
        if let Some(limit) = self.connection_limit {
            sql += &format!(" connection limit {limit}");
        }
        if let Some(password) = self.password {
            sql += &format!(" password {}", literal(password)?);
        }
        if let Some(until) = self.valid_until {
            sql += &format!(" valid until {}", literal(until)?);
        }
        Ok(sql)
    }
}

impl NewRole {
    /// Creates it.
    pub fn create(&self) -> Result<Statements, StatementError> {
        let name = new_name("a role", &self.name)?;
        let attributes = Attributes {
            flags: [
                (self.is_superuser, "superuser"),
                (self.can_create_db, "createdb"),
                (self.can_create_role, "createrole"),
                (self.inherit_role, "inherit"),
                (self.can_login, "login"),
                (self.is_replication_role, "replication"),
                (self.can_bypass_rls, "bypassrls"),
            ],
            connection_limit: self.connection_limit,
            password: self.password.as_deref(),
            valid_until: self.valid_until.as_deref(),
        };
        let mut sql = format!("create role {name}{}", attributes.sql()?);
        for (keyword, roles) in [
            ("in role", &self.member_of),
            ("role", &self.members),
            ("admin", &self.admins),
        ] {
            if !roles.is_empty() {
                sql += &format!(" {keyword} {}", name_list("a role", roles)?);
            }
        }
        let mut statements = vec![sql];
        for (setting, value) in &self.config {
            let value = setting_value(setting, value)?;
            let setting = setting_name(setting)?;
            statements.push(format!("alter role {name} set {setting} to {value}"));
        }
        Ok(statements)
    }
}

/// What is done with a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SettingOperation {
    /// It gets a value.
    Add,
    /// It gets another value.
    Replace,
    /// It has none any more.
    Remove,
}

/// A change of a role's setting.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SettingChange {
    /// What is done.
    pub op: SettingOperation,
    /// The setting.
    pub path: String,
    /// Its value.
    #[serde(default)]
    pub value: Option<String>,
}

/// Changes of a role.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct RoleChanges {
    /// Its new name.
    #[serde(default)]
    pub name: Option<String>,
    /// Its password.
    #[serde(default)]
    pub password: Option<String>,
    /// Whether it has the rights of roles that it is a member of.
    #[serde(default)]
    pub inherit_role: Option<bool>,
    /// Whether one can log in with it.
    #[serde(default)]
    pub can_login: Option<bool>,
    /// Whether it may do everything.
    #[serde(default)]
    pub is_superuser: Option<bool>,
    /// Whether it may create databases.
    #[serde(default)]
    pub can_create_db: Option<bool>,
    /// Whether it may create roles.
    #[serde(default)]
    pub can_create_role: Option<bool>,
    /// Whether it may replicate.
    #[serde(default)]
    pub is_replication_role: Option<bool>,
    /// Whether policies do not apply to it.
    #[serde(default)]
    pub can_bypass_rls: Option<bool>,
    /// How many sessions it may have; -1 for any number.
    #[serde(default)]
    pub connection_limit: Option<i32>,
    /// Until when its password counts.
    #[serde(default)]
    pub valid_until: Option<String>,
    /// Changes of its settings.
    #[serde(default)]
    pub config: Vec<SettingChange>,
}

impl RoleChanges {
    /// Whether nothing but settings changes.
    pub fn is_of_settings(&self) -> bool {
        let others = Self {
            config: Vec::new(),
            ..self.clone()
        };
        others.attributes().sql().is_ok_and(|sql| sql.is_empty()) && self.name.is_none()
    }

    fn attributes(&self) -> Attributes<'_> {
        Attributes {
            flags: [
                (self.is_superuser, "superuser"),
                (self.can_create_db, "createdb"),
                (self.can_create_role, "createrole"),
                (self.inherit_role, "inherit"),
                (self.can_login, "login"),
                (self.is_replication_role, "replication"),
                (self.can_bypass_rls, "bypassrls"),
            ],
            connection_limit: self.connection_limit,
            password: self.password.as_deref(),
            valid_until: self.valid_until.as_deref(),
        }
    }

    /// Applies them.
    pub fn alter(&self, old: &Role) -> Result<Statements, StatementError> {
        let name = QuotedIdent::new(&old.name);
        let alter = format!("alter role {name}");
        let mut statements = Vec::new();
        let attributes = self.attributes().sql()?;
        if !attributes.is_empty() {
            statements.push(format!("{alter}{attributes}"));
        }
        for change in &self.config {
            let setting = setting_name(&change.path)?;
            statements.push(match (change.op, &change.value) {
                (SettingOperation::Remove, _) => format!("{alter} reset {setting}"),
                (_, Some(value)) => {
                    format!(
                        "{alter} set {setting} to {}",
                        setting_value(&change.path, value)?
                    )
                }
                (_, None) => {
                    return Err(StatementError::new(format!(
                        "The setting {} needs a value",
                        change.path
                    )));
                }
            });
        }
        if let Some(new) = self.name.as_ref().filter(|new| **new != old.name) {
            statements.push(format!("{alter} rename to {}", new_name("a role", new)?));
        }
        Ok(statements)
    }
}

impl Role {
    /// Drops it.
    pub fn drop_sql(&self) -> Statements {
        vec![format!("drop role {}", QuotedIdent::new(&self.name))]
    }
}
