//! Which objects are compared.

use std::collections::BTreeSet;

use crate::schema::{Object, Schema};

/// Schemas of the platform, which its own migrations make.
pub const SYSTEM_SCHEMAS: &[&str] = &[
    "_analytics",
    "_realtime",
    "auth",
    "cron",
    "extensions",
    "graphql",
    "graphql_public",
    "information_schema",
    "net",
    "pg_catalog",
    "pgbouncer",
    "pgmq",
    "pgsodium",
    "pgsodium_masks",
    "pgtle",
    "plinth",
    "plinth_roles",
    "realtime",
    "storage",
    "supabase_functions",
    "supabase_migrations",
    "vault",
];

/// System schemas on whose tables users have triggers and policies.
const OPEN_TO_USERS: &[&str] = &["auth", "realtime", "storage"];

/// Kinds that are no part of a schema: rows, secrets of one installation, and what the comparison
/// derives itself.
const OUTSIDE: &[&str] = &[
    "large object",
    "user mapping",
    "security label on",
    "rights on",
    "default privileges of",
    "dependency of",
];

/// The schemas that are compared: all of the users', or the given ones of them.
#[derive(Debug, Clone, Default)]
pub struct Scope {
    only: Option<BTreeSet<String>>,
}

impl Scope {
    /// All schemas of users, and what belongs to no schema: extensions, publications, casts.
    pub fn all() -> Self {
        Self::default()
    }

    /// These schemas alone.
    pub fn only(schemas: impl IntoIterator<Item = String>) -> Self {
        Self {
            only: Some(schemas.into_iter().collect()),
        }
    }

    /// Whether objects of this schema are compared.
    pub fn has_schema(&self, schema: &str) -> bool {
        !SYSTEM_SCHEMAS.contains(&schema)
            && !schema.starts_with("pg_")
            && self.only.as_ref().is_none_or(|only| only.contains(schema))
    }

    fn has_open_schema(&self, schema: &str) -> bool {
        OPEN_TO_USERS.contains(&schema)
            && self.only.as_ref().is_none_or(|only| only.contains(schema))
    }

    /// Whether what belongs to no schema is compared.
    pub(crate) fn has_global(&self) -> bool {
        self.only.is_none()
    }

    pub(crate) fn has(&self, schema: &Schema, object: &Object) -> bool {
        let subject = &schema.objects[object.subject];
        if OUTSIDE.contains(&object.kind) || OUTSIDE.contains(&subject.kind) {
            return false;
        }
        // Only superusers have event triggers.
        if subject.kind == "event trigger" && !schema.is_superuser {
            return false;
        }
        let Some(name) = schema.schema_of(object) else {
            return self.has_global();
        };
        let is_open = matches!(subject.kind, "policy" | "trigger");
        self.has_schema(name) || (is_open && self.has_open_schema(name))
    }
}
