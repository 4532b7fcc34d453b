//! Event subscribers and the order of delivery (client contract S37, S39).

use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use futures_util::{FutureExt, Stream};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::{AuthEvent, Engine};
use crate::runtime::BoxFuture;
use crate::session::Session;

type Notification = (AuthEvent, Option<Session>);

/// Subscribers, and events queued until the client has started. Each subscriber has a channel of its own, so a
/// slow one delays no other.
pub(super) struct EventSubscribers(Mutex<State>);

struct State {
    subscribers: Vec<UnboundedSender<Notification>>,
    /// Events queued until the client has started.
    queued: Option<Vec<Notification>>,
}

impl Default for EventSubscribers {
    fn default() -> Self {
        Self(Mutex::new(State {
            subscribers: Vec::new(),
            queued: Some(Vec::new()),
        }))
    }
}

impl EventSubscribers {
    /// Delivers an event, or queues it until the client has started.
    pub(super) fn emit(&self, event: AuthEvent, session: Option<Session>) {
        let mut state = self.state();
        match &mut state.queued {
            Some(queued) => queued.push((event, session)),
            None => state.deliver((event, session)),
        }
    }

    /// Delivers an event immediately, as for messages of other processes (S41).
    pub(super) fn deliver(&self, event: AuthEvent, session: Option<Session>) {
        self.state().deliver((event, session));
    }

    /// The client has started: delivers queued events in order.
    pub(super) fn start_delivery(&self) {
        let mut state = self.state();
        for notification in state.queued.take().unwrap_or_default() {
            state.deliver(notification);
        }
    }

    fn subscribe(
        &self,
    ) -> (
        UnboundedSender<Notification>,
        UnboundedReceiver<Notification>,
    ) {
        let (sender, receiver) = unbounded_channel();
        self.state().subscribers.push(sender.clone());
        (sender, receiver)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn deliver(&mut self, notification: Notification) {
        // Also removes subscribers that are gone.
        self.subscribers
            .retain(|subscriber| subscriber.send(notification.clone()).is_ok());
    }
}

impl Engine {
    pub(crate) fn events(self: &Arc<Self>) -> AuthEvents {
        let (sender, receiver) = self.subscribers.subscribe();
        let engine = self.clone();
        let initial = async move {
            engine.ready().await;
            let session = engine.load().await.ok().flatten();
            // Through the same channel, to keep the order.
            _ = sender.send((AuthEvent::InitialSession, session));
        };
        AuthEvents {
            initial: Some(Box::pin(initial)),
            receiver,
        }
    }
}

/// Session events, as a stream. It ends when the last handle of its client is dropped.
///
/// The first item is [`AuthEvent::InitialSession`]; only if the client was still starting when you subscribed,
/// the events of the start (`SignedIn`, `TokenRefreshed`, `SignedOut`) precede it.
#[must_use = "a stream does nothing unless it is polled"]
pub struct AuthEvents {
    initial: Option<BoxFuture<'static, ()>>,
    receiver: UnboundedReceiver<Notification>,
}

impl Stream for AuthEvents {
    type Item = Notification;

    fn poll_next(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Notification>> {
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
        let subscribers = EventSubscribers::default();
        let (_sender, mut receiver) = subscribers.subscribe();

        subscribers.emit(AuthEvent::TokenRefreshed, None);
        subscribers.emit(AuthEvent::SignedIn, None);
        assert!(receiver.try_recv().is_err());
        // Messages of other processes are not queued (S41).
        subscribers.deliver(AuthEvent::UserUpdated, None);
        assert_eq!(receiver.try_recv().unwrap().0, AuthEvent::UserUpdated);

        subscribers.start_delivery();
        assert_eq!(receiver.try_recv().unwrap().0, AuthEvent::TokenRefreshed);
        assert_eq!(receiver.try_recv().unwrap().0, AuthEvent::SignedIn);
        subscribers.emit(AuthEvent::PasswordRecovery, None);
        assert_eq!(receiver.try_recv().unwrap().0, AuthEvent::PasswordRecovery);
    }

    #[test]
    fn dropped_subscribers_are_removed() {
        let subscribers = EventSubscribers::default();
        drop(subscribers.subscribe());
        subscribers.start_delivery();

        subscribers.emit(AuthEvent::SignedIn, None);

        assert!(subscribers.state().subscribers.is_empty());
    }
}
