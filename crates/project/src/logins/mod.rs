//! The login roles of a project. Only they may connect to its database. They inherit nothing but the
//! use of reserved connections, and differ in the roles that they may assume.
//!
//! | login | may assume | used for |
//! |---|---|---|
//! | `owner_<ref>` | `postgres` (and starts as it) | psql and other tools; the owner has its password |
//! | `migrator_<ref>` | `postgres` (and starts as it) | migrations and SQL that Plinth runs for the owner |
//! | `authenticator_<ref>` | what `authenticator` may | everything done as a caller |
//! | `service_<ref>` | the owners of the system schemas | a service's own bookkeeping |
//! | `editor_<ref>` | `plinth_editor` | operators who may change rows and nothing else |
//! | `reader_<ref>` | `plinth_reader` | operators who may read |
//!
//! `service_<ref>` exists because a user's trigger on `auth.users` runs in the service's session: in a
//! superuser's session, `reset role` in the trigger would give the user superuser rights.
//! `migrator_<ref>` exists because the owner may change the password of `owner_<ref>`.

mod restore;

use plinth_db::{QuotedIdent, QuotedLiteral};
use plinth_token::Secret;
use postgres_protocol::password::scram_sha_256;

use crate::{Cluster, ProjectRef};

pub(crate) use restore::restore;

/// Which of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoginKind {
    /// May assume `postgres`; its password is the owner's.
    Owner,
    /// May assume `postgres`; its password is Plinth's.
    Migrator,
    /// May assume the callers' roles.
    Authenticator,
    /// May assume the owners of the system schemas.
    Service,
    /// May assume `plinth_editor`.
    Editor,
    /// May assume `plinth_reader`.
    Reader,
}

impl LoginKind {
    /// All of them.
    pub const ALL: [LoginKind; 6] = [
        LoginKind::Owner,
        LoginKind::Migrator,
        LoginKind::Authenticator,
        LoginKind::Service,
        LoginKind::Editor,
        LoginKind::Reader,
    ];

    /// The role's name in the given project.
    pub fn role_name(self, reference: &ProjectRef) -> String {
        let kind = match self {
            LoginKind::Owner => "owner",
            LoginKind::Migrator => "migrator",
            LoginKind::Authenticator => "authenticator",
            LoginKind::Service => "service",
            LoginKind::Editor => "editor",
            LoginKind::Reader => "reader",
        };
        format!("{kind}_{reference}")
    }

    fn assumes(self) -> &'static [&'static str] {
        match self {
            LoginKind::Owner | LoginKind::Migrator => &["postgres"],
            LoginKind::Authenticator => &["authenticator"],
            LoginKind::Service => &[
                "supabase_auth_admin",
                "supabase_realtime_admin",
                "plinth_storage",
            ],
            LoginKind::Editor => &["plinth_editor"],
            LoginKind::Reader => &["plinth_reader"],
        }
    }

    /// Whether it serves requests: SQL of people must not take the connections of those that do.
    fn has_reserved_connections(self) -> bool {
        self != LoginKind::Owner && !self.is_of_operators()
    }

    /// Whether projects of earlier versions have none until they are opened.
    fn is_of_operators(self) -> bool {
        matches!(self, LoginKind::Editor | LoginKind::Reader)
    }

    /// Whether its sessions start as `postgres`.
    fn starts_as_postgres(self) -> bool {
        matches!(self, LoginKind::Owner | LoginKind::Migrator)
    }

    fn connection_limit(self, cluster: &Cluster) -> Option<u32> {
        let limits = cluster.login_limits?;
        Some(match self {
            LoginKind::Owner | LoginKind::Editor | LoginKind::Reader => limits.owner,
            _ => limits.internal,
        })
    }
}

/// Passwords of a project's login roles.
#[derive(Debug, Clone)]
pub struct Logins {
    /// Of `owner_<ref>`, as far as Plinth knows: the owner may have changed it.
    pub owner: Secret,
    /// Of `migrator_<ref>`.
    pub migrator: Secret,
    /// Of `authenticator_<ref>`.
    pub authenticator: Secret,
    /// Of `service_<ref>`.
    pub service: Secret,
    /// Of `editor_<ref>`.
    pub editor: Secret,
    /// Of `reader_<ref>`.
    pub reader: Secret,
}

impl Logins {
    /// New passwords.
    pub fn generate() -> Self {
        Self {
            owner: plinth_token::generate_password(),
            migrator: plinth_token::generate_password(),
            authenticator: plinth_token::generate_password(),
            service: plinth_token::generate_password(),
            editor: plinth_token::generate_password(),
            reader: plinth_token::generate_password(),
        }
    }

    /// The password of one of them.
    pub fn password(&self, kind: LoginKind) -> &Secret {
        match kind {
            LoginKind::Owner => &self.owner,
            LoginKind::Migrator => &self.migrator,
            LoginKind::Authenticator => &self.authenticator,
            LoginKind::Service => &self.service,
            LoginKind::Editor => &self.editor,
            LoginKind::Reader => &self.reader,
        }
    }
}

/// Creates the logins, or updates existing ones. Idempotent.
pub fn create_sql(cluster: &Cluster, reference: &ProjectRef, logins: &Logins) -> String {
    let mut sql = String::new();
    for kind in kinds(cluster) {
        sql.push_str(&create_one_sql(cluster, kind, reference));
        sql.push_str(&password_sql(kind, reference, logins.password(kind)));
    }
    for kind in kinds(cluster) {
        sql.push_str(&reserve_connections_sql(cluster, kind, reference));
    }
    sql
}

/// Lets a login use reserved connections. Comes after all other grants of a transaction: a grant locks the
/// granted role, and two transactions that lock roles in different orders can deadlock.
fn reserve_connections_sql(cluster: &Cluster, kind: LoginKind, reference: &ProjectRef) -> String {
    if !cluster.has_reserved_connections() || !kind.has_reserved_connections() {
        return String::new();
    }
    let name = QuotedIdent::new(&kind.role_name(reference));
    format!("grant pg_use_reserved_connections to {name} with inherit true, set false;\n")
}

/// One login with everything but its password and the use of reserved connections.
fn create_one_sql(cluster: &Cluster, kind: LoginKind, reference: &ProjectRef) -> String {
    let name = QuotedIdent::new(&kind.role_name(reference));
    let literal = QuotedLiteral::new(&kind.role_name(reference));
    let mut sql = format!(
        "do $$ begin if not exists (select from pg_roles where rolname = {literal}) then \
         create role {name} noinherit login; end if; end $$;\n"
    );
    if let Some(limit) = kind.connection_limit(cluster) {
        sql.push_str(&format!("alter role {name} connection limit {limit};\n"));
    }
    for assumed in kind.assumes() {
        let options = cluster.assume_only();
        sql.push_str(&format!("grant {assumed} to {name}{options};\n"));
    }
    sql
}

/// Everybody but operators who are editors or readers: a temporary table or function hides one of the same name
/// from a careless `security definer` function, and so gets its owner's rights.
const MAY_MAKE_TEMPORARY_TABLES: &str = "anon, authenticated, service_role, authenticator, \
    supabase_auth_admin, supabase_storage_admin, supabase_realtime_admin, plinth_storage";

/// Restricts CONNECT on a managed database to the project's logins, and sets its search path.
pub fn open_database_sql(cluster: &Cluster, reference: &ProjectRef, database: &str) -> String {
    let db = QuotedIdent::new(database);
    let mut sql = format!(
        "revoke connect, temporary on database {db} from public;\n\
         grant temporary on database {db} to {MAY_MAKE_TEMPORARY_TABLES};\n\
         alter database {db} set search_path = \"$user\", public, extensions;\n"
    );
    sql.push_str(&enter_database_sql(cluster, reference, database));
    sql
}

/// Grants CONNECT on a database to the project's logins; other grants are unchanged.
pub fn enter_database_sql(cluster: &Cluster, reference: &ProjectRef, database: &str) -> String {
    let db = QuotedIdent::new(database);
    let mut sql = format!("grant create, temporary on database {db} to postgres;\n");
    for kind in kinds(cluster) {
        sql.push_str(&enter_one_sql(kind, reference, &db));
    }
    sql
}

fn enter_one_sql(kind: LoginKind, reference: &ProjectRef, db: &QuotedIdent) -> String {
    let name = QuotedIdent::new(&kind.role_name(reference));
    let mut sql = format!("grant connect on database {db} to {name};\n");
    if kind.starts_as_postgres() {
        sql.push_str(&format!(
            "alter role {name} in database {db} set role = 'postgres';\n"
        ));
    }
    sql
}

/// Sets a password by its SCRAM verifier, so that the password appears in no log.
pub fn password_sql(kind: LoginKind, reference: &ProjectRef, password: &Secret) -> String {
    let name = QuotedIdent::new(&kind.role_name(reference));
    let verifier = QuotedLiteral::new(&scram_sha_256(password.expose().as_bytes()));
    format!("alter role {name} password {verifier};\n")
}

fn kinds(cluster: &Cluster) -> impl Iterator<Item = LoginKind> {
    let owners = cluster.has_owner_logins;
    LoginKind::ALL
        .into_iter()
        .filter(move |kind| owners || !kind.starts_as_postgres())
}
