//! Who listens to what on a channel.

use crate::realtime::event::ChannelEvent;
use crate::realtime::queue::Queue;

/// One stream, and what it is about.
pub(in crate::realtime) struct Listener {
    pub(in crate::realtime) wants: Wants,
    pub(in crate::realtime) queue: Queue<ChannelEvent>,
}

/// What a stream is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::realtime) enum Wants {
    Everything,
    /// Broadcasts of this name, in any case of letters; `*` for all.
    Broadcasts(String),
    Presence,
    /// Changes that this entry of the join asks for.
    Changes(usize),
    System,
    Statuses,
}

impl Wants {
    /// Row changes are told apart by those who know the entries.
    pub(super) fn covers(&self, event: &ChannelEvent) -> bool {
        match (self, event) {
            (Self::Everything, _)
            | (Self::Presence, ChannelEvent::Presence(_))
            | (Self::System, ChannelEvent::System(_))
            | (Self::Statuses, ChannelEvent::Status(_)) => true,
            (Self::Broadcasts(name), ChannelEvent::Broadcast(broadcast)) => {
                name == "*" || name.to_lowercase() == broadcast.event.to_lowercase()
            }
            // Whoever waits for changes must hear that none will come.
            (Self::Changes(_), ChannelEvent::System(system)) => {
                system.extension == "postgres_changes" && !system.is_ok()
            }
            _ => false,
        }
    }
}
