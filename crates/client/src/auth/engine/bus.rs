//! Session events between processes (client contract S41, S42).

use std::sync::{Arc, PoisonError};

use futures_util::StreamExt;

use super::{AuthEvent, Engine};
use crate::runtime::{self, BoxStream, MaybeSend, MaybeSync};
use crate::session::Session;

/// A message between clients that share a session.
#[derive(Clone, Debug)]
pub struct BusMessage {
    /// What happened.
    pub event: AuthEvent,
    /// The session from then on.
    pub session: Option<Session>,
}

/// Transports messages between clients with the same storage key, in this process or others. There is none by
/// default. A client must not receive its own messages.
pub trait SessionBus: MaybeSend + MaybeSync + 'static {
    /// Sends a message to the others. Must not block.
    fn publish(&self, storage_key: &str, message: BusMessage);

    /// Messages of the others, from now on.
    fn subscribe(&self, storage_key: &str) -> BoxStream<'static, BusMessage>;
}

impl Engine {
    /// Forwards messages of others to our subscribers, without touching the store and without publishing them
    /// again.
    pub(super) fn listen(self: &Arc<Self>) {
        let Some(bus) = &self.settings.bus else {
            return;
        };
        let mut messages = bus.subscribe(&self.settings.storage_key);
        let engine = Arc::downgrade(self);
        let task = runtime::spawn(async move {
            while let Some(message) = messages.next().await {
                let Some(engine) = engine.upgrade() else {
                    return;
                };
                if matches!(
                    message.event,
                    AuthEvent::TokenRefreshed | AuthEvent::SignedIn
                ) {
                    engine.clear_cool_down();
                }
                engine.subscribers.deliver(message.event, message.session);
            }
        });
        *self.listener.lock().unwrap_or_else(PoisonError::into_inner) = task;
    }

    /// Notifies our subscribers and other processes.
    pub(crate) fn emit(&self, event: AuthEvent, session: Option<&Session>) {
        self.subscribers.emit(event, session.cloned());
        if let Some(bus) = &self.settings.bus {
            let session = session.cloned();
            bus.publish(&self.settings.storage_key, BusMessage { event, session });
        }
    }
}
