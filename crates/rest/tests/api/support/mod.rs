//! A database, the service over it, requests and whole answers.

mod call;
mod counted;
mod database;
mod listener;
mod reply;

use std::time::{Duration, Instant};

use axum::{Extension, Router};
use http::{Method, Request};
use plinth_db::PoolConfig;
use plinth_log::LogStore;
use plinth_project::{
    ApiKey, Credentials, Project, ProjectDb, ProjectKeys, ProjectKind, ProjectRef,
};
use plinth_rest::{PostgrestConfig, RestConfig, RestService, routes};
use plinth_settings::{Loader, SettingsHandle};
use plinth_token::{ApiKeyKind, KeySet, credential_hash};
use serde_json::{Value, json};

pub(crate) use call::Call;
pub(crate) use counted::Counted;
pub(crate) use database::Database;
pub(crate) use listener::Listener;
pub(crate) use reply::{JSON, Reply};

pub(crate) const SECRET: &str = "a secret that is long enough for HMAC";
pub(crate) const PUBLISHABLE_KEY: &str = "sb_publishable_of_this_project";

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
        Self::alone(Database::shared().await, &[("db-schemas", "public")]).await
    }

    /// The same on a database that may be changed.
    pub(crate) async fn own_chat() -> Self {
        Self::alone(Database::fresh().await, &[("db-schemas", "public")]).await
    }

    /// Exposes the library. Read only.
    pub(crate) async fn library() -> Self {
        Self::alone(Database::shared().await, &[("db-schemas", "library")]).await
    }

    /// The same on a database that may be changed.
    pub(crate) async fn own_library() -> Self {
        Self::alone(Database::fresh().await, &[("db-schemas", "library")]).await
    }

    /// As `plinth serve rest` has it, with settings by PostgREST's names.
    pub(crate) async fn alone(db: Database, settings: &[(&str, &str)]) -> Self {
        Self::pooled(db, settings, PoolConfig::default()).await
    }

    pub(crate) async fn pooled(db: Database, settings: &[(&str, &str)], pool: PoolConfig) -> Self {
        let service = RestService::alone(config(settings), ("127.0.0.1".to_owned(), 3000));
        Self::start(db, service, pool, Loader::new())
    }

    /// As the full server has it, behind a gateway that has read the credentials.
    pub(crate) async fn full(db: Database, settings: &[(&str, &str)]) -> Self {
        let loader = settings
            .iter()
            .fold(Loader::new(), |loader, (name, value)| {
                loader.command_line(*name, *value)
            });
        Self::start(db, RestService::new(), PoolConfig::default(), loader)
    }

    fn start(db: Database, service: RestService, pool: PoolConfig, settings: Loader) -> Self {
        let key = ApiKey::new(Default::default(), "default", ApiKeyKind::Publishable);
        let keys = ProjectKeys {
            api_keys: [(credential_hash(PUBLISHABLE_KEY), key.into())].into(),
            ..ProjectKeys::new(keyset())
        };
        let settings = settings.load().expect("good settings").settings;
        let (logs, _writer) = LogStore::open(std::env::temp_dir(), plinth_log::Config::default())
            .expect("a log store");
        let project = Project::new(
            ProjectRef::generate(),
            ProjectKind::Default,
            ProjectDb::alone(db.login(), pool),
            keys,
            SettingsHandle::new(settings),
            logs,
        );
        let gateway = project.clone();
        let router = routes(service.clone())
            .layer(axum::middleware::map_request(move |request| {
                let project = gateway.clone();
                async move { with_credentials(&project, request) }
            }))
            .layer(Extension(project.clone()));
        Self {
            router,
            service,
            project,
            db,
        }
    }

    pub(crate) fn router(&self) -> Router {
        self.router.clone()
    }

    pub(crate) fn call(&self, method: Method, path: &str) -> Call {
        Call::new(self.router.clone(), method, path)
    }

    pub(crate) fn get(&self, path: &str) -> Call {
        self.call(Method::GET, path)
    }

    pub(crate) fn head(&self, path: &str) -> Call {
        self.call(Method::HEAD, path)
    }

    pub(crate) fn options(&self, path: &str) -> Call {
        self.call(Method::OPTIONS, path)
    }

    pub(crate) fn post(&self, path: &str, body: Value) -> Call {
        self.call(Method::POST, path).json(&body)
    }

    pub(crate) fn patch(&self, path: &str, body: Value) -> Call {
        self.call(Method::PATCH, path).json(&body)
    }

    pub(crate) fn put(&self, path: &str, body: Value) -> Call {
        self.call(Method::PUT, path).json(&body)
    }

    pub(crate) fn delete(&self, path: &str) -> Call {
        self.call(Method::DELETE, path)
    }

    /// Lets the service look at the database, and waits for that.
    pub(crate) async fn reload(&self) {
        self.service.reload_schema(&self.project).await;
    }

    /// Waits until the service knows `text` of the database, without asking for it.
    pub(crate) async fn learns(&self, text: &str) {
        let is_known = async || {
            let known = self.service.schema_dump(&self.project);
            known.is_some_and(|known| known.contains(text))
        };
        until(is_known).await;
    }

    /// Other settings from here on.
    pub(crate) async fn reconfigure(&self, settings: &[(&str, &str)]) {
        let config = config(settings);
        self.service.reload_config(&self.project, config).await;
    }
}

/// What the gateway of the full server does.
fn with_credentials<B>(project: &Project, mut request: Request<B>) -> Request<B> {
    let credentials = Credentials::read(project, request.headers(), None, now());
    request.extensions_mut().insert(credentials);
    request
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

fn keyset() -> KeySet {
    KeySet::builder()
        .legacy_secret(SECRET)
        .build()
        .expect("a good secret")
}

/// A token with these claims.
pub(crate) fn sign(claims: &Value) -> String {
    keyset().sign(claims).expect("signed")
}

/// A token of a signed-in user.
pub(crate) fn user_token(id: &str) -> String {
    sign(&json!({ "role": "authenticated", "sub": id }))
}

/// Waits for something to become true.
pub(crate) async fn until(is_true: impl AsyncFn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !is_true().await {
        assert!(Instant::now() < deadline, "this never became true");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

pub(crate) fn now() -> i64 {
    time::OffsetDateTime::now_utc().unix_timestamp()
}
