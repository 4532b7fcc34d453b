//! A source database, its copy, and their comparison.
#![allow(dead_code, unreachable_pub)]

use std::{path::PathBuf, process::Command, sync::Mutex};

use plinth_db::Target;
use plinth_dump::{Dump, DumpError, Progress, Restoration, Snapshot, restore, settings_sql};
use plinth_testkit::{TestDatabase, TestServer};
use tokio_postgres::Client;

pub const RICH: &str = include_str!("../rich.sql");
pub const RICH_18: &str = include_str!("../rich_18.sql");

/// A database that a test fills.
pub struct Source {
    pub database: TestDatabase,
    pub admin: Client,
    pub version: i32,
}

impl Source {
    pub async fn new() -> Self {
        let database = TestDatabase::create().await;
        let admin = database.admin().await;
        let sql = "select current_setting('server_version_num')::int4";
        let version = admin.query_one(sql, &[]).await.expect("a version").get(0);
        Self {
            database,
            admin,
            version,
        }
    }

    /// One with every kind of object that this server supports.
    pub async fn rich() -> Self {
        let source = Self::new().await;
        source.run(RICH).await;
        if source.version >= 180_000 {
            source.run(RICH_18).await;
        }
        source
    }

    #[track_caller]
    pub fn run(&self, sql: &str) -> impl Future<Output = ()> {
        let running = self.admin.batch_execute(sql);
        async move {
            if let Err(error) = running.await {
                panic!("{error:?}");
            }
        }
    }

    pub async fn snapshot(&self) -> (Snapshot, Dump) {
        let snapshot = Snapshot::open(self.database.target())
            .await
            .expect("a snapshot");
        let dump = snapshot.read().await.expect("a dump");
        (snapshot, dump)
    }

    /// A copy by dump and restore.
    pub async fn copy(&self) -> Result<Copy, DumpError> {
        let snapshot = Snapshot::open(self.database.target()).await?;
        let dump = snapshot.read().await?;
        Copy::make(&snapshot, &dump).await
    }
}

/// The restored database.
pub struct Copy {
    pub name: String,
    pub target: Target,
    pub messages: Vec<String>,
}

impl Copy {
    pub async fn make(snapshot: &Snapshot, dump: &Dump) -> Result<Self, DumpError> {
        let server = TestServer::shared().await;
        let maintenance = server.admin().connect().await.expect("the server");
        let name = format!("copy_{}", uuid::Uuid::new_v4().simple());
        let loader = format!("loader_{}", uuid::Uuid::new_v4().simple());
        let target = server.admin().database(&name);
        let sql = [
            dump.database.create_sql(&name),
            dump.database.owner_sql(&name),
            format!(
                "create role {loader} login password 'secret';
                 grant pg_write_all_data, pg_read_all_data to {loader};
                 {}",
                dump.database.grants_sql(&name, |_| false)
            ),
        ];
        for sql in sql {
            maintenance.batch_execute(&sql).await.expect("a database");
        }
        let messages = Mutex::new(Vec::new());
        let progress = |progress: Progress<'_>| {
            let line = format!("{}/{} {}", progress.done, progress.total, progress.message);
            messages.lock().expect("unpoisoned").push(line);
        };
        let restoration = Restoration {
            admin: &target,
            loader: &target.login(&loader, "secret"),
            progress: &progress,
        };
        let restored = restore(snapshot, dump, restoration).await;
        maintenance
            .batch_execute(&format!(
                "{} drop role {loader};",
                settings_sql(&dump.settings, &name, |_| false)
            ))
            .await
            .expect("settings, and no trace of the loader");
        restored?;
        Ok(Self {
            name,
            target,
            messages: messages.into_inner().expect("unpoisoned"),
        })
    }

    pub async fn admin(&self) -> Client {
        self.target
            .connect()
            .await
            .expect("the copy accepts connections")
    }
}

/// The output of `pg_dump`, or why it is not available.
pub async fn pg_dump(database: &str, version: i32) -> Result<String, String> {
    let program = find_pg_dump(version)?;
    let connection = TestServer::shared().await.connection();
    let output = Command::new(program)
        .arg("--host")
        .arg(&connection.socket_dir)
        .arg("--port")
        .arg(connection.port.to_string())
        .args([
            "--username",
            &connection.superuser,
            "--blobs",
            "--dbname",
            database,
        ])
        .env("PGPASSWORD", &connection.password)
        .output()
        .map_err(|error| error.to_string())?;
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    // Newer versions enclose their output in a random token.
    let is_kept =
        |line: &&str| !line.starts_with("\\restrict") && !line.starts_with("\\unrestrict");
    Ok(text.lines().filter(is_kept).collect::<Vec<_>>().join("\n"))
}

pub fn find_pg_dump(version: i32) -> Result<PathBuf, String> {
    let given = std::env::var_os("PLINTH_TEST_BIN_DIR").map(PathBuf::from);
    let debian = (15..=30)
        .rev()
        .map(|major| PathBuf::from(format!("/usr/lib/postgresql/{major}/bin")));
    let candidates = given
        .into_iter()
        .chain(debian)
        .map(|folder| folder.join("pg_dump"));
    for program in candidates.filter(|program| program.exists()) {
        let output = Command::new(&program)
            .arg("--version")
            .output()
            .map_err(|error| error.to_string())?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let major: Option<i32> = text
            .split_whitespace()
            .find_map(|word| word.split('.').next()?.parse().ok());
        if major.is_some_and(|major| major >= version / 10_000) {
            return Ok(program);
        }
    }
    Err(format!(
        "no pg_dump as new as the server ({})",
        version / 10_000
    ))
}

/// Lines that differ, for a message that fits on a screen.
pub fn difference(left: &str, right: &str) -> String {
    let folder = std::env::temp_dir().join(format!("plinth-dump-diff-{}", uuid::Uuid::new_v4()));
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("source"), left).expect("a file");
    std::fs::write(folder.join("copy"), right).expect("a file");
    let output = Command::new("diff")
        .args(["-u", "source", "copy"])
        .current_dir(&folder)
        .output()
        .expect("diff runs");
    _ = std::fs::remove_dir_all(&folder);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let short = |line: &str| line.chars().take(200).chain(['\n']).collect::<String>();
    text.lines().take(60).map(short).collect()
}
