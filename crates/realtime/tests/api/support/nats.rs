//! The real broker, on a port of its own.

use std::{
    net::{Ipv4Addr, TcpListener, TcpStream},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use plinth_realtime::{Cluster, ClusterConfig};
use tokio::{io::copy_bidirectional, sync::watch};
use tokio_util::task::AbortOnDropHandle;

use super::TEST_TIMEOUT;

/// A running `nats-server`.
pub(crate) struct NatsServer {
    port: u16,
    process: Option<Child>,
    /// Of the nodes that connect to it.
    pub(crate) max_retained_wal: u64,
    pub(crate) follower_timeout: Duration,
}

/// Between one node and the broker.
pub(crate) struct Forwarder {
    port: u16,
    is_open: watch::Sender<bool>,
    _task: AbortOnDropHandle<()>,
}

impl NatsServer {
    pub(crate) fn start() -> Self {
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let port = free.local_addr().expect("its number").port();
        drop(free);
        let mut server = Self {
            port,
            process: None,
            max_retained_wal: u64::MAX,
            follower_timeout: ClusterConfig::FOLLOWER_TIMEOUT,
        };
        server.resume();
        server
    }

    /// Ends it, as a crash would.
    pub(crate) fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill().expect("it runs");
            process.wait().expect("it ends");
        }
    }

    /// Starts it again, on the same port.
    pub(crate) fn resume(&mut self) {
        let process = Command::new("nats-server")
            .args(["--addr", "127.0.0.1", "--port", &self.port.to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("nats-server is installed (Debian's package of that name)");
        self.process = Some(process);
        let began = Instant::now();
        while TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).is_err() {
            assert!(
                began.elapsed() < TEST_TIMEOUT,
                "nats-server does not answer"
            );
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    pub(crate) async fn connect(&self) -> Cluster {
        let connected = Cluster::connect(&self.config(self.port)).await;
        connected.expect("a connection")
    }

    /// For a node that connects through `forwarder`.
    pub(crate) fn config_through(&self, forwarder: &Forwarder) -> ClusterConfig {
        self.config(forwarder.port)
    }

    fn config(&self, port: u16) -> ClusterConfig {
        ClusterConfig {
            url: format!("nats://127.0.0.1:{port}"),
            name: String::new(),
            max_retained_wal: self.max_retained_wal,
            follower_timeout: self.follower_timeout,
        }
    }

    pub(crate) async fn forwarder(&self) -> Forwarder {
        let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
        let listener = listener.expect("a port");
        let port = listener.local_addr().expect("its number").port();
        let is_open = watch::Sender::new(true);
        let (server, gate) = (self.port, is_open.subscribe());
        let task = tokio::spawn(async move {
            loop {
                let (client, _) = listener.accept().await.expect("a connection");
                tokio::spawn(forward(client, server, gate.clone()));
            }
        });
        Forwarder {
            port,
            is_open,
            _task: AbortOnDropHandle::new(task),
        }
    }
}

impl Forwarder {
    /// Ends all connections, and all new ones at once.
    pub(crate) fn close(&self) {
        self.is_open.send_replace(false);
    }

    pub(crate) fn open(&self) {
        self.is_open.send_replace(true);
    }
}

async fn forward(
    mut client: tokio::net::TcpStream,
    server: u16,
    mut is_open: watch::Receiver<bool>,
) {
    let forwarding = async {
        let connected = tokio::net::TcpStream::connect((Ipv4Addr::LOCALHOST, server)).await;
        if let Ok(mut server) = connected {
            _ = copy_bidirectional(&mut client, &mut server).await;
        }
    };
    tokio::select! {
        biased;
        _ = is_open.wait_for(|is_open| !is_open) => {}
        () = forwarding => {}
    }
}

impl Drop for NatsServer {
    fn drop(&mut self) {
        self.kill();
    }
}
