//! A connection to a worker, used by one request after the other.
//!
//! It has no task of its own: the request that waits for a response, or for its next chunk, drives the
//! reading and writing. A task would have to be woken for every step, and the head of a response would
//! be sent on without the body that came along with it.

use std::{
    future::poll_fn,
    io,
    path::Path,
    pin::{Pin, pin},
    task::{Context, Waker},
    time::{Duration, Instant},
};

use axum::body::Body;
use http::{Request, Response};
use hyper::{
    body::Incoming,
    client::conn::{
        TrySendError,
        http1::{self, SendRequest},
    },
};
use hyper_util::rt::TokioIo;

use super::{
    RequestPermit,
    stream::{RETRY_INTERVAL, WorkerStream},
};

/// Headers of a response.
const MAX_HEADERS: usize = 512;

/// How long connecting is retried where the worker listens but is busy.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Reads and writes while it is polled.
type Driver = Pin<Box<dyn Future<Output = hyper::Result<()>> + Send>>;

/// An open connection. Dropping it closes it, which aborts the function's request: that is how the
/// function learns that its client has disconnected.
pub(crate) struct Connection {
    sender: SendRequest<Body>,
    /// Absent once the connection is closed.
    driver: Option<Driver>,
}

/// Why a request got no response.
pub(crate) enum SendError {
    /// Not a byte was sent, so another worker may get it: this one has exited, or is about to.
    NotSent(Box<Request<Body>>),
    /// The worker is there and accepted no connection.
    ConnectFailed(io::Error),
    /// The connection broke, and the worker may have seen the request.
    Broken(hyper::Error),
}

impl Connection {
    pub(super) async fn open(socket: &Path) -> io::Result<Self> {
        let stream = WorkerStream::connect(socket).await?;
        let mut builder = http1::Builder::new();
        builder.max_headers(MAX_HEADERS);
        let handshake = builder.handshake(TokioIo::new(stream)).await;
        let (sender, driver) = handshake.map_err(io::Error::other)?;
        Ok(Self {
            sender,
            driver: Some(Box::pin(driver.with_upgrades())),
        })
    }

    /// Reads and writes what is possible now.
    pub(crate) fn drive(&mut self, context: &mut Context<'_>) {
        if let Some(driver) = &mut self.driver
            && driver.as_mut().poll(context).is_ready()
        {
            // An error reaches the request through the sender or the body.
            self.driver = None;
        }
    }

    /// Whether it can take a request: the last one is finished, and the worker has not closed it.
    pub(super) fn is_idle(&mut self) -> bool {
        self.drive(&mut Context::from_waker(Waker::noop()));
        self.sender.is_ready()
    }

    /// Sends the request and returns the head of the response.
    async fn exchange(
        &mut self,
        request: Box<Request<Body>>,
    ) -> Result<Response<Incoming>, TrySendError<Request<Body>>> {
        let mut sending = pin!(self.sender.try_send_request(*request));
        poll_fn(|context| {
            self.drive(context);
            sending.as_mut().poll(context)
        })
        .await
    }

    /// Drives the connection until it closes: after an upgrade, or until all of a request is sent.
    pub(crate) async fn run_until_closed(self) {
        let Self { sender, driver } = self;
        // With a sender it would wait for the next request.
        drop(sender);
        if let Some(driver) = driver {
            // Both ends see the error themselves.
            _ = driver.await;
        }
    }
}

/// Whether nothing listens at the socket any more. Other errors are transient: too many connections
/// at once, or no descriptor left in our own process.
fn has_exited(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound
    )
}

impl RequestPermit {
    /// Sends a request over an idle connection, or a new one.
    pub(crate) async fn send(
        &self,
        mut request: Box<Request<Body>>,
    ) -> Result<(Response<Incoming>, Connection), SendError> {
        let deadline = Instant::now() + CONNECT_TIMEOUT;
        loop {
            let (mut connection, is_new) = match self.worker().take_idle_connection() {
                Some(connection) => (connection, false),
                None => match Connection::open(&self.worker().socket).await {
                    Ok(connection) => (connection, true),
                    Err(error) if has_exited(&error) => {
                        return Err(SendError::NotSent(request));
                    }
                    Err(error) if Instant::now() >= deadline => {
                        return Err(SendError::ConnectFailed(error));
                    }
                    Err(_) => {
                        tokio::time::sleep(RETRY_INTERVAL).await;
                        continue;
                    }
                },
            };
            match connection.exchange(request).await {
                Ok(response) => return Ok((response, connection)),
                Err(mut failed) => match failed.take_message().map(Box::new) {
                    // The worker closed the idle connection just now.
                    Some(unsent) if !is_new => request = unsent,
                    Some(unsent) => return Err(SendError::NotSent(unsent)),
                    None => return Err(SendError::Broken(failed.into_error())),
                },
            }
        }
    }

    /// The response is complete: the connection may serve the next request, once all of this one is
    /// sent. A function may respond first and read later.
    pub(crate) fn return_connection(&self, mut connection: Connection) {
        if connection.is_idle() {
            self.worker().keep_idle_connection(connection);
        } else if connection.driver.is_some() {
            let tasks = &self.worker().tasks;
            tasks.spawn(connection.run_until_closed());
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::stream;
    use http_body_util::BodyExt as _;
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        sync::mpsc,
    };

    use super::*;

    #[tokio::test]
    async fn a_request_that_outlasts_its_response_ends() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("s.sock");
        let listener = tokio::net::UnixListener::bind(&path).expect("a socket");
        // Responds at once, and reads on until the client has sent everything.
        let worker = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.expect("a connection");
            let response = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
            stream.write_all(response).await.expect("written");
            let mut read = Vec::new();
            _ = stream.read_to_end(&mut read).await;
        });
        let (chunks, body) = mpsc::channel::<io::Result<bytes::Bytes>>(1);
        let body = stream::unfold(body, async |mut body| Some((body.recv().await?, body)));
        let mut connection = Connection::open(&path).await.expect("a connection");
        let request = Request::post("/")
            .body(Body::from_stream(body))
            .expect("a request");
        let response = connection.exchange(Box::new(request)).await;
        let response = response.expect("a response");
        let mut body = pin!(response.into_body().collect());
        let body = poll_fn(|context| {
            connection.drive(context);
            body.as_mut().poll(context)
        });
        assert_eq!(body.await.expect("complete").to_bytes(), "ok");
        assert!(!connection.is_idle());

        let running = tokio::spawn(connection.run_until_closed());
        drop(chunks);

        let closed = tokio::time::timeout(Duration::from_secs(10), running).await;
        closed.expect("it ends").expect("no panic");
        worker.await.expect("no panic");
    }

    #[tokio::test]
    async fn only_a_socket_without_a_listener_means_that_the_worker_has_exited() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("s.sock");
        let error = async || Connection::open(&path).await.err().expect("no connection");
        assert!(has_exited(&error().await), "there is none");

        let socket = tokio::net::UnixSocket::new_stream().expect("a socket");
        socket.bind(&path).expect("bound");
        let listener = socket.listen(0).expect("listening");
        let _first = tokio::net::UnixStream::connect(&path)
            .await
            .expect("a connection");
        assert!(!has_exited(&error().await), "too many at once");

        drop(listener);
        assert!(has_exited(&error().await), "no listener");
    }
}
