//! Telling other processes with the same session (client contract S41, S42).

use std::sync::{Arc, PoisonError};

use futures_util::StreamExt;

use super::{AuthEvent, Engine};
use crate::runtime::{self, BoxStream, MaybeSend, MaybeSync};
use crate::session::Session;

/// What clients that share a session tell each other.
#[derive(Clone, Debug)]
pub struct BusMessage {
    /// What happened.
    pub event: AuthEvent,
    /// The session from then on.
    pub session: Option<Session>,
}

/// Carries messages between clients with the same storage key, in this process or others. There
/// is none by default. A client must not get its own messages back.
pub trait SessionBus: MaybeSend + MaybeSync + 'static {
    /// Tells the others. Must not block.
    fn publish(&self, storage_key: &str, message: BusMessage);

    /// What the others say, from now on.
    fn subscribe(&self, storage_key: &str) -> BoxStream<'static, BusMessage>;
}

impl Engine {
    /// Passes on to our subscribers what others say, without touching the store and without
    /// telling it on.
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
                engine.hub.deliver(message.event, message.session);
            }
        });
        *self.listener.lock().unwrap_or_else(PoisonError::into_inner) = task;
    }

    /// Tells our subscribers, and other processes.
    pub(crate) fn emit(&self, event: AuthEvent, session: Option<&Session>) {
        self.hub.emit(event, session.cloned());
        if let Some(bus) = &self.settings.bus {
            let session = session.cloned();
            bus.publish(&self.settings.storage_key, BusMessage { event, session });
        }
    }
}
