//! Messages queued for one client (§14.4). Anything may push; the socket's task takes them out.
//!
//! The queue is bounded in bytes. A client that does not keep up is disconnected and starts afresh,
//! rather than silently missing single messages. The bound is compared with what was queued before a
//! push: a large message, or a long reply to a join, is no fault of the client.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
};

use axum::extract::ws::Message;
use futures_util::task::AtomicWaker;

/// Why a socket must be closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CloseReason {
    /// The client does not keep up.
    TooSlow,
    /// The client has to reconnect, because of a change of the project or a shutdown.
    Disconnected,
}

/// The queue of one socket.
#[derive(Debug)]
pub(crate) struct OutboundQueue {
    max_bytes: usize,
    state: Mutex<State>,
    task: AtomicWaker,
}

#[derive(Debug, Default)]
struct State {
    queued: Vec<Message>,
    bytes: usize,
    close: Option<CloseReason>,
    /// Messages that were not queued.
    dropped: usize,
}

impl OutboundQueue {
    pub(crate) fn new(max_bytes: usize) -> Self {
        Self {
            max_bytes,
            state: Mutex::default(),
            task: AtomicWaker::new(),
        }
    }

    /// Queues a message. Once the socket must be closed, messages are dropped.
    pub(crate) fn push(&self, message: Message) {
        self.push_together([message]);
    }

    /// Queues messages that belong together, however large they are.
    pub(crate) fn push_together(&self, messages: impl IntoIterator<Item = Message>) {
        let messages = messages.into_iter();
        let mut state = self.state();
        if state.close.is_some() {
            state.dropped += messages.count();
            return;
        }
        // The task was woken for the first message and finds the others, too.
        let mut must_wake = state.queued.is_empty();
        if state.bytes > self.max_bytes {
            must_wake = true;
            *state = State {
                close: Some(CloseReason::TooSlow),
                dropped: state.queued.len() + messages.count(),
                ..State::default()
            };
        } else {
            for message in messages {
                state.bytes += queued_size(&message);
                state.queued.push(message);
            }
        }
        drop(state);
        if must_wake {
            self.task.wake();
        }
    }

    /// Closes the socket once what is queued is sent.
    pub(crate) fn close(&self, reason: CloseReason) {
        self.state().close.get_or_insert(reason);
        self.task.wake();
    }

    /// Takes everything, and returns whether the socket must be closed afterwards.
    pub(crate) fn poll_take(
        &self,
        cx: &mut Context<'_>,
        into: &mut Vec<Message>,
    ) -> Poll<Option<CloseReason>> {
        self.task.register(cx.waker());
        let mut state = self.state();
        if state.queued.is_empty() && state.close.is_none() {
            return Poll::Pending;
        }
        state.bytes = 0;
        std::mem::swap(&mut state.queued, into);
        Poll::Ready(state.close)
    }

    /// Ready once the client has fallen too far behind.
    pub(crate) fn poll_overflow(&self, cx: &mut Context<'_>) -> Poll<()> {
        self.task.register(cx.waker());
        match self.state().close {
            Some(CloseReason::TooSlow) => Poll::Ready(()),
            _ => Poll::Pending,
        }
    }

    /// The size of what is queued.
    pub(crate) fn bytes(&self) -> usize {
        self.state().bytes
    }

    /// Messages that were not sent, after the socket was closed.
    pub(crate) fn unsent(&self) -> usize {
        let state = self.state();
        state.dropped + state.queued.len()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The memory of a queued message.
fn queued_size(message: &Message) -> usize {
    payload_bytes(message) + size_of::<Message>()
}

pub(crate) fn payload_bytes(message: &Message) -> usize {
    match message {
        Message::Text(text) => text.len(),
        Message::Binary(bytes) | Message::Ping(bytes) | Message::Pong(bytes) => bytes.len(),
        Message::Close(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::{
            Arc,
            atomic::{AtomicUsize, Ordering::Relaxed},
        },
        task::{Wake, Waker},
    };

    use super::*;

    fn take(outbound: &OutboundQueue) -> Poll<(Option<CloseReason>, usize)> {
        let mut into = Vec::new();
        let taken = outbound.poll_take(&mut Context::from_waker(Waker::noop()), &mut into);
        taken.map(|close| (close, into.len()))
    }

    #[test]
    fn messages_are_taken_once() {
        let outbound = OutboundQueue::new(1000);
        outbound.push(Message::text("a"));
        outbound.push(Message::text("b"));

        assert_eq!(take(&outbound), Poll::Ready((None, 2)));
        assert_eq!(take(&outbound), Poll::Pending);
    }

    #[test]
    fn a_client_that_falls_behind_is_closed() {
        let outbound = OutboundQueue::new(1000);
        outbound.push(Message::text("x".repeat(800)));
        outbound.push(Message::text("x".repeat(800)));
        outbound.push(Message::text("x"));

        assert_eq!(
            take(&outbound),
            Poll::Ready((Some(CloseReason::TooSlow), 0))
        );
        assert_eq!(outbound.unsent(), 3);
        let mut cx = Context::from_waker(Waker::noop());
        assert_eq!(outbound.poll_overflow(&mut cx), Poll::Ready(()));
    }

    #[test]
    fn a_task_that_is_sending_is_woken_by_an_overflow() {
        struct Count(AtomicUsize);
        impl Wake for Count {
            fn wake(self: Arc<Self>) {
                self.0.fetch_add(1, Relaxed);
            }
        }
        let woken = Arc::new(Count(AtomicUsize::new(0)));
        let waker = Waker::from(woken.clone());
        let outbound = OutboundQueue::new(1000);
        let watch = || outbound.poll_overflow(&mut Context::from_waker(&waker));

        assert!(watch().is_pending());
        outbound.push(Message::text("x".repeat(1000)));
        assert!(watch().is_pending());
        let before = woken.0.load(Relaxed);
        outbound.push(Message::text("x".repeat(800)));

        assert_eq!(woken.0.load(Relaxed), before + 1);
        assert!(watch().is_ready());
    }

    #[test]
    fn a_large_message_is_sent() {
        let outbound = OutboundQueue::new(1000);
        outbound.push(Message::text("x".repeat(5000)));
        assert_eq!(take(&outbound), Poll::Ready((None, 1)));

        let long = (0..5).map(|_| Message::text("x".repeat(800)));
        outbound.push_together(long);
        assert_eq!(take(&outbound), Poll::Ready((None, 5)));
    }

    #[test]
    fn taking_frees_capacity() {
        let outbound = OutboundQueue::new(1000);
        for _ in 0..5 {
            outbound.push(Message::text("x".repeat(800)));
            assert_eq!(take(&outbound), Poll::Ready((None, 1)));
        }
    }

    #[test]
    fn queued_messages_are_sent_before_the_close() {
        let outbound = OutboundQueue::new(1000);
        outbound.push(Message::text("in time"));
        outbound.close(CloseReason::Disconnected);
        outbound.push(Message::text("too late"));

        assert_eq!(
            take(&outbound),
            Poll::Ready((Some(CloseReason::Disconnected), 1))
        );
        assert_eq!(outbound.unsent(), 1);
    }
}
