//! Access to a folder's data without a running server, for commands that must work then too.

use std::sync::{Arc, OnceLock};

use plinth_log::{LogStore, WriterThread};
use plinth_platform::{Endpoints, Platform};
use plinth_storage::StorageService;

use super::{ServerMode, database::Database, run, startup::Startup};
use crate::{
    cli::{Global, StartArgs, not_running},
    failure::Outcome,
};

/// An open folder. PostgreSQL runs meanwhile, and the lock prevents another server; no port is open.
pub(crate) struct Offline {
    pub(crate) platform: Platform,
    pub(crate) storage: StorageService,
    database: Database,
    logs: LogStore,
    log_writer: WriterThread,
}

impl Offline {
    /// Opens the folder of the global options; exit code 3 if there is no data in it.
    pub(crate) async fn open(global: &Global, database_url: Option<String>) -> Outcome<Self> {
        let args = StartArgs {
            database_url,
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
            Ok((platform, storage)) => Ok(Self {
                platform,
                storage,
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
) -> Outcome<(Platform, StorageService)> {
    let platform = run::bootstrap(startup, database, logs).await?;
    let registry = run::registry(&platform, &startup.settings, logs, &startup.loader);
    let no_endpoints = Endpoints {
        api_url: String::new(),
        database: None,
        domain: None,
        external_database: None,
    };
    platform.attach(registry, no_endpoints);
    let storage = run::storage(startup, &platform, database).await?;
    platform.attach_file_store(Arc::new(storage.clone()));
    Ok((platform, storage))
}

async fn close(database: Database, logs: LogStore, log_writer: WriterThread) -> Outcome {
    database.stop().await;
    logs.close().await;
    tokio::task::spawn_blocking(move || log_writer.join()).await?;
    Ok(())
}
