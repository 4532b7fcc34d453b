//! A router behind a TCP socket.

use std::net::SocketAddr;

use axum::Router;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

/// Serves on a loopback port until dropped.
pub struct Listener {
    address: SocketAddr,
    task: JoinHandle<()>,
}

/// A free loopback port, for a router that must know its own address.
pub async fn bind_loopback() -> (TcpListener, SocketAddr) {
    let socket = TcpListener::bind(("127.0.0.1", 0)).await;
    let socket = socket.expect("a free port");
    let address = socket.local_addr().expect("its address");
    (socket, address)
}

impl Listener {
    pub async fn start(router: Router) -> Self {
        Self::serve(bind_loopback().await, router)
    }

    pub fn serve((socket, address): (TcpListener, SocketAddr), router: Router) -> Self {
        // Handlers that need the client's address get it.
        let service = router.into_make_service_with_connect_info::<SocketAddr>();
        let task = tokio::spawn(async move {
            axum::serve(socket, service).await.expect("it serves");
        });
        Self { address, task }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Serves until the test's runtime ends; returns the URL.
    pub fn keep(self) -> String {
        let url = self.url();
        std::mem::forget(self);
        url
    }

    /// Opens a connection and sends this text.
    pub async fn send(&self, text: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).await.expect("connected");
        stream.write_all(text.as_bytes()).await.expect("sent");
        stream
    }

    /// Sends this text and reads until the server closes the connection.
    pub async fn exchange(&self, text: &str) -> String {
        let mut response = Vec::new();
        let mut stream = self.send(text).await;
        stream.read_to_end(&mut response).await.expect("a response");
        String::from_utf8(response).expect("text")
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.task.abort();
    }
}
