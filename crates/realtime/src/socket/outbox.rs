//! What waits for one client (§14.4). Anybody may put something in; the socket's task takes it out.
//!
//! It is bounded by bytes: a client that does not keep up loses its socket, comes back and starts
//! afresh, rather than silently missing single messages. What is judged is how much waited before:
//! a large message, or a long answer to a join, is no fault of the client that gets it.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
};

use axum::extract::ws::Message;
use futures_util::task::AtomicWaker;

/// Why a socket must end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// Its client does not keep up.
    TooSlow,
    /// An operator, or a change of the project, wants it to connect anew.
    Disconnected,
}

/// The queue of one socket.
#[derive(Debug)]
pub(crate) struct Outbox {
    max_bytes: usize,
    state: Mutex<State>,
    socket: AtomicWaker,
}

#[derive(Debug, Default)]
struct State {
    waiting: Vec<Message>,
    bytes: usize,
    end: Option<End>,
    /// Messages that were not kept.
    dropped: usize,
}

impl Outbox {
    pub(crate) fn new(max_bytes: usize) -> Self {
        Self {
            max_bytes,
            state: Mutex::default(),
            socket: AtomicWaker::new(),
        }
    }

    /// Puts a message in. Once the socket must end, nothing more is kept.
    pub(crate) fn push(&self, message: Message) {
        self.push_together([message]);
    }

    /// Puts in what is one answer, however large it is altogether.
    pub(crate) fn push_together(&self, messages: impl IntoIterator<Item = Message>) {
        let messages = messages.into_iter();
        let mut state = self.state();
        if state.end.is_some() {
            state.dropped += messages.count();
            return;
        }
        // Whoever was woken for the first message finds the others, too.
        let mut is_news = state.waiting.is_empty();
        if state.bytes > self.max_bytes {
            is_news = true;
            *state = State {
                end: Some(End::TooSlow),
                dropped: state.waiting.len() + messages.count(),
                ..State::default()
            };
        } else {
            for message in messages {
                state.bytes += size(&message);
                state.waiting.push(message);
            }
        }
        drop(state);
        if is_news {
            self.socket.wake();
        }
    }

    /// The socket shall end once what waits is sent.
    pub(crate) fn end(&self, end: End) {
        self.state().end.get_or_insert(end);
        self.socket.wake();
    }

    /// Takes everything, and tells whether the socket must end afterwards.
    pub(crate) fn poll_take(
        &self,
        cx: &mut Context<'_>,
        into: &mut Vec<Message>,
    ) -> Poll<Option<End>> {
        self.socket.register(cx.waker());
        let mut state = self.state();
        if state.waiting.is_empty() && state.end.is_none() {
            return Poll::Pending;
        }
        state.bytes = 0;
        std::mem::swap(&mut state.waiting, into);
        Poll::Ready(state.end)
    }

    /// Whether the client has fallen too far behind.
    pub(crate) fn poll_overflow(&self, cx: &mut Context<'_>) -> Poll<()> {
        self.socket.register(cx.waker());
        match self.state().end {
            Some(End::TooSlow) => Poll::Ready(()),
            _ => Poll::Pending,
        }
    }

    /// What waits, with the room that it takes.
    pub(super) fn bytes(&self) -> usize {
        self.state().bytes
    }

    /// Messages that nobody will send: the socket has ended.
    pub(super) fn unsent(&self) -> usize {
        let state = self.state();
        state.dropped + state.waiting.len()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A message with the room that it takes in a queue.
fn size(message: &Message) -> usize {
    payload_bytes(message) + size_of::<Message>()
}

/// What a message says, in bytes.
pub(super) fn payload_bytes(message: &Message) -> usize {
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

    fn take(outbox: &Outbox) -> Poll<(Option<End>, usize)> {
        let mut into = Vec::new();
        let taken = outbox.poll_take(&mut Context::from_waker(Waker::noop()), &mut into);
        taken.map(|end| (end, into.len()))
    }

    #[test]
    fn what_was_put_in_comes_out_once() {
        let outbox = Outbox::new(1000);
        outbox.push(Message::text("a"));
        outbox.push(Message::text("b"));

        assert_eq!(take(&outbox), Poll::Ready((None, 2)));
        assert_eq!(take(&outbox), Poll::Pending);
    }

    #[test]
    fn a_client_that_falls_behind_ends() {
        let outbox = Outbox::new(1000);
        outbox.push(Message::text("x".repeat(800)));
        outbox.push(Message::text("x".repeat(800)));
        outbox.push(Message::text("x"));

        assert_eq!(take(&outbox), Poll::Ready((Some(End::TooSlow), 0)));
        assert_eq!(outbox.unsent(), 3);
        let mut cx = Context::from_waker(Waker::noop());
        assert_eq!(outbox.poll_overflow(&mut cx), Poll::Ready(()));
    }

    #[test]
    fn whoever_is_busy_sending_is_woken_when_it_is_too_much() {
        struct Count(AtomicUsize);
        impl Wake for Count {
            fn wake(self: Arc<Self>) {
                self.0.fetch_add(1, Relaxed);
            }
        }
        let woken = Arc::new(Count(AtomicUsize::new(0)));
        let waker = Waker::from(woken.clone());
        let outbox = Outbox::new(1000);
        let watch = || outbox.poll_overflow(&mut Context::from_waker(&waker));

        assert!(watch().is_pending());
        outbox.push(Message::text("x".repeat(1000)));
        assert!(watch().is_pending());
        let before = woken.0.load(Relaxed);
        outbox.push(Message::text("x".repeat(800)));

        assert_eq!(woken.0.load(Relaxed), before + 1);
        assert!(watch().is_ready());
    }

    #[test]
    fn what_is_large_by_itself_is_sent() {
        let outbox = Outbox::new(1000);
        outbox.push(Message::text("x".repeat(5000)));
        assert_eq!(take(&outbox), Poll::Ready((None, 1)));

        let long = (0..5).map(|_| Message::text("x".repeat(800)));
        outbox.push_together(long);
        assert_eq!(take(&outbox), Poll::Ready((None, 5)));
    }

    #[test]
    fn taking_makes_room() {
        let outbox = Outbox::new(1000);
        for _ in 0..5 {
            outbox.push(Message::text("x".repeat(800)));
            assert_eq!(take(&outbox), Poll::Ready((None, 1)));
        }
    }

    #[test]
    fn what_waits_is_sent_before_the_end() {
        let outbox = Outbox::new(1000);
        outbox.push(Message::text("last words"));
        outbox.end(End::Disconnected);
        outbox.push(Message::text("too late"));

        assert_eq!(take(&outbox), Poll::Ready((Some(End::Disconnected), 1)));
        assert_eq!(outbox.unsent(), 1);
    }
}
