//! Requests whose bodies are sent bit by bit.

use std::{future::IntoFuture, io};

use axum::body::Body;
use bytes::Bytes;
use futures_util::stream;
use plinth_testkit::{Call, Reply};
use tokio::{sync::mpsc, task::JoinHandle};

pub(crate) trait TusCall {
    /// A body of unknown length, which the test sends.
    fn stream(self) -> (Sender, JoinHandle<Reply>);
}

impl TusCall for Call {
    fn stream(self) -> (Sender, JoinHandle<Reply>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        let stream = stream::unfold(receiver, |mut receiver| async move {
            let next: io::Result<Bytes> = receiver.recv().await?;
            Some((next, receiver))
        });
        let call = self.with(|request| *request.body_mut() = Body::from_stream(stream));
        (Sender(sender), tokio::spawn(call.into_future()))
    }
}

/// The client's end of a body; dropped, the body is complete.
pub(crate) struct Sender(mpsc::UnboundedSender<io::Result<Bytes>>);

impl Sender {
    pub(crate) fn send(&self, bytes: &'static str) {
        _ = self.0.send(Ok(Bytes::from(bytes)));
    }

    /// The client disconnects.
    pub(crate) fn abort(self) {
        _ = self.0.send(Err(io::ErrorKind::ConnectionReset.into()));
    }
}
