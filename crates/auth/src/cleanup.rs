//! Deletes expired rows periodically (auth contract §11).
//!
//! A round deletes a bounded number of batches of each kind, so a project with many expired rows is
//! cleaned over several rounds.

use std::time::Duration;

use plinth_db::{DbError, Queries};
use plinth_project::{Project, Service};
use time::OffsetDateTime;

use crate::{
    AuthConfig, AuthService,
    model::expired::{Expired, delete_batch},
};

const DAY: Duration = Duration::from_secs(24 * 3600);
/// Sessions stay longer than their tokens, which are deleted in batches before them.
const SESSION_GRACE: Duration = Duration::from_secs(72 * 3600);
const ANONYMOUS_LIFETIME: Duration = Duration::from_secs(30 * 24 * 3600);
/// Batches of one kind in one round.
const MAX_BATCHES: usize = 10;

/// What is deleted in every project, with its age.
const ALWAYS: &[(Expired, Duration)] = &[
    (Expired::RevokedRefreshTokens, DAY),
    (Expired::EndedSessions, SESSION_GRACE),
    (Expired::SamlRelayStates, DAY),
    (Expired::FlowStates, DAY),
    (Expired::OAuthClientStates, DAY),
    (Expired::OAuthAuthorizations, DAY),
    (Expired::MfaChallenges, DAY),
    (Expired::UnverifiedFactors, DAY),
    (Expired::WebauthnChallenges, Duration::ZERO),
];

/// What a project's settings ask for.
fn expired_kinds(config: &AuthConfig) -> Vec<(Expired, Duration)> {
    let mut kinds = ALWAYS.to_vec();
    if config.external.is_anonymous_enabled {
        kinds.push((Expired::AnonymousUsers, ANONYMOUS_LIFETIME));
    }
    if let Some(timebox) = config.sessions.timebox {
        kinds.push((Expired::OldSessions, timebox + DAY));
    }
    if let Some(timeout) = config.sessions.inactivity_timeout {
        kinds.push((Expired::IdleSessions, timeout + DAY));
    }
    if config.rates.is_shared {
        kinds.push((Expired::RateLimits, crate::rate_limit::IDLE_TTL));
    }
    kinds
}

impl AuthService {
    /// One round; returns how many rows were deleted. Does nothing where the settings say so.
    pub async fn clean_up(&self, project: &Project) -> Result<u64, DbError> {
        let config = self.config(project);
        if !config.is_cleanup_enabled {
            return Ok(0);
        }
        let now = self.clock().now();
        let mut db = project.db.as_service(Service::Auth).await?;
        let mut deleted = 0;
        for (rows, age) in expired_kinds(&config) {
            deleted += delete_batches(&mut db, rows, now - age).await?;
        }
        Ok(deleted)
    }
}

/// Deletes batches until one is empty or the round's maximum is reached.
async fn delete_batches(
    db: &mut impl Queries,
    rows: Expired,
    before: OffsetDateTime,
) -> Result<u64, DbError> {
    let mut deleted = 0;
    for _ in 0..MAX_BATCHES {
        let batch = delete_batch(db, rows, before).await?;
        if batch == 0 {
            break;
        }
        deleted += batch;
    }
    Ok(deleted)
}
