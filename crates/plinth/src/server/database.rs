//! The PostgreSQL that the server uses: managed or external.

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
use plinth_settings::keys;

use super::{
    isolated::{IsolatedServers, OnLog},
    runtime_dirs,
    startup::Startup,
};
use crate::{
    failure::{Failure, Kind, Outcome},
    folder::Folder,
};

/// PostgreSQL is killed after this time, and recovers at the next start.
const STOP_TIMEOUT: Duration = Duration::from_secs(20);

/// The database's name that every tool assumes.
const DEFAULT_DATABASE: &str = "postgres";

pub(super) enum Database {
    /// With the servers of isolated projects.
    Managed(Server, IsolatedServers),
    /// The lock keeps a second server out of the state folder.
    External {
        target: Target,
        shown_url: String,
        _lock: InstanceLock,
    },
}

impl Database {
    pub(super) async fn start(
        startup: &Startup,
        logs: &LogStore,
        references: &Arc<OnceLock<References>>,
    ) -> Outcome<Self> {
        match &startup.database_url {
            Some(url) => Self::external(&startup.folder, url).await,
            None => Self::managed(startup, logs, references).await,
        }
    }

    async fn managed(
        startup: &Startup,
        logs: &LogStore,
        references: &Arc<OnceLock<References>>,
    ) -> Outcome<Self> {
        let settings = &startup.settings;
        let mut options = Options::new(startup.folder.state());
        options.binaries = Search {
            bin_dir: settings
                .get(keys::plinth::DATABASE_BIN_DIR)
                .map(PathBuf::from),
            runtime_dirs: runtime_dirs(),
        };
        options.settings = settings.get(keys::plinth::DATABASE_SETTINGS).clone();
        let (logs, references) = (logs.clone(), references.clone());
        let on_log: OnLog = Arc::new(move |isolated, entry| {
            logs.write(log_record(entry, isolated, references.get()));
        });
        let isolated = IsolatedServers::new(
            startup.folder.isolated(),
            options.binaries.clone(),
            settings.get(keys::plinth::ISOLATION_SETTINGS),
            settings.get(keys::plinth::ISOLATION_MAX_RUNNING),
            on_log.clone(),
        )?;
        let server = Server::start(options, move |entry| on_log(None, entry)).await?;
        Ok(Self::Managed(server, isolated))
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
            Self::Managed(server, _) => superuser(server),
            Self::External { target, .. } => target.clone(),
        }
    }

    pub(super) fn default_database(&self) -> DefaultDatabase {
        match self {
            Self::Managed(..) => DefaultDatabase::Managed(DEFAULT_DATABASE.to_owned()),
            Self::External { target, .. } => {
                DefaultDatabase::External(target.database_name().to_owned())
            }
        }
    }

    pub(super) fn external_url(&self) -> Option<String> {
        match self {
            Self::Managed(..) => None,
            Self::External { shown_url, .. } => Some(shown_url.clone()),
        }
    }

    pub(super) fn server(&self) -> Option<&Server> {
        match self {
            Self::Managed(server, _) => Some(server),
            Self::External { .. } => None,
        }
    }

    /// Who runs the servers of isolated projects.
    pub(super) fn isolated(&self) -> Option<&IsolatedServers> {
        match self {
            Self::Managed(_, isolated) => Some(isolated),
            Self::External { .. } => None,
        }
    }

    pub(super) async fn stop(self) {
        if let Self::Managed(server, isolated) = self {
            tokio::join!(server.stop(STOP_TIMEOUT), isolated.stop_all());
        }
    }
}

/// The superuser of a managed server, on a database that always exists and is no project's.
pub(super) fn superuser(server: &Server) -> Target {
    let at = server.connection();
    Target::unix(
        &at.socket_dir,
        at.port,
        &at.superuser,
        &at.password,
        "template1",
    )
}

/// A log entry of PostgreSQL as a record of the project with that database, else of project zero.
fn log_record(
    entry: LogEntry,
    isolated: Option<&ProjectRef>,
    references: Option<&References>,
) -> Record {
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
    if let Some(project) = project_of(entry.database.as_deref(), isolated, references) {
        record = record.project(project);
    }
    for (name, value) in fields {
        if let Some(value) = value {
            record = record.field(name, value);
        }
    }
    record
}

fn project_of(
    database: Option<&str>,
    isolated: Option<&ProjectRef>,
    references: Option<&References>,
) -> Option<String> {
    if let Some(server) = isolated {
        let branch = database.and_then(|name| name.parse::<ProjectRef>().ok());
        return Some(branch.as_ref().unwrap_or(server).to_string());
    }
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
