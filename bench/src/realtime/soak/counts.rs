//! Counters of sent and received messages.

use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};

use tokio::time::{Instant, sleep};

use crate::realtime::client::Frames;

/// First byte of a broadcast in its binary form.
const BROADCAST: u8 = 4;

/// Counted by all sockets together, without visitors: whether they are there in time is not known.
#[derive(Default)]
pub(super) struct Counts {
    pub(super) joined: AtomicU64,
    pub(super) left: AtomicU64,
    pub(super) vanished: AtomicU64,
    /// Permanent sockets that were closed.
    pub(super) lost_sockets: AtomicU64,
    pub(super) broadcasts_due: AtomicU64,
    broadcasts: AtomicU64,
    pub(super) changes_due: AtomicU64,
    changes: AtomicU64,
    presence: AtomicU64,
}

impl Counts {
    pub(super) fn add(&self, counter: impl FnOnce(&Self) -> &AtomicU64, count: u64) {
        counter(self).fetch_add(count, Relaxed);
    }

    /// Counts frames received by a permanent socket.
    pub(super) fn count_frames(&self, frames: &mut Frames<'_>) {
        for payload in frames {
            match kind(payload) {
                Some(Kind::Broadcast) => self.add(|counts| &counts.broadcasts, 1),
                Some(Kind::Change) => self.add(|counts| &counts.changes, 1),
                Some(Kind::Presence) => self.add(|counts| &counts.presence, 1),
                None => {}
            }
        }
    }

    pub(super) fn expected(&self) -> u64 {
        self.broadcasts_due.load(Relaxed) + self.changes_due.load(Relaxed)
    }

    /// Surplus counts as much as loss.
    pub(super) fn missing(&self) -> u64 {
        let difference =
            |due: &AtomicU64, came: &AtomicU64| due.load(Relaxed).abs_diff(came.load(Relaxed));
        difference(&self.broadcasts_due, &self.broadcasts)
            + difference(&self.changes_due, &self.changes)
    }

    /// Waits for messages in flight.
    pub(super) async fn wait_for_arrivals(&self, timeout: Duration) {
        let end = Instant::now() + timeout;
        while self.missing() > 0 && Instant::now() < end {
            sleep(Duration::from_millis(50)).await;
        }
    }

    pub(super) fn rows(&self) -> Vec<Vec<String>> {
        let row =
            |what: &str, count: &AtomicU64| vec![what.to_owned(), count.load(Relaxed).to_string()];
        vec![
            row("channels joined", &self.joined),
            row("left in good order", &self.left),
            row("vanished", &self.vanished),
            row("sockets lost", &self.lost_sockets),
            row("broadcasts received", &self.broadcasts),
            row("row changes delivered", &self.changes),
            row("presence messages received", &self.presence),
        ]
    }
}

enum Kind {
    Broadcast,
    Change,
    Presence,
}

/// Messages of the database are broadcasts like any other.
fn kind(payload: &[u8]) -> Option<Kind> {
    if payload.first() == Some(&BROADCAST) {
        return Some(Kind::Broadcast);
    }
    // `[join_ref,ref,topic,event,…]`, none of which has a comma.
    let event = payload.split(|byte| *byte == b',').nth(3)?;
    match event {
        br#""postgres_changes""# => Some(Kind::Change),
        br#""presence_diff""# | br#""presence_state""# => Some(Kind::Presence),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_distinguished_and_what_is_missing_is_known() {
        let text = br#"[null,null,"realtime:x","postgres_changes",{"ids":[1],"data":{}}]"#;
        let mut bytes = vec![0x81, text.len() as u8];
        bytes.extend(text);
        bytes.extend([0x82, 2, BROADCAST, 0]);
        let counts = Counts::default();
        counts.add(|counts| &counts.changes_due, 1);
        counts.add(|counts| &counts.broadcasts_due, 2);

        counts.count_frames(&mut Frames::of(&bytes));

        assert_eq!((counts.missing(), counts.expected()), (1, 3));
    }
}
