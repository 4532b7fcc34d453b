//! Permissions on a private topic, which the policies on `realtime.messages` decide (§10).
//!
//! To check reading, probe rows are inserted, selected in the caller's role ([`caller_role`]) and
//! rolled back. To check writing, a row is inserted in the caller's role and rolled back.

use std::sync::Arc;

use plinth_db::{DbError, End, Row, Step};
use plinth_project::{Caller, ProjectDb};
use uuid::Uuid;

use crate::{caller_role, topics::ReadPermissions};

/// What policies read besides the caller's claims.
const SET_TOPIC_AND_HEADERS: &str =
    "select set_config('realtime.topic', $1, true), set_config('request.headers', $2, true)";

/// What a permission is about, as the column `extension` of `realtime.messages`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extension {
    Broadcast,
    Presence,
}

impl Extension {
    fn name(self) -> &'static str {
        match self {
            Self::Broadcast => "broadcast",
            Self::Presence => "presence",
        }
    }
}

/// A caller on a private topic, whose permissions can be checked.
#[derive(Debug, Clone)]
pub(crate) struct AccessCheck {
    pub(crate) caller: Caller,
    pub(crate) sub_topic: Box<str>,
    /// A JSON object: what policies see as `request.headers`.
    pub(crate) headers: Arc<str>,
}

/// Why permissions could not be checked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AuthorizeError {
    /// A policy fails, or the role does not exist.
    #[error("a policy on realtime.messages failed: {0}")]
    Policy(DbError),
    #[error("{0}")]
    Canceled(DbError),
    #[error("there is no partition of realtime.messages for today")]
    MissingPartition,
    #[error("timeout waiting for a pooled connection")]
    PoolTimeout,
    #[error("{0}")]
    DatabaseFull(DbError),
    #[error("{0}")]
    DatabaseNotReady(DbError),
    #[error("{0}")]
    DatabaseUnavailable(DbError),
    /// PostgreSQL has no disk space or memory left.
    #[error("{0}")]
    OutOfResources(DbError),
}

impl From<DbError> for AuthorizeError {
    fn from(error: DbError) -> Self {
        match (error.sqlstate().map(|state| state.code()), &error) {
            (Some("57014"), _) => Self::Canceled(error),
            (Some("23514"), _) => Self::MissingPartition,
            (Some(_), _) if error.is_transient() => Self::OutOfResources(error),
            (Some(_), _) => Self::Policy(error),
            (None, DbError::PoolTimeout) => Self::PoolTimeout,
            (None, DbError::Full(_)) => Self::DatabaseFull(error),
            (None, DbError::NotReady(_)) => Self::DatabaseNotReady(error),
            (None, _) => Self::DatabaseUnavailable(error),
        }
    }
}

impl AccessCheck {
    /// What the caller may receive; presence is checked only if it is wanted.
    pub(crate) async fn read_permissions(
        &self,
        db: &ProjectDb,
        wants_presence: bool,
    ) -> Result<ReadPermissions, AuthorizeError> {
        let extensions = if wants_presence {
            vec!["broadcast", "presence"]
        } else {
            vec!["broadcast"]
        };
        let ids: Vec<Uuid> = extensions.iter().map(|_| Uuid::new_v4()).collect();
        let (topic, headers) = (&*self.sub_topic, &*self.headers);
        let [role, claims, sub] = caller_role::role_and_claims(&self.caller);
        let found = db
            .as_caller(&caller_role::authenticator())
            .run(
                &[
                    Step::typed(
                        "select realtime.add_probes($1, $2, $3)",
                        &[&topic, &ids, &extensions],
                    ),
                    Step::typed(SET_TOPIC_AND_HEADERS, &[&topic, &headers]),
                    Step::typed(caller_role::SET_ROLE_AND_CLAIMS, &[&role, &claims, &sub]),
                    Step::typed(
                        "select extension from realtime.messages where id = any ($1)",
                        &[&ids],
                    ),
                ],
                End::Rollback,
            )
            .await;
        let found = match found {
            Ok(mut found) => found.pop().unwrap_or_default(),
            Err(error) if is_denied(&error) => Vec::new(),
            Err(error) => return Err(error.into()),
        };
        let has = |extension: Extension| {
            let is_it = |row: &Row| {
                row.try_get(0)
                    .is_ok_and(|name: &str| name == extension.name())
            };
            found.iter().any(is_it)
        };
        Ok(ReadPermissions {
            broadcast: has(Extension::Broadcast),
            presence: has(Extension::Presence),
        })
    }

    /// Whether the caller may send.
    pub(crate) async fn can_write(
        &self,
        db: &ProjectDb,
        extension: Extension,
    ) -> Result<bool, AuthorizeError> {
        let (topic, headers) = (&*self.sub_topic, &*self.headers);
        let name = extension.name();
        let [role, claims, sub] = caller_role::role_and_claims(&self.caller);
        let written = db
            .as_caller(&caller_role::authenticator())
            .run(
                &[
                    Step::typed(SET_TOPIC_AND_HEADERS, &[&topic, &headers]),
                    Step::typed(caller_role::SET_ROLE_AND_CLAIMS, &[&role, &claims, &sub]),
                    Step::typed(
                        "insert into realtime.messages (topic, extension) values ($1, $2)",
                        &[&topic, &name],
                    ),
                ],
                End::Rollback,
            )
            .await;
        match written {
            Ok(_) => Ok(true),
            Err(error) if is_denied(&error) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

fn is_denied(error: &DbError) -> bool {
    error
        .sqlstate()
        .is_some_and(|state| state.code() == "42501")
}
