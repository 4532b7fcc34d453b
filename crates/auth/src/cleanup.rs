//! What nobody needs any more is removed from time to time (auth contract §11).
//!
//! In small batches that skip rows which somebody works with, so that no request ever waits for
//! it; a project with a long past is cleaned over many rounds.

use std::time::Duration;

use plinth_db::{DbError, Params, Queries};
use plinth_project::{Project, Service};
use time::OffsetDateTime;

use crate::{AuthConfig, AuthService};

const DAY: Duration = Duration::from_secs(24 * 3600);
/// Sessions stay longer than their tokens, which go piece by piece before them.
const SESSION_GRACE: Duration = Duration::from_secs(72 * 3600);
const ANONYMOUS_LIFETIME: Duration = Duration::from_secs(30 * 24 * 3600);
/// Batches of one kind in one round.
const MAX_BATCHES: usize = 10;

/// One kind of rows: the statement takes the time before which they are too old.
struct Chore {
    sql: &'static str,
    age: Duration,
}

const ALWAYS: &[Chore] = &[
    Chore {
        sql: "delete from auth.refresh_tokens where id in (
                select id from auth.refresh_tokens where revoked and updated_at < $1
                limit 100 for update skip locked)",
        age: DAY,
    },
    Chore {
        sql: "delete from auth.sessions where id in (
                select id from auth.sessions where not_after < $1
                limit 10 for update skip locked)",
        age: SESSION_GRACE,
    },
    Chore {
        sql: "delete from auth.saml_relay_states where id in (
                select id from auth.saml_relay_states where created_at < $1
                limit 100 for update skip locked)",
        age: DAY,
    },
    Chore {
        sql: "delete from auth.flow_state where id in (
                select id from auth.flow_state where created_at < $1
                limit 100 for update skip locked)",
        age: DAY,
    },
    Chore {
        sql: "delete from auth.oauth_client_states where id in (
                select id from auth.oauth_client_states where created_at < $1
                limit 100 for update skip locked)",
        age: DAY,
    },
    Chore {
        sql: "delete from auth.oauth_authorizations where id in (
                select id from auth.oauth_authorizations where expires_at < $1
                limit 100 for update skip locked)",
        age: DAY,
    },
    Chore {
        sql: "delete from auth.mfa_challenges where id in (
                select id from auth.mfa_challenges where created_at < $1
                limit 100 for update skip locked)",
        age: DAY,
    },
    Chore {
        sql: "delete from auth.mfa_factors where id in (
                select id from auth.mfa_factors
                where created_at < $1 and status = 'unverified'
                limit 100 for update skip locked)",
        age: DAY,
    },
    Chore {
        sql: "delete from auth.webauthn_challenges where id in (
                select id from auth.webauthn_challenges where expires_at < $1
                limit 100 for update skip locked)",
        age: Duration::ZERO,
    },
];

const ANONYMOUS_USERS: &str = "
    delete from auth.users where id in (
        select id from auth.users where created_at < $1 and is_anonymous
        limit 100 for update skip locked)";

const SESSIONS_BY_AGE: &str = "
    delete from auth.sessions where id in (
        select id from auth.sessions where created_at < $1
        limit 10 for update skip locked)";

/// `refreshed_at` is UTC without a zone; a session that was never refreshed is as idle as its
/// newest token.
const SESSIONS_BY_IDLENESS: &str = "
    delete from auth.sessions where id in (
        select s.id from auth.sessions as s
        where coalesce(
            s.refreshed_at at time zone 'utc',
            (select max(t.updated_at) from auth.refresh_tokens as t
             where t.session_id = s.id and not t.revoked),
            s.created_at) < $1
        limit 10 for update of s skip locked)";

/// What a project's settings ask for.
fn chores(config: &AuthConfig) -> Vec<Chore> {
    let chore = |sql, age| Chore { sql, age };
    let anonymous = config
        .external
        .is_anonymous_enabled
        .then(|| chore(ANONYMOUS_USERS, ANONYMOUS_LIFETIME));
    let old = config.sessions.timebox;
    let old = old.map(|timebox| chore(SESSIONS_BY_AGE, timebox + DAY));
    let idle = config.sessions.inactivity_timeout;
    let idle = idle.map(|timeout| chore(SESSIONS_BY_IDLENESS, timeout + DAY));
    let always = ALWAYS.iter().map(|known| chore(known.sql, known.age));
    always.chain(anonymous).chain(old).chain(idle).collect()
}

impl AuthService {
    /// One round; tells how many rows went. Does nothing where the settings say so.
    pub async fn clean_up(&self, project: &Project) -> Result<u64, DbError> {
        let config = self.config(project);
        if !config.is_cleanup_enabled {
            return Ok(0);
        }
        let now = self.clock().now();
        let mut db = project.db.as_service(Service::Auth).await?;
        let mut removed = 0;
        for chore in chores(&config) {
            removed += chore.run(&mut db, now).await?;
        }
        Ok(removed)
    }
}

impl Chore {
    /// Until a batch finds nothing, or the round has done enough.
    async fn run(&self, db: &mut impl Queries, now: OffsetDateTime) -> Result<u64, DbError> {
        let before = now - self.age;
        let params: Params<'_> = &[&before];
        let mut removed = 0;
        for _ in 0..MAX_BATCHES {
            let batch = db.execute(self.sql, params).await?;
            if batch == 0 {
                break;
            }
            removed += batch;
        }
        Ok(removed)
    }
}
