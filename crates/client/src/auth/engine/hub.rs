//! Who listens, and in which order they hear (client contract S37, S39).

use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use futures_util::{FutureExt, Stream};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::{AuthEvent, Engine};
use crate::runtime::BoxFuture;
use crate::session::Session;

type Notice = (AuthEvent, Option<Session>);

/// Subscribers, and what waits for the start to be over. A slow subscriber delays nobody: each
/// has a channel of its own.
pub(super) struct Hub(Mutex<State>);

struct State {
    subscribers: Vec<UnboundedSender<Notice>>,
    /// Until the client has started, events wait here.
    waiting: Option<Vec<Notice>>,
}

impl Default for Hub {
    fn default() -> Self {
        Self(Mutex::new(State {
            subscribers: Vec::new(),
            waiting: Some(Vec::new()),
        }))
    }
}

impl Hub {
    /// Delivers an event, or keeps it until the start is over.
    pub(super) fn emit(&self, event: AuthEvent, session: Option<Session>) {
        let mut state = self.state();
        match &mut state.waiting {
            Some(waiting) => waiting.push((event, session)),
            None => state.deliver((event, session)),
        }
    }

    /// Delivers an event at once, as messages from other processes are (S41).
    pub(super) fn deliver(&self, event: AuthEvent, session: Option<Session>) {
        self.state().deliver((event, session));
    }

    /// The start is over: delivers what has waited, in order.
    pub(super) fn open(&self) {
        let mut state = self.state();
        for notice in state.waiting.take().unwrap_or_default() {
            state.deliver(notice);
        }
    }

    fn subscribe(&self) -> (UnboundedSender<Notice>, UnboundedReceiver<Notice>) {
        let (sender, receiver) = unbounded_channel();
        self.state().subscribers.push(sender.clone());
        (sender, receiver)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn deliver(&mut self, notice: Notice) {
        // Whoever has left is forgotten on the way.
        self.subscribers
            .retain(|subscriber| subscriber.send(notice.clone()).is_ok());
    }
}

impl Engine {
    pub(crate) fn events(self: &Arc<Self>) -> AuthEvents {
        let (sender, receiver) = self.hub.subscribe();
        let engine = self.clone();
        let initial = async move {
            engine.ready().await;
            let session = engine.load().await.ok().flatten();
            // Through the same channel, so that it comes after what happened before.
            _ = sender.send((AuthEvent::InitialSession, session));
        };
        AuthEvents {
            initial: Some(Box::pin(initial)),
            receiver,
        }
    }
}

/// What happens to the session, as a stream. It ends when the last handle of its client is gone.
///
/// The first item is [`AuthEvent::InitialSession`]; only if the client was still starting when
/// you subscribed, what the start found (`SignedIn`, `TokenRefreshed`, `SignedOut`) comes before.
#[must_use = "a stream does nothing unless it is polled"]
pub struct AuthEvents {
    initial: Option<BoxFuture<'static, ()>>,
    receiver: UnboundedReceiver<Notice>,
}

impl Stream for AuthEvents {
    type Item = Notice;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Notice>> {
        if let Some(initial) = &mut self.initial
            && initial.poll_unpin(context).is_ready()
        {
            self.initial = None;
        }
        self.receiver.poll_recv(context)
    }
}

impl fmt::Debug for AuthEvents {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("AuthEvents").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s37_events_wait_for_the_start_and_keep_their_order() {
        let hub = Hub::default();
        let (_sender, mut receiver) = hub.subscribe();

        hub.emit(AuthEvent::TokenRefreshed, None);
        hub.emit(AuthEvent::SignedIn, None);
        assert!(receiver.try_recv().is_err());
        // What other processes say does not wait (S41).
        hub.deliver(AuthEvent::UserUpdated, None);
        assert_eq!(receiver.try_recv().unwrap().0, AuthEvent::UserUpdated);

        hub.open();
        assert_eq!(receiver.try_recv().unwrap().0, AuthEvent::TokenRefreshed);
        assert_eq!(receiver.try_recv().unwrap().0, AuthEvent::SignedIn);
        hub.emit(AuthEvent::PasswordRecovery, None);
        assert_eq!(receiver.try_recv().unwrap().0, AuthEvent::PasswordRecovery);
    }

    #[test]
    fn whoever_has_left_is_forgotten() {
        let hub = Hub::default();
        drop(hub.subscribe());
        hub.open();

        hub.emit(AuthEvent::SignedIn, None);

        assert!(hub.state().subscribers.is_empty());
    }
}
