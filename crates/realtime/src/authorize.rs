//! Who may do what on a private channel: the policies on `realtime.messages` decide (§10).
//!
//! Reading is asked by putting probes there, looking for them as the asker, and taking everything
//! back. Writing is asked by writing, and taking that back. Both start from the role that may become
//! a caller's and nothing else, so a role that a token should not name is refused by PostgreSQL.

use plinth_db::{DbError, End, Row, Step};
use plinth_project::{Caller, ProjectDb};
use uuid::Uuid;

use crate::rooms::Hearing;

/// The role that requests start from.
const START: &str = "authenticator";

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
    Unavailable(DbError),
}

impl From<DbError> for AuthorizeError {
    fn from(error: DbError) -> Self {
        match error.sqlstate().map(|state| state.code()) {
            Some("57014") => Self::Canceled(error),
            Some("23514") => Self::MissingPartition,
            Some(_) => Self::Policy(error),
            None if matches!(error, DbError::PoolTimeout) => Self::NoConnection,
            None => Self::Unavailable(error),
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
        let topic = &*self.sub_topic;
        let settings = self.settings();
        let start = Caller::of_service(START);
        let found = db
            .as_caller(&start)
            .run(
                &[
                    Step::typed(
                        "select realtime.add_probes($1, $2, $3)",
                        &[&topic, &ids, &extensions],
                    ),
                    Step::typed(
                        BECOME,
                        &[
                            &settings[0],
                            &settings[1],
                            &settings[2],
                            &settings[3],
                            &settings[4],
                            &settings[5],
                        ],
                    ),
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
        let (topic, name) = (&*self.sub_topic, extension.name());
        let settings = self.settings();
        let start = Caller::of_service(START);
        let written = db
            .as_caller(&start)
            .run(
                &[
                    Step::typed(
                        BECOME,
                        &[
                            &settings[0],
                            &settings[1],
                            &settings[2],
                            &settings[3],
                            &settings[4],
                            &settings[5],
                        ],
                    ),
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

    /// What [`BECOME`] takes.
    fn settings(&self) -> [&str; 6] {
        [
            self.caller.role(),
            &self.sub_topic,
            self.caller.claims(),
            self.caller.sub().unwrap_or_default(),
            self.caller.role(),
            &self.headers,
        ]
    }
}

/// From the role that requests start from to the asker's own.
const BECOME: &str = "select set_config('role', $1, true),
    set_config('realtime.topic', $2, true),
    set_config('request.jwt.claims', $3, true),
    set_config('request.jwt.claim.sub', $4, true),
    set_config('request.jwt.claim.role', $5, true),
    set_config('request.headers', $6, true)";

fn is_denied(error: &DbError) -> bool {
    error
        .sqlstate()
        .is_some_and(|state| state.code() == "42501")
}
