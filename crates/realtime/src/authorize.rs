//! Who may do what on a private channel: the policies on `realtime.messages` decide (§10).
//!
//! Reading is asked by putting probes there, looking for them as the asker ([`assume`]), and taking
//! everything back. Writing is asked by writing, and taking that back.

use plinth_db::{DbError, End, Row, Step};
use plinth_project::{Caller, ProjectDb};
use uuid::Uuid;

use crate::{assume, rooms::Hearing};

/// What the policies of a topic look at besides the asker.
const SET_SCENE: &str =
    "select set_config('realtime.topic', $1, true), set_config('request.headers', $2, true)";

/// What a permission is about.
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

/// Somebody on a private topic.
#[derive(Debug, Clone)]
pub(crate) struct Asker {
    pub(crate) caller: Caller,
    pub(crate) sub_topic: Box<str>,
    /// A JSON object: what policies see as `request.headers`.
    pub(crate) headers: std::sync::Arc<str>,
}

/// Why it could not be found out.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AuthorizeError {
    /// A policy fails, or the role does not exist.
    #[error("a policy on realtime.messages fails: {0}")]
    Policy(DbError),
    #[error("{0}")]
    Canceled(DbError),
    #[error("there is no partition of realtime.messages for today")]
    MissingPartition,
    #[error("all connections are busy")]
    NoConnection,
    #[error("{0}")]
    DatabaseFull(DbError),
    #[error("{0}")]
    NotReady(DbError),
    #[error("{0}")]
    Unavailable(DbError),
}

impl From<DbError> for AuthorizeError {
    fn from(error: DbError) -> Self {
        match (error.sqlstate().map(|state| state.code()), &error) {
            (Some("57014"), _) => Self::Canceled(error),
            (Some("23514"), _) => Self::MissingPartition,
            (Some(_), _) => Self::Policy(error),
            (None, DbError::PoolTimeout) => Self::NoConnection,
            (None, DbError::Full(_)) => Self::DatabaseFull(error),
            (None, DbError::NotReady(_)) => Self::NotReady(error),
            (None, _) => Self::Unavailable(error),
        }
    }
}

impl Asker {
    /// What the asker may hear; of presence only if that is wanted.
    pub(crate) async fn hearing(
        &self,
        db: &ProjectDb,
        wants_presence: bool,
    ) -> Result<Hearing, AuthorizeError> {
        let extensions = match wants_presence {
            true => vec!["broadcast", "presence"],
            false => vec!["broadcast"],
        };
        let ids: Vec<Uuid> = extensions.iter().map(|_| Uuid::new_v4()).collect();
        let (topic, headers) = (&*self.sub_topic, &*self.headers);
        let [role, claims, sub] = assume::texts(&self.caller);
        let found = db
            .as_caller(&assume::nobody_yet())
            .run(
                &[
                    Step::typed(
                        "select realtime.add_probes($1, $2, $3)",
                        &[&topic, &ids, &extensions],
                    ),
                    Step::typed(SET_SCENE, &[&topic, &headers]),
                    Step::typed(assume::BECOME, &[&role, &claims, &sub]),
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
        Ok(Hearing {
            broadcast: has(Extension::Broadcast),
            presence: has(Extension::Presence),
        })
    }

    /// Whether the asker may say something.
    pub(crate) async fn may_write(
        &self,
        db: &ProjectDb,
        extension: Extension,
    ) -> Result<bool, AuthorizeError> {
        let (topic, headers) = (&*self.sub_topic, &*self.headers);
        let name = extension.name();
        let [role, claims, sub] = assume::texts(&self.caller);
        let written = db
            .as_caller(&assume::nobody_yet())
            .run(
                &[
                    Step::typed(SET_SCENE, &[&topic, &headers]),
                    Step::typed(assume::BECOME, &[&role, &claims, &sub]),
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
