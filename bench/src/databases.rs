//! One PostgreSQL with several databases.

use std::{sync::Arc, time::Duration};

use anyhow::Context as _;
use plinth_db::Target;
use plinth_postgres::Server;
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio_postgres::Client;

use crate::{
    managed::{self, Login},
    statements::Statements,
    work_folder,
};

/// Room for the pools of all sides at once, and checkpoints that no round meets alone.
const SETTINGS: [(&str, &str); 2] = [("max_connections", "200"), ("max_wal_size", "8GB")];

/// A running server. Its processes and folder go with it.
pub(crate) struct Databases {
    server: Server,
    /// Drives the server's supervision, apart from what is measured.
    runtime: Runtime,
    statements: Arc<Statements>,
    _folder: TempDir,
}

impl Databases {
    pub(crate) fn start() -> anyhow::Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()?;
        let folder = work_folder::create()?;
        let statements = Arc::<Statements>::default();
        let deliveries = statements.clone();
        let on_log = move |entry| deliveries.record(entry);
        let server = runtime.block_on(managed::start_logging(folder.path(), &SETTINGS, on_log))?;
        Ok(Self {
            server,
            runtime,
            statements,
            _folder: folder,
        })
    }

    pub(crate) fn version(&self) -> String {
        self.server.version().to_string()
    }

    pub(crate) fn pid(&self) -> anyhow::Result<u32> {
        managed::pid(&self.server)
    }

    /// Statements recorded from the server's log.
    pub(crate) fn statements(&self) -> &Statements {
        &self.statements
    }

    /// A new, empty one.
    pub(crate) fn create(&self, name: &str) -> anyhow::Result<()> {
        let sql = format!("create database {name} template template0 encoding 'UTF8'");
        self.execute("template1", &sql)
    }

    /// As the superuser, whom all sides connect as.
    pub(crate) fn login(&self, database: &str) -> Login {
        let at = self.server.connection();
        Login {
            socket_dir: at.socket_dir.clone(),
            socket: at.socket(),
            port: at.port,
            user: at.superuser.clone(),
            password: at.password.clone(),
            database: database.to_owned(),
        }
    }

    pub(crate) fn url(&self, database: &str) -> String {
        self.login(database).url()
    }

    pub(crate) fn execute(&self, database: &str, sql: &str) -> anyhow::Result<()> {
        self.runtime.block_on(async {
            let done = self.connect(database).await?.batch_execute(sql).await;
            done.with_context(|| sql.lines().next().unwrap_or_default().to_owned())
        })
    }

    /// The one text that a query gives.
    pub(crate) fn text(&self, database: &str, sql: &str) -> anyhow::Result<String> {
        self.runtime.block_on(async {
            let row = self.connect(database).await?.query_one(sql, &[]).await;
            let row = row.with_context(|| sql.to_owned())?;
            Ok(row.try_get(0)?)
        })
    }

    async fn connect(&self, database: &str) -> anyhow::Result<Client> {
        Ok(Target::from_url(&self.url(database))?.connect().await?)
    }

    pub(crate) fn stop(self) {
        self.runtime
            .block_on(self.server.stop(Duration::from_secs(10)));
    }
}
