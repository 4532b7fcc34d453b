//! What only the running server can check about itself and its database.

use serde_json::{Value, json};

use crate::{Platform, PlatformError, databases};

/// How a check came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finding {
    /// As it should be.
    Good,
    /// Works, but deserves a look.
    Doubtful,
    /// Broken.
    Bad,
}

impl Finding {
    /// One word for machines.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Good => "ok",
            Self::Doubtful => "warning",
            Self::Bad => "error",
        }
    }
}

/// One check with its result.
#[derive(Debug, Clone)]
pub struct Check {
    /// What was looked at.
    pub name: String,
    /// How it came out.
    pub finding: Finding,
    /// What was seen.
    pub message: String,
    /// What to do about it.
    pub fix: Option<String>,
}

impl Check {
    /// All is well.
    pub fn good(name: &str, message: impl Into<String>) -> Self {
        Self {
            name: name.to_owned(),
            finding: Finding::Good,
            message: message.into(),
            fix: None,
        }
    }

    /// Something to look at, with what helps.
    pub fn doubtful(name: &str, message: impl Into<String>, fix: impl Into<String>) -> Self {
        let fix = Some(fix.into());
        Self {
            name: name.to_owned(),
            finding: Finding::Doubtful,
            message: message.into(),
            fix,
        }
    }

    /// Something broken, with what helps.
    pub fn bad(name: &str, message: impl Into<String>, fix: impl Into<String>) -> Self {
        let fix = Some(fix.into());
        Self {
            name: name.to_owned(),
            finding: Finding::Bad,
            message: message.into(),
            fix,
        }
    }

    /// As it goes over the wire.
    pub fn to_json(&self) -> Value {
        json!({
            "name": self.name, "status": self.finding.as_str(), "message": self.message,
            "fix": self.fix,
        })
    }
}

impl Platform {
    /// Everything the server can tell about its database.
    pub async fn examine(&self) -> Result<Vec<Check>, PlatformError> {
        let admin = self.admin().await?;
        let row = admin
            .query_one(
                "select current_setting('server_version'), current_setting('wal_level'),
                        (select count(*) from pg_replication_slots where not active),
                        (select count(*) from pg_stat_activity where backend_type = 'client backend'),
                        current_setting('max_connections')::int,
                        abs(extract(epoch from clock_timestamp())::float8 - $1::float8),
                        (select array_agg(name::text) from pg_available_extensions
                         where name in ('pgcrypto', 'uuid-ossp', 'citext', 'pg_trgm'))",
                &[&(time::OffsetDateTime::now_utc().unix_timestamp_nanos() as f64 / 1e9)],
            )
            .await?;
        let mut checks = vec![Check::good(
            "postgres",
            format!("PostgreSQL {}", row.get::<_, &str>(0)),
        )];
        checks.push(match row.get(1) {
            "logical" => Check::good("wal_level", "logical"),
            other => Check::doubtful(
                "wal_level",
                format!("{other}: row changes cannot be streamed"),
                "set wal_level = logical and restart PostgreSQL",
            ),
        });
        checks.push(connections(row.get(3), row.get(4)));
        checks.push(match row.get::<_, i64>(2) {
            0 => Check::good("replication slots", "none is abandoned"),
            slots => Check::doubtful(
                "replication slots",
                format!("{slots} inactive slot(s) hold back WAL"),
                "drop those that nobody needs: select pg_drop_replication_slot(…)",
            ),
        });
        checks.push(clock(row.get(5)));
        checks.push(extensions(
            row.get::<_, Option<Vec<String>>>(6).unwrap_or_default(),
        ));
        checks.push(self.template_check(&admin).await?);
        checks.push(match self.orphan_databases().await? {
            orphans if orphans.is_empty() => Check::good("databases", "all belong to a project"),
            orphans => Check::doubtful(
                "databases",
                format!("no project claims {}", orphans.join(", ")),
                "drop them if they hold nothing of value: drop database …",
            ),
        });
        checks.extend(self.half_made().await?);
        checks.push(memberships(&admin).await?);
        if !self.cluster().has_owner_logins {
            checks.push(Check::doubtful(
                "role postgres",
                "this cluster's own `postgres` can log in, so projects get no owner login",
                "connect with the cluster's own roles, or let plinth manage its own PostgreSQL",
            ));
        }
        checks.extend(self.open_tables().await?);
        Ok(checks)
    }

    async fn template_check(&self, admin: &tokio_postgres::Client) -> Result<Check, PlatformError> {
        Ok(
            match databases::template_is_current(admin, &self.0.schemas).await? {
                true => Check::good("template", "has every system schema at its current version"),
                false => Check::bad(
                    "template",
                    "missing or outdated: new projects would lack system schemas",
                    "restart plinth, which rebuilds it",
                ),
            },
        )
    }

    /// Projects whose creation ended half-way; the next start clears them away.
    async fn half_made(&self) -> Result<Option<Check>, PlatformError> {
        let sql = "select name from platform.projects
                   where status = 'COMING_UP' and created_at < now() - interval '1 minute'";
        let rows = self.tables().await?.query(sql, &[]).await?;
        let names: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
        Ok((!names.is_empty()).then(|| {
            Check::doubtful(
                "projects",
                format!("never came up: {}", names.join(", ")),
                "restart plinth, which clears them away",
            )
        }))
    }

    /// Tables of the default project that everybody may read.
    async fn open_tables(&self) -> Result<Option<Check>, PlatformError> {
        let Ok(project) = self.open(&plinth_project::ProjectName::Default).await else {
            return Ok(None);
        };
        let owner = project.db.as_owner().await?;
        let sql = "select quote_ident(n.nspname) || '.' || quote_ident(c.relname)
                   from pg_class c join pg_namespace n on n.oid = c.relnamespace
                   where n.nspname = 'public' and c.relkind in ('r', 'p') and not c.relrowsecurity
                   order by 1 limit 20";
        let open: Vec<String> = owner
            .query(sql, &[])
            .await?
            .iter()
            .map(|row| row.get(0))
            .collect();
        Ok((!open.is_empty()).then(|| {
            Check::doubtful(
                "row level security",
                format!(
                    "off on {}: anybody with the public key reads and writes them",
                    open.join(", ")
                ),
                "alter table … enable row level security, and add policies",
            )
        }))
    }
}

/// Roles are shared by all projects, and whoever owns one of them may grant a role of its own to
/// the API roles: that is then theirs in every project.
async fn memberships(admin: &tokio_postgres::Client) -> Result<Check, PlatformError> {
    let sql = "select r.rolname::text || ' to ' || m.rolname::text
               from pg_catalog.pg_auth_members a
               join pg_catalog.pg_roles r on r.oid = a.roleid
               join pg_catalog.pg_roles m on m.oid = a.member
               where m.rolname in ('anon', 'authenticated', 'service_role')
               order by 1";
    let granted: Vec<String> = admin
        .query(sql, &[])
        .await?
        .iter()
        .map(|row| row.get(0))
        .collect();
    Ok(match granted.is_empty() {
        true => Check::good("API roles", "inherit nothing"),
        false => Check::doubtful(
            "API roles",
            format!(
                "a project has granted {}, which holds in all projects",
                granted.join(", ")
            ),
            "revoke it, and grant the rights themselves instead",
        ),
    })
}

fn connections(used: i64, limit: i32) -> Check {
    let message = format!("{used} of {limit} in use");
    if used * 10 > i64::from(limit) * 9 {
        Check::doubtful(
            "connections",
            message,
            "raise max_connections, or lower plinth.pool.size",
        )
    } else {
        Check::good("connections", message)
    }
}

fn clock(difference_seconds: f64) -> Check {
    let message = format!("differs from the database's by {difference_seconds:.0} s");
    if difference_seconds > 5.0 {
        Check::bad(
            "clock",
            message,
            "synchronise the clocks: tokens expire too early or too late",
        )
    } else {
        Check::good("clock", message)
    }
}

fn extensions(available: Vec<String>) -> Check {
    let wanted = ["pgcrypto", "uuid-ossp", "citext", "pg_trgm"];
    let missing: Vec<&str> = wanted
        .into_iter()
        .filter(|name| !available.iter().any(|have| have == name))
        .collect();
    if missing.is_empty() {
        Check::good(
            "extensions",
            "pgcrypto, uuid-ossp, citext and pg_trgm are available",
        )
    } else {
        Check::doubtful(
            "extensions",
            format!("not available: {}", missing.join(", ")),
            "install the contrib modules of this PostgreSQL",
        )
    }
}
