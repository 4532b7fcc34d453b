//! The roles that all projects of a cluster share (design §3).
//!
//! None of them can log in: a role that may assume another may also change its password, so each
//! project has its own login roles ([`crate::logins`]), which may assume these.

use plinth_db::{DbError, QuotedIdent};
use tokio_postgres::{Client, Row};

use crate::{ConnectionSlots, LoginLimits};

/// Properties of the cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cluster {
    /// As `server_version_num`: 180004.
    pub version_num: i32,
    /// The role that administrates: creates databases and roles, runs the system migrations.
    pub admin: String,
    /// Whether that role is a superuser.
    pub is_superuser: bool,
    /// Whether projects get an `owner_<ref>` login that may assume `postgres`. Not on an external
    /// cluster whose own `postgres` can log in or is a superuser: a role that may assume it could
    /// access every other database.
    pub has_owner_logins: bool,
    /// Whether Plinth runs the server. An external one may have other users, so roles and settings
    /// that others made there are left as they are.
    pub is_managed: bool,
    /// How the server divides its connections.
    pub connection_slots: ConnectionSlots,
    /// Connection limits of projects' logins; none on an external server, which several nodes may
    /// share.
    pub login_limits: Option<LoginLimits>,
}

impl Cluster {
    /// Memberships have INHERIT and SET options since PostgreSQL 16.
    pub fn has_grant_options(&self) -> bool {
        self.version_num >= 160_000
    }

    /// Whether roles can be allowed to use `reserved_connections`.
    pub(crate) fn has_reserved_connections(&self) -> bool {
        self.is_superuser && self.version_num >= 160_000
    }

    /// The membership clause that lets `member` assume a role without inheriting its rights.
    pub fn assume_only(&self) -> &'static str {
        if self.has_grant_options() {
            " with inherit false, set true"
        } else {
            ""
        }
    }
}

/// The cluster cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// A query failed.
    #[error(transparent)]
    Database(#[from] DbError),
    /// Too old.
    #[error("PostgreSQL {0} is too old: plinth needs 15 or later")]
    TooOld(String),
    /// The administrating role lacks a right.
    #[error(
        "the database role {role} lacks {missing}; make it a superuser, or run as one: \
         alter role {role} {missing}"
    )]
    MissingRights {
        /// The role of the database URL.
        role: String,
        /// What it lacks, as `ALTER ROLE` spells it.
        missing: String,
    },
    /// A superuser is required.
    #[error("the database role {role} is not enough: {reason}; use a superuser")]
    NeedsSuperuser {
        /// The role of the database URL.
        role: String,
        /// Why.
        reason: &'static str,
    },
}

/// Up to this version only superusers can create roles with BYPASSRLS, which projects need.
const LAST_VERSION_NEEDING_SUPERUSER: i32 = 159_999;

impl From<tokio_postgres::Error> for ClusterError {
    fn from(error: tokio_postgres::Error) -> Self {
        ClusterError::Database(error.into())
    }
}

/// A shared role and its attributes.
struct SharedRole {
    name: &'static str,
    attributes: &'static str,
    /// `statement_timeout` of requests that run as this role, on an external cluster.
    statement_timeout: Option<&'static str>,
}

const fn role(name: &'static str, attributes: &'static str) -> SharedRole {
    SharedRole {
        name,
        attributes,
        statement_timeout: None,
    }
}

const ROLES: &[SharedRole] = &[
    SharedRole {
        name: "anon",
        attributes: "noinherit",
        statement_timeout: Some("3s"),
    },
    SharedRole {
        name: "authenticated",
        attributes: "noinherit",
        statement_timeout: Some("8s"),
    },
    role("service_role", "noinherit bypassrls"),
    SharedRole {
        name: "authenticator",
        attributes: "noinherit",
        statement_timeout: Some("8s"),
    },
    role("supabase_admin", ""),
    role("supabase_auth_admin", "noinherit"),
    role("supabase_storage_admin", "noinherit"),
    role("supabase_realtime_admin", "noinherit"),
    role("plinth_storage", ""),
    role("dashboard_user", ""),
    // Operators who are editors or readers see all rows: policies are about users of the application.
    role("plinth_editor", "noinherit bypassrls"),
    role("plinth_reader", "noinherit bypassrls"),
    role("postgres", "bypassrls"),
];

/// Granted role, member, and whether the member inherits the rights without `set role`.
const MEMBERSHIPS: &[(&str, &str, Inherit)] = &[
    ("anon", "authenticator", Inherit::No),
    ("authenticated", "authenticator", Inherit::No),
    ("service_role", "authenticator", Inherit::No),
    ("anon", "supabase_realtime_admin", Inherit::No),
    ("authenticated", "supabase_realtime_admin", Inherit::No),
    ("service_role", "supabase_realtime_admin", Inherit::No),
    // For `set role authenticated` in tests of policies, and `grant … to anon` in migrations.
    ("anon", "postgres", Inherit::No),
    ("authenticated", "postgres", Inherit::No),
    ("service_role", "postgres", Inherit::No),
    // Creating a policy requires ownership of the table.
    ("supabase_storage_admin", "postgres", Inherit::Yes),
    ("supabase_realtime_admin", "postgres", Inherit::Yes),
    // The storage service has a ledger in schema `plinth`, which owners of projects must not access,
    // so it uses a role that they do not inherit.
    ("supabase_storage_admin", "plinth_storage", Inherit::Yes),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Inherit {
    Yes,
    No,
}

/// Checks the cluster and creates the shared roles that are missing. Idempotent; several nodes
/// may start at once. `is_managed`: Plinth runs the server.
pub async fn prepare(admin: &mut Client, is_managed: bool) -> Result<Cluster, ClusterError> {
    let cluster = inspect(admin, is_managed).await?;
    let transaction = admin.transaction().await?;
    // Concurrent `create role` of two nodes would fail on the catalog's unique index.
    transaction
        .batch_execute("select pg_advisory_xact_lock(7305820114271964)")
        .await?;
    let existing: Vec<String> = transaction
        .query("select rolname::text from pg_roles", &[])
        .await?
        .iter()
        .map(|row| row.get(0))
        .collect();
    for role in ROLES
        .iter()
        .filter(|role| !existing.iter().any(|name| name == role.name))
    {
        transaction
            .batch_execute(&create_role(role, &cluster))
            .await?;
    }
    for (granted, member, inherit) in MEMBERSHIPS {
        if *member == "postgres" && !cluster.has_owner_logins {
            continue;
        }
        transaction
            .batch_execute(&grant(granted, member, *inherit, &cluster))
            .await?;
    }
    transaction
        .batch_execute(&grant_storage_role_sql(&cluster))
        .await?;
    if !cluster.is_superuser {
        // System migrations assume the roles that own the schemas.
        for role in ROLES.iter().filter(|role| role.name != cluster.admin) {
            let admin = QuotedIdent::new(&cluster.admin);
            transaction
                .batch_execute(&format!("grant {} to {admin}", role.name))
                .await?;
        }
    }
    transaction.commit().await?;
    Ok(cluster)
}

/// Grants `plinth_storage` to service logins that were created before the role existed.
fn grant_storage_role_sql(cluster: &Cluster) -> String {
    let options = cluster.assume_only();
    format!(
        "do $$
         declare
           login text;
         begin
           for login in
             select m.rolname
             from pg_auth_members g
             join pg_roles m on m.oid = g.member
             where g.roleid = 'supabase_storage_admin'::regrole
               and m.rolname ~ '^service_[a-z]{{20}}$'
           loop
             execute format('grant plinth_storage to %I{options}', login);
           end loop;
         end $$;"
    )
}

async fn inspect(admin: &Client, is_managed: bool) -> Result<Cluster, ClusterError> {
    let row = admin
        .query_one(
            "select current_setting('server_version_num')::int, current_setting('server_version'),
                    r.rolname::text, r.rolsuper, r.rolcreaterole, r.rolcreatedb, r.rolbypassrls,
                    exists (select from pg_roles p
                            where p.rolname = 'postgres' and (p.rolsuper or p.rolcanlogin)),
                    current_setting('max_connections')::int,
                    current_setting('superuser_reserved_connections')::int,
                    coalesce(current_setting('reserved_connections', true), '0')::int
             from pg_roles r
             where r.rolname = current_user",
            &[],
        )
        .await?;
    let version_num: i32 = row.get(0);
    if version_num < 150_000 {
        return Err(ClusterError::TooOld(row.get(1)));
    }
    let role: String = row.get(2);
    let is_superuser: bool = row.get(3);
    if !is_superuser {
        let needed = [("CREATEROLE", 4), ("CREATEDB", 5), ("BYPASSRLS", 6)];
        let missing: Vec<&str> = needed
            .iter()
            .filter(|(_, i)| !row.get::<_, bool>(*i))
            .map(|(name, _)| *name)
            .collect();
        if !missing.is_empty() {
            return Err(ClusterError::MissingRights {
                role,
                missing: missing.join(" "),
            });
        }
    }
    let has_foreign_postgres: bool = row.get(7);
    let reason = if is_superuser {
        None
    } else if version_num <= LAST_VERSION_NEEDING_SUPERUSER {
        Some("before PostgreSQL 16 only superusers create roles with BYPASSRLS")
    } else if has_foreign_postgres && role != "postgres" {
        Some("this cluster has a role postgres of its own, which it may not assume")
    } else {
        None
    };
    if let Some(reason) = reason {
        return Err(ClusterError::NeedsSuperuser { role, reason });
    }
    Ok(Cluster {
        version_num,
        admin: role,
        is_superuser,
        has_owner_logins: !has_foreign_postgres,
        is_managed,
        connection_slots: connection_slots(&row),
        login_limits: None,
    })
}

fn connection_slots(row: &Row) -> ConnectionSlots {
    let count = |column| row.get::<_, i32>(column).unsigned_abs();
    ConnectionSlots {
        max: count(8),
        superuser_reserved: count(9),
        reserved: count(10),
    }
}

fn create_role(role: &SharedRole, cluster: &Cluster) -> String {
    let name = role.name;
    // Since version 16 CREATEROLE applies to roles that one has created; before, it would let a
    // project's owner change every role of the cluster.
    let may_create = name == "postgres" && cluster.has_grant_options();
    let create = if may_create { "createrole" } else { "" };
    let mut sql = format!("create role {name} nologin {} {create};", role.attributes);
    // Projects of a managed cluster have settings of their own (`plinth_roles.settings`).
    if let Some(timeout) = role.statement_timeout.filter(|_| !cluster.is_managed) {
        sql.push_str(&format!(
            "alter role {name} set statement_timeout = '{timeout}';"
        ));
    }
    sql
}

fn grant(granted: &str, member: &str, inherit: Inherit, cluster: &Cluster) -> String {
    let options = match inherit {
        Inherit::No => cluster.assume_only(),
        Inherit::Yes => "",
    };
    format!("grant {granted} to {member}{options}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cluster(version_num: i32) -> Cluster {
        let admin = "supabase_admin".to_owned();
        Cluster {
            version_num,
            admin,
            is_superuser: true,
            has_owner_logins: true,
            is_managed: true,
            connection_slots: ConnectionSlots {
                max: 100,
                superuser_reserved: 10,
                reserved: 30,
            },
            login_limits: None,
        }
    }

    #[test]
    fn only_newer_servers_let_postgres_create_roles() {
        let postgres = ROLES
            .iter()
            .find(|role| role.name == "postgres")
            .expect("listed");
        assert!(create_role(postgres, &cluster(180_000)).contains("createrole"));
        assert!(!create_role(postgres, &cluster(150_000)).contains("createrole"));
    }

    #[test]
    fn older_servers_get_no_grant_options() {
        let text = grant("anon", "authenticator", Inherit::No, &cluster(150_018));
        assert_eq!(text, "grant anon to authenticator");
    }
}
