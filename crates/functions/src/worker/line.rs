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
use tokio::net::UnixStream;

use super::Seat;

/// Functions may send many headers.
const MOST_HEADERS: usize = 512;

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
    /// Not a byte was sent, so that another worker may get it.
    Whole(Box<Request<Body>>),
    /// The worker may have seen it.
    Broken(hyper::Error),
}

impl Line {
    pub(super) async fn open(socket: &Path) -> io::Result<Self> {
        let stream = UnixStream::connect(socket).await?;
        let mut builder = http1::Builder::new();
        builder.max_headers(MOST_HEADERS);
        let handshake = builder.handshake(TokioIo::new(stream)).await;
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
        request: Request<Body>,
    ) -> Result<Response<Incoming>, TrySendError<Request<Body>>> {
        let mut sending = pin!(self.sender.try_send_request(request));
        poll_fn(|context| {
            self.drive(context);
            sending.as_mut().poll(context)
        })
        .await
    }

    /// The connection goes on by itself: as something else than HTTP, or to its request's end.
    pub(crate) async fn go_on(self) {
        if let Some(connection) = self.connection {
            // Both ends have been told.
            _ = connection.await;
        }
    }
}

impl Seat {
    /// Sends a request over a connection that waits, or a new one.
    pub(crate) async fn send(
        &self,
        mut request: Request<Body>,
    ) -> Result<(Response<Incoming>, Line), Unsent> {
        loop {
            let (mut line, is_new) = match self.worker().free_line() {
                Some(line) => (line, false),
                None => match Line::open(&self.worker().socket).await {
                    Ok(line) => (line, true),
                    Err(_) => return Err(Unsent::Whole(Box::new(request))),
                },
            };
            match line.exchange(request).await {
                Ok(response) => return Ok((response, line)),
                Err(mut failed) => match failed.take_message() {
                    // The worker closed a connection that had waited too long, just now.
                    Some(unsent) if !is_new => request = unsent,
                    Some(unsent) => return Err(Unsent::Whole(Box::new(unsent))),
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
