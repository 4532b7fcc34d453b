//! The real broker, on a port of its own.

use std::{
    net::{Ipv4Addr, TcpListener, TcpStream},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use plinth_realtime::{Cluster, ClusterConfig};

const PATIENCE: Duration = Duration::from_secs(20);

/// A running `nats-server`.
pub(crate) struct NatsServer {
    port: u16,
    process: Option<Child>,
}

impl NatsServer {
    pub(crate) fn start() -> Self {
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let port = free.local_addr().expect("its number").port();
        drop(free);
        let mut server = Self {
            port,
            process: None,
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
            assert!(began.elapsed() < PATIENCE, "nats-server does not answer");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub(crate) async fn connect(&self) -> Cluster {
        let config = ClusterConfig {
            url: format!("nats://127.0.0.1:{}", self.port),
            name: String::new(),
        };
        Cluster::connect(&config).await.expect("a connection")
    }
}

impl Drop for NatsServer {
    fn drop(&mut self) {
        self.kill();
    }
}
