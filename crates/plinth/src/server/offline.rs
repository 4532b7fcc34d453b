//! Access to a folder's data without a running server, for commands that must work then too.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use plinth_log::{LogStore, WriterThread};
use plinth_platform::{Endpoints, Platform};
use plinth_project::{Project, Registry};
use plinth_settings::keys;
use plinth_storage::StorageService;

use super::{ServerMode, database::Database, run, startup::Startup};
use crate::{
    cli::{Assignment, Global, StartArgs, not_running},
    failure::Outcome,
};

/// An open folder. PostgreSQL runs meanwhile, and the lock prevents another server; no port is open.
pub(crate) struct Offline {
    pub(crate) platform: Platform,
    pub(crate) storage: StorageService,
    registry: Registry,
    database: Database,
    logs: LogStore,
    log_writer: WriterThread,
}

impl Offline {
    /// Opens the folder of the global options; exit code 3 if there is no data in it. One server of an
    /// isolated project runs at a time.
    pub(crate) async fn open(global: &Global, database_url: Option<String>) -> Outcome<Self> {
        let args = StartArgs {
            database_url,
            set: vec![Assignment {
                name: keys::plinth::ISOLATION_MAX_RUNNING.path().to_owned(),
                value: "1".to_owned(),
            }],
            ..StartArgs::default()
        };
        // Production, so that the fixed password is not set.
        let startup = Startup::prepare(global, &args, ServerMode::Production)?;
        if startup.database_url.is_none() && !startup.folder.has_database() {
            return Err(not_running(&startup.folder));
        }
        let (logs, log_writer) = run::open_logs(&startup.folder, &startup.settings, None)?;
        let database = Database::start(&startup, &logs, &Arc::new(OnceLock::new())).await?;
        let opened = open(&startup, &database, &logs).await;
        match opened {
            Ok((platform, storage, registry)) => Ok(Self {
                platform,
                storage,
                registry,
                database,
                logs,
                log_writer,
            }),
            Err(failure) => {
                close(database, logs, log_writer).await?;
                Err(failure)
            }
        }
    }

    /// Closes a project, and stops its server if that is its own.
    pub(crate) async fn close_project(&self, project: Project) {
        self.registry.close(project.reference());
        drop(project);
        if let Some(isolated) = self.database.isolated() {
            isolated.stop_idle(Duration::ZERO).await;
        }
    }

    /// Stops everything that `open` started.
    pub(crate) async fn close(self) -> Outcome {
        self.storage.drain().await;
        self.platform.drain().await;
        close(self.database, self.logs, self.log_writer).await
    }
}

async fn open(
    startup: &Startup,
    database: &Database,
    logs: &LogStore,
) -> Outcome<(Platform, StorageService, Registry)> {
    let platform = run::bootstrap(startup, database, logs).await?;
    let registry = run::registry(&platform, &startup.settings, logs, &startup.loader);
    let no_endpoints = Endpoints {
        api_url: String::new(),
        database: None,
        domain: None,
        external_database: None,
    };
    platform.attach(registry.clone(), no_endpoints);
    let storage = run::storage(startup, &platform, database).await?;
    platform.attach_file_store(Arc::new(storage.clone()));
    Ok((platform, storage, registry))
}

async fn close(database: Database, logs: LogStore, log_writer: WriterThread) -> Outcome {
    database.stop().await;
    logs.close().await;
    tokio::task::spawn_blocking(move || log_writer.join()).await?;
    Ok(())
}
