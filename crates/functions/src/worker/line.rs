//! A connection to a worker, used by one request after the other.
//!
//! Nobody else drives it: whoever waits for an answer, or for the next piece of one, lets the
//! connection read and write meanwhile. A task of its own would have to be woken for every step, and
//! the head of an answer would leave without the body that came along with it.

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

use super::{Seat, wire::Wire};

/// Functions may send many headers.
const MOST_HEADERS: usize = 512;

/// How often a worker that cannot take another connection is asked again, and for how long.
pub(super) const PAUSE: Duration = Duration::from_millis(10);
const PATIENCE: Duration = Duration::from_secs(10);

/// Reads and writes, as long as it is polled.
type Connection = Pin<Box<dyn Future<Output = hyper::Result<()>> + Send>>;

/// An open connection. It closes when it is dropped, and the worker's request with it: that is how
/// a function hears that its client has gone.
pub(crate) struct Line {
    sender: SendRequest<Body>,
    /// Absent once it has closed.
    connection: Option<Connection>,
}

/// A request that no byte of an answer came to.
pub(crate) enum Unsent {
    /// Not a byte was sent, so that another worker may get it: this one has gone, or is about to.
    Whole(Box<Request<Body>>),
    /// There was no way to the worker, which has not gone.
    NoWay(io::Error),
    /// The worker may have seen it.
    Broken(hyper::Error),
}

impl Line {
    pub(super) async fn open(socket: &Path) -> io::Result<Self> {
        let wire = Wire::connect(socket).await?;
        let mut builder = http1::Builder::new();
        builder.max_headers(MOST_HEADERS);
        let handshake = builder.handshake(TokioIo::new(wire)).await;
        let (sender, connection) = handshake.map_err(io::Error::other)?;
        Ok(Self {
            sender,
            connection: Some(Box::pin(connection.with_upgrades())),
        })
    }

    /// Lets the connection read and write what it can now.
    pub(crate) fn drive(&mut self, context: &mut Context<'_>) {
        if let Some(connection) = &mut self.connection
            && connection.as_mut().poll(context).is_ready()
        {
            // Whoever waits for an answer hears of the failure.
            self.connection = None;
        }
    }

    /// Whether it waits for a request: its last one is through, and the worker has not closed it.
    pub(super) fn is_free(&mut self) -> bool {
        self.drive(&mut Context::from_waker(Waker::noop()));
        self.sender.is_ready()
    }

    /// The head of the answer.
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

    /// The connection goes on by itself: as something else than HTTP, or to its request's end.
    pub(crate) async fn go_on(self) {
        let Self { sender, connection } = self;
        // While there may be another request, it would wait for one.
        drop(sender);
        if let Some(connection) = connection {
            // Both ends have been told.
            _ = connection.await;
        }
    }
}

/// Whether nobody listens at the socket any more. Everything else passes: too many come at once, or
/// we have no descriptor left ourselves.
fn is_gone(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound
    )
}

impl Seat {
    /// Sends a request over a connection that waits, or a new one.
    pub(crate) async fn send(
        &self,
        mut request: Box<Request<Body>>,
    ) -> Result<(Response<Incoming>, Line), Unsent> {
        let give_up = Instant::now() + PATIENCE;
        loop {
            let (mut line, is_new) = match self.worker().free_line() {
                Some(line) => (line, false),
                None => match Line::open(&self.worker().socket).await {
                    Ok(line) => (line, true),
                    Err(error) if is_gone(&error) => {
                        return Err(Unsent::Whole(request));
                    }
                    Err(error) if Instant::now() >= give_up => return Err(Unsent::NoWay(error)),
                    Err(_) => {
                        tokio::time::sleep(PAUSE).await;
                        continue;
                    }
                },
            };
            match line.exchange(request).await {
                Ok(response) => return Ok((response, line)),
                Err(mut failed) => match failed.take_message().map(Box::new) {
                    // The worker closed a connection that had waited too long, just now.
                    Some(unsent) if !is_new => request = unsent,
                    Some(unsent) => return Err(Unsent::Whole(unsent)),
                    None => return Err(Unsent::Broken(failed.into_error())),
                },
            }
        }
    }

    /// The answer is through: the connection may serve the next request, once all of this one is
    /// sent. A function may answer first and read later.
    pub(crate) fn give_back(&self, mut line: Line) {
        if line.is_free() {
            self.worker().keep(line);
        } else if line.connection.is_some() {
            self.worker().tasks.spawn(line.go_on());
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
    async fn a_request_that_outlasts_its_answer_lets_go_in_the_end() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("s.sock");
        let listener = tokio::net::UnixListener::bind(&path).expect("a socket");
        // Answers at once, and goes on to read for as long as anybody writes.
        let worker = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.expect("a connection");
            let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
            stream.write_all(answer).await.expect("written");
            let mut read = Vec::new();
            _ = stream.read_to_end(&mut read).await;
        });
        let (pieces, body) = mpsc::channel::<io::Result<bytes::Bytes>>(1);
        let body = stream::unfold(body, async |mut body| Some((body.recv().await?, body)));
        let mut line = Line::open(&path).await.expect("a connection");
        let request = Request::post("/")
            .body(Body::from_stream(body))
            .expect("a request");
        let answer = line.exchange(Box::new(request)).await.expect("an answer");
        let mut answer = pin!(answer.into_body().collect());
        let answer = poll_fn(|context| {
            line.drive(context);
            answer.as_mut().poll(context)
        });
        assert_eq!(answer.await.expect("whole").to_bytes(), "ok");
        assert!(!line.is_free());

        let going_on = tokio::spawn(line.go_on());
        drop(pieces);

        let patience = Duration::from_secs(10);
        let gone = tokio::time::timeout(patience, going_on).await;
        gone.expect("it ends").expect("no panic");
        worker.await.expect("no panic");
    }

    #[tokio::test]
    async fn only_a_socket_that_nobody_listens_at_means_that_the_worker_has_gone() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("s.sock");
        let error = async || Line::open(&path).await.err().expect("no connection");
        assert!(is_gone(&error().await), "there is none");

        let socket = tokio::net::UnixSocket::new_stream().expect("a socket");
        socket.bind(&path).expect("bound");
        let listener = socket.listen(0).expect("listening");
        let _first = tokio::net::UnixStream::connect(&path)
            .await
            .expect("a place");
        assert!(!is_gone(&error().await), "too many at once");

        drop(listener);
        assert!(is_gone(&error().await), "nobody listens");
    }
}
