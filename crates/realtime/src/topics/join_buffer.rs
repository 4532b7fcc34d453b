//! Database messages that arrive while a join with replay is in flight (§6.5).
//!
//! The replay query runs before the channel is a member. A message that is broadcast in between is
//! in neither the query's result nor the member's queue, so it is buffered here.

use std::{
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use crate::protocol::Broadcast;

/// A replay query takes milliseconds. If more arrives meanwhile, the join is rejected.
const MAX_MESSAGES: usize = 1_000;
const MAX_BYTES: usize = 4 << 20;

/// A broadcast of a database message, with the message's id.
pub(super) type MessageWithId = (Box<str>, Broadcast);

/// The buffer of one join.
#[derive(Debug, Default)]
pub(crate) struct JoinBuffer(Mutex<Buffered>);

#[derive(Debug, Default)]
struct Buffered {
    messages: Vec<MessageWithId>,
    bytes: usize,
    has_overflowed: bool,
}

impl JoinBuffer {
    fn buffered(&self) -> MutexGuard<'_, Buffered> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, id: &str, broadcast: &Broadcast) {
        let mut buffered = self.buffered();
        buffered.bytes += broadcast.len();
        buffered.has_overflowed |=
            buffered.messages.len() >= MAX_MESSAGES || buffered.bytes > MAX_BYTES;
        if buffered.has_overflowed {
            buffered.messages = Vec::new();
        } else {
            buffered.messages.push((id.into(), broadcast.clone()));
        }
    }

    /// Whether messages were dropped because there were too many.
    pub(crate) fn has_overflowed(&self) -> bool {
        self.buffered().has_overflowed
    }

    /// All messages, in order.
    pub(super) fn take(&self) -> Vec<MessageWithId> {
        mem::take(&mut self.buffered().messages)
    }
}

/// The buffers of all joins of a topic that are in flight; a join removes its own by dropping it.
#[derive(Debug, Default)]
pub(super) struct JoinBuffers(Mutex<Vec<Weak<JoinBuffer>>>);

impl JoinBuffers {
    fn all(&self) -> MutexGuard<'_, Vec<Weak<JoinBuffer>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn create(&self) -> Arc<JoinBuffer> {
        let buffer = Arc::default();
        let mut all = self.all();
        all.retain(|buffer| buffer.strong_count() > 0);
        all.push(Arc::downgrade(&buffer));
        buffer
    }

    pub(super) fn add_to_all(&self, id: &str, broadcast: &Broadcast) {
        self.all().retain(|buffer| match buffer.upgrade() {
            Some(buffer) => {
                buffer.add(id, broadcast);
                true
            }
            None => false,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_that_overflows_keeps_nothing() {
        let fill = |count: usize, bytes: usize| {
            let all = JoinBuffers::default();
            let buffer = all.create();
            for number in 0..count {
                let broadcast = Broadcast::Verbatim("x".repeat(bytes).into());
                all.add_to_all(&number.to_string(), &broadcast);
            }
            (buffer.has_overflowed(), buffer.take().len())
        };

        assert_eq!(fill(3, 10), (false, 3));
        assert_eq!(fill(MAX_MESSAGES, 1), (false, MAX_MESSAGES));
        assert_eq!(fill(MAX_MESSAGES + 1, 1), (true, 0));
        assert_eq!(fill(5, 1 << 20), (true, 0));
    }

    #[test]
    fn a_dropped_buffer_is_removed() {
        let all = JoinBuffers::default();
        drop(all.create());
        all.add_to_all("1", &Broadcast::Verbatim("{}".into()));
        assert!(all.all().is_empty());
    }
}
