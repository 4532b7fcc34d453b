//! A database, the service over it on a port of its own, and sockets.

mod nats;
mod numbers;
mod requests;
mod socket;
mod tables;

use std::{net::SocketAddr, sync::Arc};

use axum::Extension;
use plinth_db::PoolConfig;
use plinth_log::LogStore;
use plinth_project::{
    ApiKey, Cluster, Logins, Project, ProjectDb, ProjectKeys, ProjectKind, ProjectRef, logins,
    prepare_cluster,
};
use plinth_realtime::{RealtimeService, routes};
use plinth_settings::{Loader, Settings, SettingsHandle};
use plinth_testkit::{TestDatabase, TestServer};
use plinth_token::{ApiKeyKind, KeySet, credential_hash};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{net::TcpListener, sync::OnceCell};
use tokio_postgres::Client;

pub(crate) use nats::NatsServer;
pub(crate) use requests::Answer;
pub(crate) use socket::{Closed, Refused, Socket};

pub(crate) const SECRET: &str = "a secret that is long enough for HMAC";
pub(crate) const PUBLISHABLE_KEY: &str = "sb_publishable_of_this_project";
pub(crate) const SECRET_KEY: &str = "sb_secret_of_this_project";
pub(crate) const ANN: &str = "00000000-0000-0000-0000-00000000000a";

static CLUSTER: OnceCell<Cluster> = OnceCell::const_new();

/// The service over a database of the test's own.
pub(crate) struct TestRealtime {
    pub(crate) address: SocketAddr,
    pub(crate) project: Project,
    pub(crate) service: RealtimeService,
    db: Arc<TestDatabase>,
    logins: Logins,
    _folder: TempDir,
}

impl TestRealtime {
    pub(crate) async fn start() -> Self {
        Self::with(&[]).await
    }

    /// Refusals are held back for seconds unless the test says otherwise.
    pub(crate) async fn with(settings: &[(&str, &str)]) -> Self {
        Self::start_node(settings, RealtimeService::new(), None).await
    }

    /// One of several nodes.
    pub(crate) async fn node(nats: &NatsServer) -> Self {
        Self::start_node(&[], RealtimeService::of_cluster(nats.connect().await), None).await
    }

    /// Another node that serves the same project.
    pub(crate) async fn another(&self, nats: &NatsServer) -> Self {
        let service = RealtimeService::of_cluster(nats.connect().await);
        Self::start_node(&[], service, Some(self)).await
    }

    async fn start_node(
        settings: &[(&str, &str)],
        service: RealtimeService,
        beside: Option<&Self>,
    ) -> Self {
        numbers::record();
        let db = match beside {
            Some(other) => other.db.clone(),
            None => Arc::new(TestDatabase::create().await),
        };
        let folder = TempDir::new().expect("a folder");
        let logs = folder.path().join("logs");
        let (logs, _writer) =
            LogStore::open(logs, plinth_log::Config::default()).expect("a log store");
        let (reference, logins) = match beside {
            Some(other) => (other.project.reference().clone(), other.logins.clone()),
            None => new_project(&db).await,
        };
        let project = Project::new(
            reference.clone(),
            ProjectKind::Default,
            connect(&db, &reference, &logins).await,
            project_keys(SECRET),
            SettingsHandle::new(load(settings)),
            logs,
        );
        let router = routes(service.clone()).layer(Extension(project.clone()));
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
        let address = listener.local_addr().expect("its address");
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self {
            address,
            project,
            service,
            db,
            logins,
            _folder: folder,
        }
    }

    /// A socket of the second version with the publishable key.
    pub(crate) async fn socket(&self) -> Socket {
        self.open(&format!("apikey={PUBLISHABLE_KEY}&vsn=2.0.0"))
            .await
    }

    pub(crate) async fn open(&self, query: &str) -> Socket {
        let opened = Socket::open(self.address, query, &[]).await;
        opened.unwrap_or_else(|refused| panic!("{refused:?}"))
    }

    pub(crate) async fn refusal(&self, query: &str) -> Refused {
        match Socket::open(self.address, query, &[]).await {
            Err(refused) => refused,
            Ok(_) => panic!("a socket was opened"),
        }
    }

    /// Other settings, while sockets are open.
    pub(crate) fn set(&self, settings: &[(&str, &str)]) {
        self.project.settings().replace(load(settings));
    }

    /// Another secret, while sockets are open. The keys of applications stay.
    pub(crate) fn replace_secret(&self, secret: &str) {
        self.project.replace_keys(project_keys(secret));
    }

    /// Runs statements as the superuser.
    pub(crate) async fn execute(&self, sql: &str) {
        let done = self.db.admin().await.batch_execute(sql).await;
        done.unwrap_or_else(|error| panic!("{error:?}: {sql}"));
    }

    /// A session of the superuser, for what it holds.
    pub(crate) async fn session(&self) -> Client {
        self.db.admin().await
    }

    /// From now on the database takes nobody in, and those who were in are out.
    pub(crate) async fn shut_out(&self) {
        self.limit_connections("allow_connections false").await;
    }

    /// As when everybody else has taken all connections.
    pub(crate) async fn fill_up(&self) {
        self.limit_connections("connection limit 0").await;
    }

    async fn limit_connections(&self, how: &str) {
        let server = TestServer::shared().await.admin();
        let admin = server.connect().await.expect("the server answers");
        let name = self.database();
        let sql = format!(
            "alter database \"{name}\" {how};
             select pg_terminate_backend(pid) from pg_stat_activity where datname = '{name}'"
        );
        admin.batch_execute(&sql).await.expect("shut out");
    }

    pub(crate) fn database(&self) -> &str {
        self.db.name()
    }

    pub(crate) async fn count(&self, sql: &str) -> i64 {
        let row = self.db.admin().await.query_one(sql, &[]).await;
        row.unwrap_or_else(|error| panic!("{error:?}: {sql}"))
            .get(0)
    }
}

fn load(settings: &[(&str, &str)]) -> Settings {
    let usual = [
        ("plinth.realtime.connect_error_backoff", "1ms"),
        ("plinth.realtime.channel_error_backoff", "1ms"),
    ];
    let loader = usual
        .iter()
        .chain(settings)
        .fold(Loader::new(), |loader, (name, value)| {
            loader.command_line(*name, *value)
        });
    loader.load().expect("good settings").settings
}

async fn cluster() -> &'static Cluster {
    CLUSTER
        .get_or_init(async || {
            let server = TestServer::shared().await.admin();
            let mut admin = server.connect().await.expect("the server answers");
            prepare_cluster(&mut admin).await.expect("the shared roles")
        })
        .await
}

async fn new_project(db: &TestDatabase) -> (ProjectRef, Logins) {
    let cluster = cluster().await;
    let (reference, passwords) = (ProjectRef::generate(), Logins::generate());
    let mut sql = logins::create_sql(cluster, &reference, &passwords);
    sql.push_str(&logins::open_database_sql(cluster, &reference, db.name()));
    let done = db.admin().await.batch_execute(&sql).await;
    done.expect("logins of the project");
    (reference, passwords)
}

async fn connect(db: &TestDatabase, reference: &ProjectRef, logins: &Logins) -> ProjectDb {
    let server = TestServer::shared().await.admin();
    let pool = PoolConfig::default();
    ProjectDb::new(
        &server,
        cluster().await,
        reference,
        db.name(),
        logins.clone(),
        pool,
    )
}

fn project_keys(secret: &str) -> ProjectKeys {
    let key = |text: &str, kind| {
        let key = ApiKey::new(Default::default(), "default", kind);
        (credential_hash(text), key.into())
    };
    ProjectKeys {
        api_keys: [
            key(PUBLISHABLE_KEY, ApiKeyKind::Publishable),
            key(SECRET_KEY, ApiKeyKind::Secret),
        ]
        .into(),
        ..ProjectKeys::new(keyset(secret))
    }
}

fn keyset(secret: &str) -> KeySet {
    KeySet::builder()
        .legacy_secret(secret)
        .build()
        .expect("a good secret")
}

/// A token with these claims, signed with the project's secret.
pub(crate) fn sign(claims: &Value) -> String {
    keyset(SECRET).sign(claims).expect("signed")
}

/// A token of a signed-in user that ends in an hour.
pub(crate) fn token_of(sub: &str) -> String {
    sign(&json!({ "role": "authenticated", "sub": sub, "exp": now() + 3600 }))
}

pub(crate) fn now() -> i64 {
    time::OffsetDateTime::now_utc().unix_timestamp()
}
