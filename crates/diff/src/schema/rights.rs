//! Privileges: what there is, and what a new object starts with.

use std::collections::BTreeMap;

use tokio_postgres::Row;

/// Who gave which right to whom. The owner has no name here, so that rights of an object are the
/// same whoever owns it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Right {
    /// Quoted; absent for the owner.
    pub(crate) grantor: Option<String>,
    /// Quoted, or `public`; absent for the owner.
    pub(crate) grantee: Option<String>,
    pub(crate) privilege: String,
}

/// Rights and whether they may be passed on.
pub(crate) type Rights = BTreeMap<Right, bool>;

/// The rights on an object or one of its columns.
pub(crate) struct RightsOf {
    pub(crate) object: usize,
    pub(crate) column: Option<String>,
    /// As in `grant … on <what>`.
    pub(crate) what: String,
    /// The letter of `acldefault`.
    pub(crate) kind: String,
    pub(crate) schema: String,
    pub(crate) owner: String,
    pub(crate) rights: Rights,
}

impl RightsOf {
    /// Reads rows that are sorted by object; `find` tells the object of an address.
    pub(crate) fn from_rows(rows: &[Row], find: impl Fn(u32, u32) -> Option<usize>) -> Vec<Self> {
        let mut read: Vec<Self> = Vec::new();
        for row in rows {
            let Some(object) = find(row.get("class"), row.get("object")) else {
                continue;
            };
            let column: Option<String> = row.get("column_name");
            let is_same = |of: &&mut Self| of.object == object && of.column == column;
            if read.last_mut().filter(is_same).is_none() {
                read.push(Self {
                    object,
                    column,
                    what: row.get("what"),
                    kind: row.get("kind"),
                    schema: row.get("schema"),
                    owner: row.get("owner"),
                    rights: Rights::new(),
                });
            }
            let Some(last) = read.last_mut() else {
                continue;
            };
            if let Some(privilege) = row.get("privilege") {
                let unless_owner = |role: Option<String>, shown: Option<String>| match role {
                    Some(role) if role == last.owner => None,
                    _ => shown,
                };
                let right = Right {
                    grantor: unless_owner(row.get("grantor"), row.get("quoted_grantor")),
                    grantee: unless_owner(row.get("grantee_name"), row.get("grantee")),
                    privilege,
                };
                last.rights.insert(right, row.get("is_grantable"));
            }
        }
        read
    }
}

/// What the objects of each role start with.
#[derive(Default)]
pub(crate) struct StartingRights {
    /// What PostgreSQL gives, by kind of object.
    pub(crate) builtin: BTreeMap<String, Rights>,
    /// By role, schema (absent for all) and kind of object.
    pub(crate) entries: BTreeMap<StartingKey, StartingEntry>,
}

/// Role, schema and kind of object.
pub(crate) type StartingKey = (String, Option<String>, String);

/// Rights that a role gives on its objects to come.
#[derive(Clone)]
pub(crate) struct StartingEntry {
    /// As in `alter default privileges <whose>`.
    pub(crate) whose: String,
    /// Only a superuser may speak for it.
    pub(crate) is_superuser: bool,
    pub(crate) rights: Rights,
}

impl StartingRights {
    pub(crate) fn from_rows(rows: &[Row]) -> Self {
        let mut read = Self::default();
        for row in rows {
            let kind: String = row.get("kind");
            let rights = match row.get::<_, Option<String>>("role") {
                None => read.builtin.entry(kind).or_default(),
                Some(role) => {
                    let entry = read.entries.entry((role, row.get("schema"), kind));
                    &mut entry.or_insert_with(|| StartingEntry::from_row(row)).rights
                }
            };
            if let Some(privilege) = row.get("privilege") {
                let right = Right {
                    grantor: None,
                    grantee: match row.get("is_owner") {
                        true => None,
                        false => row.get("grantee"),
                    },
                    privilege,
                };
                rights.insert(right, row.get("is_grantable"));
            }
        }
        read
    }

    /// What a role gives on objects of a kind, in one schema or in all.
    pub(crate) fn entry(&self, (role, schema, kind): &StartingKey) -> Rights {
        let key = (role.clone(), schema.clone(), kind.clone());
        match self.entries.get(&key) {
            Some(entry) => entry.rights.clone(),
            // Schemas add to what holds for all.
            None if schema.is_some() => Rights::new(),
            None => self.builtin.get(kind).cloned().unwrap_or_default(),
        }
    }

    /// What an object of this kind starts with that `role` makes.
    pub(crate) fn of(&self, role: &str, schema: &str, kind: &str) -> Rights {
        // The letter of sequences differs.
        let kind = if kind == "s" { "S" } else { kind };
        let mut rights = self.entry(&(role.to_owned(), None, kind.to_owned()));
        // Schemas are in no schema.
        if kind != "n" {
            let of_schema = (role.to_owned(), Some(schema.to_owned()), kind.to_owned());
            for (right, is_grantable) in self.entry(&of_schema) {
                *rights.entry(right).or_default() |= is_grantable;
            }
        }
        rights
    }
}

impl StartingEntry {
    fn from_row(row: &Row) -> Self {
        let mut whose = format!("for role {}", row.get::<_, String>("quoted_role"));
        if let Some(schema) = row.get::<_, Option<String>>("quoted_schema") {
            whose.push_str(&format!(" in schema {schema}"));
        }
        Self {
            whose,
            is_superuser: row.get("is_superuser"),
            rights: Rights::new(),
        }
    }
}
