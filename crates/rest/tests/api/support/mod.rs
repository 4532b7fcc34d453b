//! A database, the service over it, requests and responses.

mod call;
mod database;
mod reply;

use axum::Router;
use plinth_db::PoolConfig;
use plinth_project::{Project, ProjectDb};
use plinth_rest::{PostgrestConfig, RestConfig, RestService, routes};
use plinth_settings::Settings;
use plinth_testkit::{ProjectBuilder, behind_gateway, load_settings};

pub(crate) use call::RestCall;
pub(crate) use database::Database;
pub(crate) use plinth_testkit::{
    Call, Listener, PUBLISHABLE_KEY, RecordedMetrics, Reply, Requests, SECRET, Sql, now, sign,
    until,
};
pub(crate) use reply::{JSON, RestReply};

/// The service over one database.
pub(crate) struct TestApi {
    router: Router,
    service: RestService,
    project: Project,
    pub(crate) db: Database,
}

impl TestApi {
    /// Exposes the chat, with PostgREST's own settings. Read only.
    pub(crate) async fn chat() -> Self {
        Self::standalone(Database::shared().await, &[("db-schemas", "public")]).await
    }

    /// The same on a database that may be changed.
    pub(crate) async fn own_chat() -> Self {
        Self::standalone(Database::fresh().await, &[("db-schemas", "public")]).await
    }

    /// Exposes the library. Read only.
    pub(crate) async fn library() -> Self {
        Self::standalone(Database::shared().await, &[("db-schemas", "library")]).await
    }

    /// The same on a database that may be changed.
    pub(crate) async fn own_library() -> Self {
        Self::standalone(Database::fresh().await, &[("db-schemas", "library")]).await
    }

    /// As in `plinth serve rest`, with settings by PostgREST's names.
    pub(crate) async fn standalone(db: Database, settings: &[(&str, &str)]) -> Self {
        Self::pooled(db, settings, PoolConfig::default()).await
    }

    pub(crate) async fn pooled(db: Database, settings: &[(&str, &str)], pool: PoolConfig) -> Self {
        let service = RestService::standalone(config(settings), ("127.0.0.1".to_owned(), 3000));
        Self::start(db, service, pool, load_settings(&[]))
    }

    /// As in the full server, behind a gateway that has read the credentials.
    pub(crate) async fn full(db: Database, settings: &[(&str, &str)]) -> Self {
        let settings = load_settings(settings);
        Self::start(db, RestService::new(), PoolConfig::default(), settings)
    }

    fn start(db: Database, service: RestService, pool: PoolConfig, settings: Settings) -> Self {
        let project = ProjectBuilder::new(ProjectDb::standalone(db.login(), pool))
            .settings(settings)
            .build();
        Self {
            router: behind_gateway(routes(service.clone()), &project, now),
            service,
            project,
            db,
        }
    }

    /// Reloads the schema cache, and waits for it.
    pub(crate) async fn reload(&self) {
        self.service.reload_schema(&self.project).await;
    }

    /// Waits until the schema cache contains `text`, without causing a reload.
    pub(crate) async fn wait_for_schema(&self, text: &str) {
        let is_known = async || {
            let known = self.service.schema_dump(&self.project);
            known.is_some_and(|known| known.contains(text))
        };
        until(is_known).await;
    }

    /// Replaces the settings.
    pub(crate) async fn reconfigure(&self, settings: &[(&str, &str)]) {
        let config = config(settings);
        self.service.reload_config(&self.project, config).await;
    }
}

impl Requests for TestApi {
    fn router(&self) -> Router {
        self.router.clone()
    }
}

fn config(settings: &[(&str, &str)]) -> RestConfig {
    let usual = [("db-anon-role", "anon"), ("jwt-secret", SECRET)];
    let is_given = |name: &str| settings.iter().any(|(given, _)| *given == name);
    let pairs = usual
        .iter()
        .filter(|(name, _)| !is_given(name))
        .chain(settings);
    let pairs = pairs.map(|(name, value)| {
        let name = format!("PGRST_{}", name.replace(['-', '.'], "_").to_uppercase());
        (name, (*value).to_owned())
    });
    PostgrestConfig::load(None, pairs.collect::<Vec<_>>())
        .expect("good settings")
        .rest
}
