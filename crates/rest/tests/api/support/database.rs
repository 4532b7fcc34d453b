//! Databases with the fixtures in them: one that is only read, and copies of it.

use std::sync::atomic::{AtomicU32, Ordering};

use plinth_db::Target;
use plinth_testkit::{TestDatabase, TestServer};
use tokio::sync::OnceCell;
use tokio_postgres::{Client, Row};

const LOGIN: &str = "rest_login";
const SCRIPTS: [&str; 5] = [
    include_str!("../fixtures/chat.sql"),
    include_str!("../fixtures/library.sql"),
    include_str!("../fixtures/library_functions.sql"),
    include_str!("../fixtures/library_media.sql"),
    include_str!("../fixtures/notes.sql"),
];

/// The names of the template and of the database that all readers share.
static PREPARED: OnceCell<(String, String)> = OnceCell::const_new();
static COPIES: AtomicU32 = AtomicU32::new(0);

/// A database with the fixtures.
pub(crate) struct Database {
    target: Target,
}

impl Database {
    /// The one that nobody may change.
    pub(crate) async fn shared() -> Self {
        let (_, shared) = PREPARED.get_or_init(prepare).await;
        Self::named(shared).await
    }

    /// One of the test's own.
    pub(crate) async fn fresh() -> Self {
        let (template, _) = PREPARED.get_or_init(prepare).await;
        Self::named(&copy(template).await).await
    }

    async fn named(name: &str) -> Self {
        let target = TestServer::shared().await.admin().database(name);
        Self { target }
    }

    pub(crate) fn name(&self) -> &str {
        self.target.database_name()
    }

    /// As the service connects.
    pub(crate) fn login(&self) -> Target {
        self.target.login(LOGIN, LOGIN)
    }

    /// A connection of the superuser.
    pub(crate) async fn admin(&self) -> Client {
        self.target.connect().await.expect("the server answers")
    }

    /// Runs statements as the superuser; `DATABASE` stands for the name.
    pub(crate) async fn execute(&self, sql: &str) {
        let sql = sql.replace("DATABASE", self.name());
        let done = self.admin().await.batch_execute(&sql).await;
        done.unwrap_or_else(|error| panic!("{error:?}: {sql}"));
    }

    /// Lets nobody in any more, or again; who is in stays.
    pub(crate) async fn admit(&self, allows: bool) {
        let outside = TestServer::shared().await.admin();
        let admin = outside.connect().await.expect("the server answers");
        let sql = format!("alter database {} allow_connections {allows}", self.name());
        admin.batch_execute(&sql).await.expect("altered");
    }

    /// Ends the service's connections, from outside.
    pub(crate) async fn throw_out(&self) {
        let outside = TestServer::shared().await.admin();
        let admin = outside.connect().await.expect("the server answers");
        let sql = "select pg_terminate_backend(pid) from pg_stat_activity \
                   where datname = $1 and usename = $2";
        let ended = admin.query(sql, &[&self.name(), &LOGIN]).await;
        ended.expect("ended");
    }

    pub(crate) async fn query_one(&self, sql: &str) -> Row {
        let row = self.admin().await.query_one(sql, &[]).await;
        row.unwrap_or_else(|error| panic!("{error:?}: {sql}"))
    }

    /// One number.
    pub(crate) async fn count(&self, sql: &str) -> i64 {
        self.query_one(sql).await.get(0)
    }
}

async fn prepare() -> (String, String) {
    let template = TestDatabase::create().await;
    let admin = template.admin().await;
    let login = format!(
        "create role {LOGIN} login noinherit password '{LOGIN}'; grant authenticator to {LOGIN}"
    );
    for script in [login.as_str()].iter().chain(&SCRIPTS) {
        let done = admin.batch_execute(script).await;
        done.unwrap_or_else(|error| panic!("{error:?}"));
    }
    drop(admin);
    let template = template.name().to_owned();
    let shared = copy(&template).await;
    (template, shared)
}

async fn copy(template: &str) -> String {
    let name = format!("copy_{}", COPIES.fetch_add(1, Ordering::Relaxed));
    let target = TestServer::shared().await.admin();
    let admin = target.connect().await.expect("the server answers");
    let sql = format!("create database {name} template {template}");
    // The connection that filled the template may take a moment to be gone.
    for _ in 0..100 {
        match admin.batch_execute(&sql).await {
            Ok(()) => return name,
            Err(_) => tokio::time::sleep(std::time::Duration::from_millis(20)).await,
        }
    }
    panic!("{template} cannot be copied");
}
