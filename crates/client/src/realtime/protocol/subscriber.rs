//! Subscribers of a channel's events.

use crate::realtime::event::ChannelEvent;
use crate::realtime::queue::Queue;

/// One event stream and its filter.
pub(in crate::realtime) struct Subscriber {
    pub(in crate::realtime) filter: EventFilter,
    pub(in crate::realtime) queue: Queue<ChannelEvent>,
}

/// Which events a stream receives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::realtime) enum EventFilter {
    Everything,
    /// Broadcasts of this event name, ignoring case; `*` for all.
    Broadcasts(String),
    Presence,
    /// Row changes of this entry of the join.
    Changes(usize),
    System,
    Statuses,
}

impl EventFilter {
    /// Row changes are matched by the caller, which knows the entries.
    pub(super) fn covers(&self, event: &ChannelEvent) -> bool {
        match (self, event) {
            (Self::Everything, _)
            | (Self::Presence, ChannelEvent::Presence(_))
            | (Self::System, ChannelEvent::System(_))
            | (Self::Statuses, ChannelEvent::Status(_)) => true,
            (Self::Broadcasts(name), ChannelEvent::Broadcast(broadcast)) => {
                name == "*" || name.to_lowercase() == broadcast.event.to_lowercase()
            }
            // Streams of row changes must learn that none will be delivered.
            (Self::Changes(_), ChannelEvent::System(system)) => {
                system.extension == "postgres_changes" && !system.is_ok()
            }
            _ => false,
        }
    }
}
