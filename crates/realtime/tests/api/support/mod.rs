//! A database, the service over it on a port of its own, and sockets.

mod metrics;
mod nats;
mod requests;
mod socket;
mod tables;

use std::{net::SocketAddr, sync::Arc};

use axum::{Extension, Router};
use plinth_db::PoolConfig;
use plinth_project::Project;
use plinth_realtime::{Cluster, ClusterConfig, RealtimeService, routes};
use plinth_settings::Settings;
use plinth_testkit::{
    Listener, ProjectBuilder, ProjectLogins, RecordedMetrics, TestDatabase, TestServer, keyset,
    load_settings, project_keys,
};
use tokio::runtime::{Handle, Runtime};

pub(crate) use nats::{Forwarder, NatsServer};
pub(crate) use plinth_testkit::{
    ANN, PUBLISHABLE_KEY, Reply, SECRET, SECRET_KEY, Sql, TEST_TIMEOUT, now, sign, until,
    user_token,
};
pub(crate) use socket::{Closed, RejectedHandshake, Socket};

/// The service over a database of the test's own.
pub(crate) struct TestRealtime {
    pub(crate) address: SocketAddr,
    pub(crate) project: Project,
    pub(crate) service: RealtimeService,
    router: Router,
    db: Arc<TestDatabase>,
    logins: ProjectLogins,
    _listener: Listener,
}

impl TestRealtime {
    pub(crate) async fn start() -> Self {
        Self::with(&[]).await
    }

    /// Error replies are delayed by 1 ms only, unless the settings say otherwise.
    pub(crate) async fn with(settings: &[(&str, &str)]) -> Self {
        Self::start_node(settings, RealtimeService::new(), None).await
    }

    /// One of several nodes.
    pub(crate) async fn node(nats: &NatsServer) -> Self {
        Self::start_node(
            &[],
            RealtimeService::with_cluster(nats.connect().await),
            None,
        )
        .await
    }

    /// Another node that serves the same project.
    pub(crate) async fn another(&self, nats: &NatsServer) -> Self {
        let service = RealtimeService::with_cluster(nats.connect().await);
        Self::start_node(&[], service, Some(self.shared_database())).await
    }

    /// Another node, which connects to the broker through `forwarder`.
    pub(crate) async fn another_through(&self, nats: &NatsServer, forwarder: &Forwarder) -> Self {
        let cluster = Cluster::connect(&nats.config_through(forwarder)).await;
        let service = RealtimeService::with_cluster(cluster.expect("a connection"));
        Self::start_node(&[], service, Some(self.shared_database())).await
    }

    /// Another node, on a runtime of its own.
    pub(crate) async fn another_on(&self, runtime: &NodeRuntime, config: ClusterConfig) -> Self {
        let database = self.shared_database();
        let handle = runtime.handle();
        let starting = tokio::task::spawn_blocking(move || {
            handle.block_on(async {
                let cluster = Cluster::connect(&config).await.expect("a connection");
                let service = RealtimeService::with_cluster(cluster);
                Self::start_node(&[], service, Some(database)).await
            })
        });
        starting.await.expect("a node")
    }

    fn shared_database(&self) -> (Arc<TestDatabase>, ProjectLogins) {
        (self.db.clone(), self.logins.clone())
    }

    async fn start_node(
        settings: &[(&str, &str)],
        service: RealtimeService,
        database: Option<(Arc<TestDatabase>, ProjectLogins)>,
    ) -> Self {
        // Records from here on.
        RecordedMetrics::of_process();
        let (db, logins) = match database {
            Some(database) => database,
            None => {
                let db = TestDatabase::create().await;
                let logins = ProjectLogins::create(&db).await;
                (Arc::new(db), logins)
            }
        };
        let project = ProjectBuilder::new(logins.connect(&db, PoolConfig::default()).await)
            .reference(logins.reference.clone())
            .settings(load(settings))
            .build();
        let router = routes(service.clone()).layer(Extension(project.clone()));
        let listener = Listener::start(router.clone()).await;
        Self {
            address: listener.address(),
            project,
            service,
            router,
            db,
            logins,
            _listener: listener,
        }
    }

    /// A socket of the second version with the publishable key.
    pub(crate) async fn socket(&self) -> Socket {
        self.open(&format!("apikey={PUBLISHABLE_KEY}&vsn=2.0.0"))
            .await
    }

    pub(crate) async fn open(&self, query: &str) -> Socket {
        let opened = Socket::open(self.address, query, &[]).await;
        opened.unwrap_or_else(|rejected| panic!("{rejected:?}"))
    }

    pub(crate) async fn rejection(&self, query: &str) -> RejectedHandshake {
        match Socket::open(self.address, query, &[]).await {
            Err(rejected) => rejected,
            Ok(_) => panic!("a socket was opened"),
        }
    }

    /// Other settings, while sockets are open.
    pub(crate) fn set(&self, settings: &[(&str, &str)]) {
        self.project.settings().replace(load(settings));
    }

    /// Another secret, while sockets are open. The keys of applications stay.
    pub(crate) fn replace_secret(&self, secret: &str) {
        self.project.replace_keys(project_keys(keyset(secret)));
    }

    /// Makes the database reject connections, and closes those that are open.
    pub(crate) async fn reject_connections(&self) {
        self.limit_connections("allow_connections false").await;
    }

    /// Makes the database reject connections as if there were too many.
    pub(crate) async fn exhaust_connections(&self) {
        self.limit_connections("connection limit 0").await;
    }

    async fn limit_connections(&self, how: &str) {
        self.db.alter(how).await;
        let admin = TestServer::shared().await.connect().await;
        let sql = "select pg_terminate_backend(pid) from pg_stat_activity where datname = $1";
        let ended = admin.query(sql, &[&self.database()]).await;
        ended.expect("shut out");
    }

    pub(crate) fn database(&self) -> &str {
        self.db.name()
    }
}

/// What a node runs on. Without it the node is gone as after a kill: it says nothing to the others.
pub(crate) struct NodeRuntime(Option<Runtime>);

impl NodeRuntime {
    pub(crate) fn start() -> Self {
        Self(Some(Runtime::new().expect("a runtime")))
    }

    fn handle(&self) -> Handle {
        let runtime = self.0.as_ref().expect("until it is dropped");
        runtime.handle().clone()
    }
}

impl Drop for NodeRuntime {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

impl Sql for TestRealtime {
    fn db(&self) -> &TestDatabase {
        &self.db
    }
}

fn load(settings: &[(&str, &str)]) -> Settings {
    let usual = [
        ("plinth.realtime.connect_error_backoff", "1ms"),
        ("plinth.realtime.channel_error_backoff", "1ms"),
    ];
    load_settings(usual.iter().chain(settings))
}
