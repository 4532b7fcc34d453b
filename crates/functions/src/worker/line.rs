//! A connection to a worker, used by one request after the other.

use std::{io, path::Path};

use axum::body::Body;
use http::{Request, Response};
use hyper::{
    body::Incoming,
    client::conn::http1::{self, SendRequest},
};
use hyper_util::rt::TokioIo;
use tokio::{net::UnixStream, task::JoinHandle};

use super::Seat;

/// Functions may send many headers.
const MOST_HEADERS: usize = 512;

/// An open connection. It closes when it is dropped, and the worker's request with it: that is how
/// a function hears that its client has gone.
pub(crate) struct Line {
    sender: SendRequest<Body>,
    /// Absent once it goes on by itself.
    driver: Option<JoinHandle<()>>,
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
        let driver = tokio::spawn(async move {
            // Whoever waits for an answer hears of the failure.
            _ = connection.with_upgrades().await;
        });
        Ok(Self {
            sender,
            driver: Some(driver),
        })
    }

    /// The connection goes on by itself, as something else than HTTP.
    pub(crate) fn hand_over(mut self) {
        self.driver = None;
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        if let Some(driver) = &self.driver {
            driver.abort();
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
            let (mut line, is_new) = match self.worker().idle_line() {
                // One that is still busy with its last request, or closed, is of no use.
                Some(line) if !line.sender.is_ready() => continue,
                Some(line) => (line, false),
                None => match Line::open(&self.worker().socket).await {
                    Ok(line) => (line, true),
                    Err(_) => return Err(Unsent::Whole(Box::new(request))),
                },
            };
            if is_new && line.sender.ready().await.is_err() {
                return Err(Unsent::Whole(Box::new(request)));
            }
            match line.sender.try_send_request(request).await {
                Ok(response) => return Ok((response, line)),
                Err(mut failed) => match failed.take_message() {
                    // The worker closed a connection that had waited too long.
                    Some(unsent) if !is_new => request = unsent,
                    Some(unsent) => return Err(Unsent::Whole(Box::new(unsent))),
                    None => return Err(Unsent::Broken(failed.into_error())),
                },
            }
        }
    }

    /// The answer is through: the connection may serve the next request.
    pub(crate) fn give_back(&self, line: Line) {
        self.worker().keep(line);
    }
}
