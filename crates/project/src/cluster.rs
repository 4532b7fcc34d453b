//! The roles that all projects of a cluster share (design §3).
//!
//! None of them can log in: whoever may assume a role may also change its password, so each
//! project has login roles of its own ([`crate::logins`]) that may assume these.

use plinth_db::{DbError, QuotedIdent};
use tokio_postgres::Client;

/// What Plinth found out about the cluster it runs on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cluster {
    /// As `server_version_num`: 180004.
    pub version_num: i32,
    /// The role that administrates: creates databases and roles, runs the system migrations.
    pub admin: String,
    /// Whether that role is a superuser.
    pub is_superuser: bool,
    /// Whether projects get an `owner_<ref>` login that may assume `postgres`. Not so on a
    /// foreign cluster with a `postgres` of its own, which can log in or is even a superuser:
    /// whoever may assume that one reaches every other database.
    pub has_owner_logins: bool,
}

impl Cluster {
    /// Memberships carry their own INHERIT and SET options from PostgreSQL 16 on.
    pub fn has_grant_options(&self) -> bool {
        self.version_num >= 160_000
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

/// Why a cluster cannot carry Plinth.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// The database could not be asked.
    #[error(transparent)]
    Database(#[from] DbError),
    /// Too old.
    #[error("PostgreSQL {0} is too old: plinth needs 15 or later")]
    TooOld(String),
    /// The administrating role may not do what is needed.
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
    /// Nothing but a superuser will do here.
    #[error("the database role {role} is not enough: {reason}; use a superuser")]
    NeedsSuperuser {
        /// The role of the database URL.
        role: String,
        /// Why.
        reason: &'static str,
    },
}

/// Roles with BYPASSRLS, which every project needs, could be made by superusers only.
const NEWEST_THAT_NEEDS_A_SUPERUSER: i32 = 159_999;

impl From<tokio_postgres::Error> for ClusterError {
    fn from(error: tokio_postgres::Error) -> Self {
        ClusterError::Database(error.into())
    }
}

/// A shared role and its attributes.
struct SharedRole {
    name: &'static str,
    attributes: &'static str,
    /// `statement_timeout` of requests that run as this role.
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
    role("postgres", "bypassrls"),
];

/// Who may assume whom, and whether the rights come without assuming.
const MEMBERSHIPS: &[(&str, &str, Inherit)] = &[
    ("anon", "authenticator", Inherit::No),
    ("authenticated", "authenticator", Inherit::No),
    ("service_role", "authenticator", Inherit::No),
    ("anon", "supabase_realtime_admin", Inherit::No),
    ("authenticated", "supabase_realtime_admin", Inherit::No),
    ("service_role", "supabase_realtime_admin", Inherit::No),
    // Tests of policies say `set role authenticated`; migrations say `grant … to anon`.
    ("anon", "postgres", Inherit::No),
    ("authenticated", "postgres", Inherit::No),
    ("service_role", "postgres", Inherit::No),
    // A policy on a table needs its ownership: a grant is not enough.
    ("supabase_storage_admin", "postgres", Inherit::Yes),
    ("supabase_realtime_admin", "postgres", Inherit::Yes),
    // The storage service keeps a ledger in schema `plinth`, which is closed to the owners of
    // projects; so it cannot work as a role whose rights they have.
    ("supabase_storage_admin", "plinth_storage", Inherit::Yes),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Inherit {
    Yes,
    No,
}

/// Checks the cluster and creates the shared roles that are missing. Idempotent; several nodes
/// may start at once.
pub async fn prepare(admin: &mut Client) -> Result<Cluster, ClusterError> {
    let cluster = inspect(admin).await?;
    let transaction = admin.transaction().await?;
    // Two nodes that create the same role at once would collide on the catalogue's unique index.
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
        .batch_execute(&let_services_reach_their_ledger(&cluster))
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

/// Service logins of projects that are older than the role.
fn let_services_reach_their_ledger(cluster: &Cluster) -> String {
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

async fn inspect(admin: &Client) -> Result<Cluster, ClusterError> {
    let row = admin
        .query_one(
            "select current_setting('server_version_num')::int, current_setting('server_version'),
                    r.rolname::text, r.rolsuper, r.rolcreaterole, r.rolcreatedb, r.rolbypassrls,
                    exists (select from pg_roles p
                            where p.rolname = 'postgres' and (p.rolsuper or p.rolcanlogin))
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
    let reason = match is_superuser {
        true => None,
        false if version_num <= NEWEST_THAT_NEEDS_A_SUPERUSER => {
            Some("before PostgreSQL 16 only superusers create roles with BYPASSRLS")
        }
        false if has_foreign_postgres && role != "postgres" => {
            Some("this cluster has a role postgres of its own, which it may not assume")
        }
        false => None,
    };
    if let Some(reason) = reason {
        return Err(ClusterError::NeedsSuperuser { role, reason });
    }
    Ok(Cluster {
        version_num,
        admin: role,
        is_superuser,
        has_owner_logins: !has_foreign_postgres,
    })
}

fn create_role(role: &SharedRole, cluster: &Cluster) -> String {
    let name = role.name;
    // From 16 on CREATEROLE reaches only the roles that one has made; before, it would let a
    // project's owner change every role of the cluster.
    let may_create = name == "postgres" && cluster.has_grant_options();
    let create = if may_create { "createrole" } else { "" };
    let mut sql = format!("create role {name} nologin {} {create};", role.attributes);
    if let Some(timeout) = role.statement_timeout {
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
