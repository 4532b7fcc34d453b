//! The checks of `plinth doctor` that need the running server and its database.

use std::time::Duration;

use plinth_project::{ProjectRef, ProjectServers as _, ServerName};
use serde_json::{Value, json};
use tokio_postgres::Client;

use crate::{Platform, PlatformError, databases};

/// How long the checks of the server of an isolated project may take.
const SERVER_TIMEOUT: Duration = Duration::from_secs(15);

/// Result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// No problem.
    Ok,
    /// Works, but should be looked at.
    Warning,
    /// Broken.
    Error,
}

impl Severity {
    /// The value in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// One check with its result.
#[derive(Debug, Clone)]
pub struct Check {
    /// What was checked.
    pub name: String,
    /// The result.
    pub severity: Severity,
    /// What was found.
    pub message: String,
    /// How to fix it.
    pub fix: Option<String>,
}

impl Check {
    /// No problem.
    pub fn ok(name: &str, message: impl Into<String>) -> Self {
        Self {
            name: name.to_owned(),
            severity: Severity::Ok,
            message: message.into(),
            fix: None,
        }
    }

    /// A warning, with a fix.
    pub fn warning(name: &str, message: impl Into<String>, fix: impl Into<String>) -> Self {
        let fix = Some(fix.into());
        Self {
            name: name.to_owned(),
            severity: Severity::Warning,
            message: message.into(),
            fix,
        }
    }

    /// An error, with a fix.
    pub fn error(name: &str, message: impl Into<String>, fix: impl Into<String>) -> Self {
        let fix = Some(fix.into());
        Self {
            name: name.to_owned(),
            severity: Severity::Error,
            message: message.into(),
            fix,
        }
    }

    fn is_ok(&self) -> bool {
        self.severity == Severity::Ok
    }

    /// The same check of an isolated project's server.
    fn of_project(mut self, reference: &ProjectRef) -> Self {
        self.name = format!("{} ({reference})", self.name);
        self
    }

    /// The body in the API.
    pub fn to_json(&self) -> Value {
        json!({
            "name": self.name, "status": self.severity.as_str(), "message": self.message,
            "fix": self.fix,
        })
    }
}

impl Platform {
    /// Runs all checks.
    pub async fn run_checks(&self) -> Result<Vec<Check>, PlatformError> {
        let admin = self.admin().await?;
        let row = admin
            .query_one(
                "select current_setting('server_version'), current_setting('wal_level'),
                        abs(extract(epoch from clock_timestamp())::float8 - $1::float8),
                        (select array_agg(name::text) from pg_available_extensions
                         where name in ('pgcrypto', 'uuid-ossp', 'citext', 'pg_trgm'))",
                &[&(time::OffsetDateTime::now_utc().unix_timestamp_nanos() as f64 / 1e9)],
            )
            .await?;
        let mut checks = vec![Check::ok(
            "postgres",
            format!("PostgreSQL {}", row.get::<_, &str>(0)),
        )];
        checks.push(match row.get(1) {
            "logical" => Check::ok("wal_level", "logical"),
            other => Check::warning(
                "wal_level",
                format!("{other}: row changes cannot be streamed"),
                "set wal_level = logical and restart PostgreSQL",
            ),
        });
        checks.extend(server_checks(&admin).await?);
        checks.push(clock(row.get(2)));
        checks.push(extensions(
            row.get::<_, Option<Vec<String>>>(3).unwrap_or_default(),
        ));
        checks.push(self.template_check(&admin).await?);
        checks.push(match self.orphan_databases().await? {
            orphans if orphans.is_empty() => Check::ok("databases", "all belong to a project"),
            orphans => Check::warning(
                "databases",
                format!("no project claims {}", orphans.join(", ")),
                "drop them if they hold nothing of value: drop database …",
            ),
        });
        checks.extend(self.unfinished_projects().await?);
        checks.extend(self.role_checks(&admin).await?);
        if !self.cluster().has_owner_logins {
            checks.push(Check::warning(
                "role postgres",
                "this cluster's own `postgres` can log in, so projects get no owner login",
                "connect with the cluster's own roles, or let plinth manage its own PostgreSQL",
            ));
        }
        checks.extend(self.tables_without_rls().await?);
        checks.push(self.publishable_key_check().await?);
        checks.extend(self.shared_origin_check().await?);
        checks.extend(self.isolated_projects_check().await?);
        for reference in self.isolated_servers().running {
            checks.extend(self.isolated_server_checks(&reference).await);
        }
        Ok(checks)
    }

    /// What is wrong with the server of an isolated project, which runs.
    async fn isolated_server_checks(&self, reference: &ProjectRef) -> Vec<Check> {
        let name = ServerName::Isolated(reference.clone());
        if !self.is_running(&name) {
            // It has stopped since; starting it could stop another.
            return Vec::new();
        }
        let checking = async {
            let server = self.server(&name).await?;
            server_checks(&server.administrator().connect().await?).await
        };
        let error = match tokio::time::timeout(SERVER_TIMEOUT, checking).await {
            Ok(Ok(checks)) => {
                let problems = checks.into_iter().filter(|check| !check.is_ok());
                return problems.map(|check| check.of_project(reference)).collect();
            }
            Ok(Err(PlatformError::Unavailable(error))) => error.to_string(),
            Ok(Err(error)) => error.to_string(),
            Err(_) => "timeout".to_owned(),
        };
        let check = Check::error(
            "postgres",
            format!("cannot be checked: {error}"),
            "find the reason in the log: plinth logs --source postgres",
        );
        vec![check.of_project(reference)]
    }

    async fn template_check(&self, admin: &Client) -> Result<Check, PlatformError> {
        Ok(
            if databases::template_is_current(admin, &self.0.schemas).await? {
                Check::ok("template", "has every system schema at its current version")
            } else {
                Check::error(
                    "template",
                    "missing or outdated: new projects would lack system schemas",
                    "restart plinth, which rebuilds it",
                )
            },
        )
    }

    /// Projects whose creation was interrupted; the next start removes them.
    async fn unfinished_projects(&self) -> Result<Option<Check>, PlatformError> {
        let sql = "select name from platform.projects
                   where status = 'COMING_UP' and created_at < now() - interval '1 minute'";
        let rows = self.tables().await?.query(sql, &[]).await?;
        let names: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
        Ok((!names.is_empty()).then(|| {
            Check::warning(
                "projects",
                format!("creation did not finish: {}", names.join(", ")),
                "restart plinth, which removes them",
            )
        }))
    }

    /// Tables of the default project without row level security.
    async fn tables_without_rls(&self) -> Result<Option<Check>, PlatformError> {
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
            Check::warning(
                "row level security",
                format!(
                    "off on {}: every client with the publishable key can read and write them",
                    open.join(", ")
                ),
                "alter table … enable row level security, and add policies",
            )
        }))
    }
}

/// The checks of each server that has projects.
async fn server_checks(admin: &Client) -> Result<Vec<Check>, PlatformError> {
    let sql =
        "select (select count(*) from pg_stat_activity where backend_type = 'client backend'),
                      current_setting('max_connections')::int,
                      (select count(*) from pg_replication_slots where not active)";
    let row = admin.query_one(sql, &[]).await?;
    let mut checks = vec![connections(row.get(0), row.get(1))];
    checks.extend(logins_at_their_limit(admin).await?);
    checks.push(replication_slots(row.get(2)));
    checks.push(api_role_memberships(admin).await?);
    Ok(checks)
}

/// Roles are shared by all projects of a server: a role that one project's owner grants to an API role
/// is granted in every project. The only project of a server, which has one service login, may do that.
async fn api_role_memberships(admin: &Client) -> Result<Check, PlatformError> {
    let sql = "select r.rolname::text || ' to ' || m.rolname::text
               from pg_catalog.pg_auth_members a
               join pg_catalog.pg_roles r on r.oid = a.roleid
               join pg_catalog.pg_roles m on m.oid = a.member
               where m.rolname in ('anon', 'authenticated', 'service_role')
                 and (select count(*) > 1 from pg_catalog.pg_roles
                      where rolname ~ '^service_[a-z]{20}$')
               order by 1";
    let granted: Vec<String> = admin
        .query(sql, &[])
        .await?
        .iter()
        .map(|row| row.get(0))
        .collect();
    Ok(if granted.is_empty() {
        Check::ok("API roles", "inherit nothing")
    } else {
        Check::warning(
            "API roles",
            format!(
                "a project has granted {}, which holds in all projects of its server",
                granted.join(", ")
            ),
            "revoke it, and grant the rights themselves instead",
        )
    })
}

/// Logins whose next connection PostgreSQL rejects.
async fn logins_at_their_limit(admin: &Client) -> Result<Option<Check>, PlatformError> {
    let sql = "select r.rolname || ' (' || count(*) || ')'
               from pg_catalog.pg_stat_activity a
               join pg_catalog.pg_roles r on r.oid = a.usesysid
               where r.rolconnlimit >= 0 and a.backend_type = 'client backend'
               group by r.rolname, r.rolconnlimit
               having count(*) >= r.rolconnlimit
               order by 1";
    let full: Vec<String> = admin
        .query(sql, &[])
        .await?
        .iter()
        .map(|row| row.get(0))
        .collect();
    Ok((!full.is_empty()).then(|| {
        Check::warning(
            "connection limits",
            format!("no further connections for {}", full.join(", ")),
            "close idle sessions, or raise plinth.database.owner_connections",
        )
    }))
}

fn connections(used: i64, limit: i32) -> Check {
    let message = format!("{used} of {limit} in use");
    if used * 10 > i64::from(limit) * 9 {
        Check::warning(
            "connections",
            message,
            "raise max_connections, or lower plinth.pool.size",
        )
    } else {
        Check::ok("connections", message)
    }
}

fn replication_slots(inactive: i64) -> Check {
    match inactive {
        0 => Check::ok("replication slots", "none is abandoned"),
        slots => Check::warning(
            "replication slots",
            format!("{slots} inactive slot(s) hold back WAL"),
            "drop unused ones: select pg_drop_replication_slot(…)",
        ),
    }
}

fn clock(difference_seconds: f64) -> Check {
    let message = format!("differs from the database's by {difference_seconds:.0} s");
    if difference_seconds > 5.0 {
        Check::error(
            "clock",
            message,
            "synchronise the clocks: tokens expire too early or too late",
        )
    } else {
        Check::ok("clock", message)
    }
}

fn extensions(available: Vec<String>) -> Check {
    let wanted = ["pgcrypto", "uuid-ossp", "citext", "pg_trgm"];
    let missing: Vec<&str> = wanted
        .into_iter()
        .filter(|name| !available.iter().any(|have| have == name))
        .collect();
    if missing.is_empty() {
        Check::ok(
            "extensions",
            "pgcrypto, uuid-ossp, citext and pg_trgm are available",
        )
    } else {
        Check::warning(
            "extensions",
            format!("not available: {}", missing.join(", ")),
            "install the contrib modules of this PostgreSQL",
        )
    }
}
