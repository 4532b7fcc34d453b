//! A gateway on a real port, with tiny routers behind it.

#![allow(
    dead_code,
    unused_imports,
    unreachable_pub,
    reason = "each test file uses its own part of this"
)]

mod client;
mod projects;

use std::{net::SocketAddr, time::Duration};

use axum::Router;
use plinth_gateway::{
    Drained, Gateway, GatewayConfig, GatewayParts, Metrics, Mounts, Readiness, Tls, bind, serve,
};
use plinth_log::{LogStore, LogWriter, Query, Record, TailItem, TailReceiver};
use plinth_settings::Settings;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

pub use client::{Client, TestResponse, exchange};
pub use projects::{
    BROKEN, COMING_UP, DEFAULT, PAUSED, PLATFORM, UNAVAILABLE, registry, secret_key, user_token,
};

/// What a test may change before the server starts.
pub struct Setup {
    pub config: GatewayConfig,
    pub mounts: Mounts,
    pub metrics: Option<Metrics>,
    pub tls: Option<Tls>,
    pub readiness: Readiness,
    pub drain: Duration,
}

impl Setup {
    /// Serves only these instance paths.
    pub fn new(platform: Router) -> Self {
        Self::with_mounts(Mounts::new(platform, Router::new()))
    }

    pub fn with_mounts(mounts: Mounts) -> Self {
        Self {
            config: GatewayConfig::from_settings(&Settings::default()),
            mounts,
            metrics: None,
            tls: None,
            readiness: Readiness::Ready,
            drain: Duration::from_secs(10),
        }
    }

    /// Proxies on this machine are trusted.
    pub fn behind_proxy(mut self) -> Self {
        self.config.trusted_proxies = vec!["127.0.0.1".parse().expect("a network")];
        self
    }

    pub async fn start(self) -> TestServer {
        let folder = tempfile::tempdir().expect("a folder");
        let (logs, writer) = LogStore::open(folder.path(), plinth_log::Config::default())
            .expect("a store opens in an empty folder");
        let tail = logs.tail(Query::all());
        let readiness = self.readiness;
        let gateway = Gateway::new(GatewayParts {
            config: self.config,
            mounts: self.mounts,
            resolver: std::sync::Arc::new(registry(logs.clone()).await),
            logs,
            platform: PLATFORM.parse().expect("a ref"),
            metrics: self.metrics,
            ready: std::sync::Arc::new(move || Box::pin(std::future::ready(readiness))),
        });
        let listener = bind(([127, 0, 0, 1], 0).into()).await.expect("a free port");
        let address = listener.local_addr().expect("its address");
        let stop = CancellationToken::new();
        let task = tokio::spawn(serve(listener, self.tls, gateway, stop.clone(), self.drain));
        TestServer {
            address,
            stop,
            task,
            tail,
            _writer: writer,
            _folder: folder,
        }
    }
}

/// A running gateway.
pub struct TestServer {
    pub address: SocketAddr,
    pub stop: CancellationToken,
    pub task: JoinHandle<Drained>,
    tail: TailReceiver,
    _writer: LogWriter,
    _folder: tempfile::TempDir,
}

impl TestServer {
    pub async fn client(&self) -> Client {
        Client::http1(self.address).await
    }

    /// A GET on a connection of its own.
    pub async fn get(&self, path: &str) -> TestResponse {
        self.client().await.get(path, &[]).await
    }

    /// The next record that reaches the log.
    pub async fn next_record(&mut self) -> Record {
        match self.tail.recv().await {
            Some(TailItem::Record(record)) => record,
            other => panic!("a record was expected, not {other:?}"),
        }
    }

    /// Shuts the server down.
    pub async fn stop(self) -> Drained {
        self.stop.cancel();
        self.task.await.expect("the server ends by itself")
    }
}
