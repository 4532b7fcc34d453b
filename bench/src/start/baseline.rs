//! A PostgreSQL with Plinth's own configuration and system schemas, but without Plinth: what a
//! database from a template costs, and what the server alone holds in memory.

use std::time::{Duration, Instant};

use anyhow::Context as _;
use plinth_db::{Target, migrate};
use plinth_postgres::Server;
use plinth_project::prepare_cluster;
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::{managed, processes, work_folder};

const TEMPLATE: &str = "yardstick_template";

/// The folder and what was made in it.
pub(crate) struct Baseline<'a> {
    runtime: &'a Runtime,
    folder: TempDir,
    databases: u32,
}

/// The server at work. Dropped, it is asked to stop; [`RunningBaseline::stop`] waits.
pub(crate) struct RunningBaseline<'a, 'b> {
    baseline: &'b mut Baseline<'a>,
    server: Server,
    admin: Target,
}

impl<'a> Baseline<'a> {
    pub(crate) fn new(runtime: &'a Runtime) -> anyhow::Result<Self> {
        Ok(Self {
            runtime,
            folder: work_folder::create()?,
            databases: 0,
        })
    }

    /// Starts the server, and makes the template where there is none yet.
    pub(crate) fn start(&mut self) -> anyhow::Result<RunningBaseline<'a, '_>> {
        let server = self.runtime.block_on(managed::start(self.folder.path()))?;
        let admin = managed::admin(server.connection());
        if self.databases == 0 {
            self.runtime
                .block_on(make_template(&admin))
                .context("the template cannot be made")?;
        }
        Ok(RunningBaseline {
            baseline: self,
            server,
            admin,
        })
    }
}

impl RunningBaseline<'_, '_> {
    /// One `CREATE DATABASE … TEMPLATE`, connecting included, as a command line tool must.
    pub(crate) fn create_database(&mut self) -> anyhow::Result<Duration> {
        self.baseline.databases += 1;
        let name = format!("yardstick_{}", self.baseline.databases);
        self.baseline.runtime.block_on(async {
            let begun = Instant::now();
            let client = self.admin.connect().await?;
            client
                .batch_execute(&format!("create database {name} template {TEMPLATE}"))
                .await?;
            anyhow::Ok(begun.elapsed())
        })
    }

    /// One connection that comes, asks and goes.
    pub(crate) fn use_one(&self) -> anyhow::Result<()> {
        self.baseline.runtime.block_on(async {
            let client = self.admin.database("yardstick_1").connect().await?;
            client.query("select count(*) from pg_class", &[]).await?;
            Ok(())
        })
    }

    /// The memory of all its processes, in MiB.
    pub(crate) fn pss(&self) -> anyhow::Result<f64> {
        processes::pss_of_tree(managed::pid(&self.server)?)
    }

    pub(crate) fn stop(self) {
        self.baseline
            .runtime
            .block_on(self.server.stop(Duration::from_secs(20)));
    }
}

/// What every new project starts from.
async fn make_template(maintenance: &Target) -> anyhow::Result<()> {
    let mut admin = maintenance.connect().await?;
    prepare_cluster(&mut admin, true).await?;
    let create = format!("create database {TEMPLATE} template template0 encoding 'UTF8'");
    admin.batch_execute(&create).await?;
    admin
        .batch_execute(&format!("grant create on database {TEMPLATE} to postgres"))
        .await?;
    let mut inside = maintenance.database(TEMPLATE).connect().await?;
    migrate::migrate(&mut inside, &plinth_testkit::system_schemas()).await?;
    Ok(())
}
