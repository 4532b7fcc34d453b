//! The data of a folder without a server: for commands that must also work when none runs.

use std::sync::{Arc, OnceLock};

use plinth_log::{LogStore, WriterThread};
use plinth_platform::{Endpoints, Platform};
use plinth_storage::StorageService;

use super::{Form, database::Database, entrance::Entrance, running};
use crate::{
    cli::{Global, StartArgs, not_running},
    failure::Outcome,
};

/// An open folder. PostgreSQL runs meanwhile, and nobody else can start a server here; no port is
/// open.
pub(crate) struct Offline {
    pub(crate) platform: Platform,
    pub(crate) storage: StorageService,
    database: Database,
    logs: LogStore,
    log_writer: WriterThread,
}

impl Offline {
    /// Opens the folder that the global options name; fails with 3 when there is no data in it.
    pub(crate) async fn open(global: &Global, database_url: Option<String>) -> Outcome<Self> {
        let args = StartArgs {
            database_url,
            ..StartArgs::default()
        };
        // The form in which nothing is made easy: no well-known password.
        let entrance = Entrance::prepare(global, &args, Form::Production)?;
        if entrance.database_url.is_none() && !entrance.folder.has_database() {
            return Err(not_running(&entrance.folder));
        }
        let (logs, log_writer) = running::open_logs(&entrance.folder, &entrance.settings, None)?;
        let database = Database::start(&entrance, &logs, &Arc::new(OnceLock::new())).await?;
        let opened = open(&entrance, &database, &logs).await;
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

    /// Leaves everything as it was found.
    pub(crate) async fn close(self) -> Outcome {
        self.storage.finish().await;
        self.platform.finish().await;
        close(self.database, self.logs, self.log_writer).await
    }
}

async fn open(
    entrance: &Entrance,
    database: &Database,
    logs: &LogStore,
) -> Outcome<(Platform, StorageService)> {
    let platform = running::bootstrap(entrance, database, logs).await?;
    let registry = running::registry(
        &platform,
        database,
        &entrance.settings,
        logs,
        &entrance.loader,
    );
    let nowhere = Endpoints {
        api_url: String::new(),
        database: None,
        domain: None,
        external_database: None,
    };
    platform.attach(registry, nowhere);
    let storage = running::storage(entrance, &platform, database).await?;
    platform.attach_files(Arc::new(storage.clone()));
    Ok((platform, storage))
}

async fn close(database: Database, logs: LogStore, log_writer: WriterThread) -> Outcome {
    database.stop().await;
    logs.close().await;
    tokio::task::spawn_blocking(move || log_writer.join()).await?;
    Ok(())
}
