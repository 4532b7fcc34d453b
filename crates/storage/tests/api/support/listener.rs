//! The service behind a real socket, where that matters.

use std::net::SocketAddr;

use axum::Router;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

/// Serves until dropped.
pub(crate) struct Listener {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl Listener {
    pub(crate) async fn start(router: Router) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let task = tokio::spawn(async move {
            _ = axum::serve(listener, router).await;
        });
        Self { address, task }
    }

    /// A connection over which this text was sent.
    pub(crate) async fn send(&self, text: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).await.expect("connected");
        stream.write_all(text.as_bytes()).await.expect("sent");
        stream
    }

    /// Everything that is answered to this text, until the server hangs up.
    pub(crate) async fn ask(&self, text: &str) -> String {
        let mut answer = Vec::new();
        let mut stream = self.send(text).await;
        stream.read_to_end(&mut answer).await.expect("an answer");
        String::from_utf8(answer).expect("text")
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.task.abort();
    }
}
