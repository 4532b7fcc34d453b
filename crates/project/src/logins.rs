//! The three login roles of a project. They alone may connect to its database, inherit nothing,
//! and differ in whom they may assume.
//!
//! | login | may assume | used for |
//! |---|---|---|
//! | `owner_<ref>` | `postgres` (and starts as it) | psql, migrations, the SQL editor |
//! | `authenticator_<ref>` | what `authenticator` may | everything done as a caller |
//! | `service_<ref>` | the owners of the system schemas | a service's own bookkeeping |
//!
//! `service_<ref>` exists because a user's trigger on `auth.users` runs inside our session: were
//! that a superuser's, `reset role` in the trigger would make the user one too.

use plinth_db::{QuotedIdent, QuotedLiteral};
use plinth_token::Secret;
use postgres_protocol::password::scram_sha_256;

use crate::{Cluster, ProjectRef};

/// Which of the three.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoginKind {
    /// May assume `postgres`.
    Owner,
    /// May assume the callers' roles.
    Authenticator,
    /// May assume the owners of the system schemas.
    Service,
}

impl LoginKind {
    /// All three.
    pub const ALL: [LoginKind; 3] = [
        LoginKind::Owner,
        LoginKind::Authenticator,
        LoginKind::Service,
    ];

    /// The role's name in the given project.
    pub fn role_name(self, reference: &ProjectRef) -> String {
        let kind = match self {
            LoginKind::Owner => "owner",
            LoginKind::Authenticator => "authenticator",
            LoginKind::Service => "service",
        };
        format!("{kind}_{reference}")
    }

    fn assumes(self) -> &'static [&'static str] {
        match self {
            LoginKind::Owner => &["postgres"],
            LoginKind::Authenticator => &["authenticator"],
            LoginKind::Service => &[
                "supabase_auth_admin",
                "plinth_storage",
                "supabase_realtime_admin",
            ],
        }
    }
}

/// Passwords of a project's login roles.
#[derive(Debug, Clone)]
pub struct Logins {
    /// Of `owner_<ref>`.
    pub owner: Secret,
    /// Of `authenticator_<ref>`.
    pub authenticator: Secret,
    /// Of `service_<ref>`.
    pub service: Secret,
}

impl Logins {
    /// Three new passwords.
    pub fn generate() -> Self {
        Self {
            owner: plinth_token::generate_password(),
            authenticator: plinth_token::generate_password(),
            service: plinth_token::generate_password(),
        }
    }

    /// The password of one of them.
    pub fn password(&self, kind: LoginKind) -> &Secret {
        match kind {
            LoginKind::Owner => &self.owner,
            LoginKind::Authenticator => &self.authenticator,
            LoginKind::Service => &self.service,
        }
    }
}

/// Creates the logins, or brings existing ones up to date. Idempotent.
pub fn create_sql(cluster: &Cluster, reference: &ProjectRef, logins: &Logins) -> String {
    let mut sql = String::new();
    for kind in kinds(cluster) {
        let name = QuotedIdent::new(&kind.role_name(reference));
        let literal = QuotedLiteral::new(&kind.role_name(reference));
        sql.push_str(&format!(
            "do $$ begin if not exists (select from pg_roles where rolname = {literal}) then \
             create role {name} noinherit login; end if; end $$;\n"
        ));
        sql.push_str(&password_sql(kind, reference, logins.password(kind)));
        for assumed in kind.assumes() {
            let options = cluster.assume_only();
            sql.push_str(&format!("grant {assumed} to {name}{options};\n"));
        }
    }
    sql
}

/// Opens a database of ours to the project's logins and to nobody else, and sets what sessions
/// start with.
pub fn open_database_sql(cluster: &Cluster, reference: &ProjectRef, database: &str) -> String {
    let db = QuotedIdent::new(database);
    let mut sql = format!(
        "revoke connect on database {db} from public;\n\
         alter database {db} set search_path = \"$user\", public, extensions;\n"
    );
    sql.push_str(&enter_database_sql(cluster, reference, database));
    sql
}

/// Lets the project's logins into a database, whoever else uses it.
pub fn enter_database_sql(cluster: &Cluster, reference: &ProjectRef, database: &str) -> String {
    let db = QuotedIdent::new(database);
    let mut sql = format!("grant create, temporary on database {db} to postgres;\n");
    for kind in kinds(cluster) {
        let name = QuotedIdent::new(&kind.role_name(reference));
        sql.push_str(&format!("grant connect on database {db} to {name};\n"));
        if kind == LoginKind::Owner {
            sql.push_str(&format!(
                "alter role {name} in database {db} set role = 'postgres';\n"
            ));
        }
    }
    sql
}

/// Sends the SCRAM verifier instead of the password, which thus appears in no log.
pub fn password_sql(kind: LoginKind, reference: &ProjectRef, password: &Secret) -> String {
    let name = QuotedIdent::new(&kind.role_name(reference));
    let verifier = QuotedLiteral::new(&scram_sha_256(password.expose().as_bytes()));
    format!("alter role {name} password {verifier};\n")
}

fn kinds(cluster: &Cluster) -> impl Iterator<Item = LoginKind> {
    let owners = cluster.has_owner_logins;
    LoginKind::ALL
        .into_iter()
        .filter(move |kind| owners || *kind != LoginKind::Owner)
}
