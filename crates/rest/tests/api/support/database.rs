//! Databases with the fixtures: a shared one, which is only read, and copies.

use plinth_db::Target;
use plinth_testkit::{Sql, TestDatabase, TestServer};
use tokio::sync::OnceCell;

const LOGIN: &str = "rest_login";
const SCRIPTS: [&str; 5] = [
    include_str!("../fixtures/chat.sql"),
    include_str!("../fixtures/library.sql"),
    include_str!("../fixtures/library_functions.sql"),
    include_str!("../fixtures/library_media.sql"),
    include_str!("../fixtures/notes.sql"),
];

/// The names of the template and of the shared database.
static PREPARED: OnceCell<(String, String)> = OnceCell::const_new();

/// A database with the fixtures.
pub(crate) struct Database(TestDatabase);

impl Database {
    /// The shared one, for tests that only read.
    pub(crate) async fn shared() -> Self {
        let (_, shared) = PREPARED.get_or_init(prepare).await;
        Self(TestDatabase::named(shared).await)
    }

    /// A copy for one test.
    pub(crate) async fn fresh() -> Self {
        let (template, _) = PREPARED.get_or_init(prepare).await;
        Self(TestDatabase::copy_of(template).await)
    }

    /// With the login role of the service.
    pub(crate) fn login(&self) -> Target {
        self.0.target().login(LOGIN, LOGIN)
    }

    /// Whether new connections are accepted. Open ones stay.
    pub(crate) async fn allow_connections(&self, allows: bool) {
        let change = format!("allow_connections {allows}");
        self.0.alter(&change).await;
    }

    /// Terminates the service's connections.
    pub(crate) async fn terminate_connections(&self) {
        let admin = TestServer::shared().await.connect().await;
        let sql = "select pg_terminate_backend(pid) from pg_stat_activity \
                   where datname = $1 and usename = $2";
        let ended = admin.query(sql, &[&self.0.name(), &LOGIN]).await;
        ended.expect("ended");
    }
}

impl Sql for Database {
    fn db(&self) -> &TestDatabase {
        &self.0
    }
}

async fn prepare() -> (String, String) {
    let template = TestDatabase::create().await;
    let login = format!(
        "create role {LOGIN} login noinherit password '{LOGIN}'; grant authenticator to {LOGIN}"
    );
    for script in [login.as_str()].iter().chain(&SCRIPTS) {
        template.execute(script).await;
    }
    let shared = TestDatabase::copy_of(template.name()).await;
    (template.name().to_owned(), shared.name().to_owned())
}
