//! The PostgreSQL that the server works on: a private one that it manages, or a given one.

use std::{
    path::PathBuf,
    sync::{Arc, OnceLock},
    time::Duration,
};

use plinth_db::Target;
use plinth_log::{LogStore, Record, Source};
use plinth_platform::{DefaultDatabase, References};
use plinth_postgres::{InstanceLock, LogEntry, Options, Server, binaries::Search};
use plinth_project::ProjectRef;

use super::{entrance::Entrance, runtime_dirs};
use crate::{
    failure::{Failure, Kind, Outcome},
    folder::Folder,
};

/// PostgreSQL writes everything down within this time, or recovers at the next start.
const STOP_TIMEOUT: Duration = Duration::from_secs(20);

/// The database's name that every tool assumes.
const DEFAULT_DATABASE: &str = "postgres";

pub(super) enum Database {
    Managed(Server),
    /// The lock keeps a second server out of the state folder.
    External {
        target: Target,
        shown_url: String,
        _lock: InstanceLock,
    },
}

impl Database {
    pub(super) async fn start(
        entrance: &Entrance,
        logs: &LogStore,
        references: &Arc<OnceLock<References>>,
    ) -> Outcome<Self> {
        match &entrance.database_url {
            Some(url) => Self::external(&entrance.folder, url).await,
            None => Self::managed(entrance, logs, references).await,
        }
    }

    async fn managed(
        entrance: &Entrance,
        logs: &LogStore,
        references: &Arc<OnceLock<References>>,
    ) -> Outcome<Self> {
        let settings = &entrance.settings;
        let mut options = Options::new(entrance.folder.state());
        options.binaries = Search {
            bin_dir: settings
                .opt_path("plinth.database.bin_dir")
                .map(PathBuf::from),
            runtime_dirs: runtime_dirs(),
        };
        options.settings = settings.table("plinth.database.settings").clone();
        let (logs, references) = (logs.clone(), references.clone());
        let on_log = move |entry| logs.write(record(entry, references.get()));
        let server = Server::start(options, on_log).await?;
        Ok(Self::Managed(server))
    }

    async fn external(folder: &Folder, url: &str) -> Outcome<Self> {
        let lock = InstanceLock::acquire(folder.state())?;
        let target = Target::from_url(url)?;
        target.connect().await.map_err(|error| {
            Failure::new(
                Kind::Failure,
                format!("--database-url cannot be used: {error}"),
            )
            .next_step("Check host, port, user and password; psql with the same URL must work.")
        })?;
        Ok(Self::External {
            target,
            shown_url: without_password(url),
            _lock: lock,
        })
    }

    /// The administrating role on a database that always exists.
    pub(super) fn maintenance(&self) -> Target {
        match self {
            Self::Managed(server) => {
                let at = server.connection();
                // The default project's own database may be dropped and made anew.
                Target::unix(
                    &at.socket_dir,
                    at.port,
                    &at.superuser,
                    &at.password,
                    "template1",
                )
            }
            Self::External { target, .. } => target.clone(),
        }
    }

    pub(super) fn default_database(&self) -> DefaultDatabase {
        match self {
            Self::Managed(_) => DefaultDatabase::Made(DEFAULT_DATABASE.to_owned()),
            Self::External { target, .. } => {
                DefaultDatabase::Given(target.database_name().to_owned())
            }
        }
    }

    pub(super) fn external_url(&self) -> Option<String> {
        match self {
            Self::Managed(_) => None,
            Self::External { shown_url, .. } => Some(shown_url.clone()),
        }
    }

    pub(super) fn server(&self) -> Option<&Server> {
        match self {
            Self::Managed(server) => Some(server),
            Self::External { .. } => None,
        }
    }

    pub(super) async fn stop(self) {
        if let Self::Managed(server) = self {
            server.stop(STOP_TIMEOUT).await;
        }
    }
}

/// A server's log entry as a record of the project whose database it concerns; what concerns
/// none belongs to project zero.
fn record(entry: LogEntry, references: Option<&References>) -> Record {
    use plinth_postgres::Level as From;
    let level = match entry.level {
        From::Debug => plinth_log::Level::Debug,
        From::Info | From::Notice | From::Log => plinth_log::Level::Info,
        From::Warning => plinth_log::Level::Warn,
        From::Error | From::Fatal | From::Panic => plinth_log::Level::Error,
    };
    let fields = [
        ("detail", entry.detail),
        ("hint", entry.hint),
        ("context", entry.context),
        ("statement", entry.statement),
        ("sqlstate", entry.sqlstate),
        ("user", entry.user),
        ("database", entry.database.clone()),
    ];
    let at = time::OffsetDateTime::from(entry.time);
    let mut record = Record::new(Source::Postgres, level, entry.message).at(at);
    if let Some(project) = project_of(entry.database.as_deref(), references) {
        record = record.project(project);
    }
    for (name, value) in fields {
        if let Some(value) = value {
            record = record.field(name, value);
        }
    }
    record
}

fn project_of(database: Option<&str>, references: Option<&References>) -> Option<String> {
    let references = references?;
    let reference = match database {
        Some(DEFAULT_DATABASE) => references.default.to_string(),
        Some(name) => name
            .parse::<ProjectRef>()
            .unwrap_or(references.platform.clone())
            .to_string(),
        None => references.platform.to_string(),
    };
    Some(reference)
}

fn without_password(url: &str) -> String {
    match url::Url::parse(url) {
        Ok(mut url) => {
            _ = url.set_password(None);
            url.to_string()
        }
        Err(_) => String::new(),
    }
}
