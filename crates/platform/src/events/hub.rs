//! The latest events in memory, and the streams that get new ones.

use std::{collections::VecDeque, sync::Arc};

use plinth_db::DbError;
use tokio::sync::{Mutex, broadcast};

use super::{Event, KEPT_EVENTS};
use crate::Platform;

/// How many events a stream may lag behind before it reads them again.
const STREAM_CAPACITY: usize = 256;

/// The events of this node. They are read when the first stream opens.
pub(crate) struct Hub {
    ring: Mutex<Option<Ring>>,
    live: broadcast::Sender<Arc<Event>>,
}

impl Default for Hub {
    fn default() -> Self {
        Self {
            ring: Mutex::default(),
            live: broadcast::Sender::new(STREAM_CAPACITY),
        }
    }
}

/// A stream's share: what it missed, and what comes.
pub(crate) struct Subscription {
    /// The id of the latest event, seen or not.
    pub(crate) latest: i64,
    /// What the stream missed; `None` if that cannot be told any more.
    pub(crate) missed: Option<Vec<Arc<Event>>>,
    pub(crate) live: broadcast::Receiver<Arc<Event>>,
}

impl Hub {
    /// Reads what is new, and sends it to the streams in order.
    pub(super) async fn catch_up(&self, platform: &Platform) -> Result<(), DbError> {
        let mut ring = self.ring.lock().await;
        let Some(ring) = ring.as_mut() else {
            return Ok(());
        };
        loop {
            let events = newer_than(platform, ring.latest).await?;
            let is_all = events.len() < KEPT_EVENTS;
            for event in events {
                let event = Arc::new(event);
                ring.push(event.clone());
                // An error says that there are no streams.
                _ = self.live.send(event);
            }
            if is_all {
                return Ok(());
            }
        }
    }

    /// Sends an event that is not kept.
    pub(super) fn send(&self, event: Event) {
        _ = self.live.send(Arc::new(event));
    }

    /// Everything behind the event of this id, and what comes; without an id only the latter.
    pub(crate) async fn subscribe(
        &self,
        platform: &Platform,
        after: Option<i64>,
    ) -> Result<Subscription, DbError> {
        {
            let mut ring = self.ring.lock().await;
            if ring.is_none() {
                *ring = Some(Ring::of(latest(platform).await?));
            }
        }
        self.catch_up(platform).await?;
        let ring = self.ring.lock().await;
        let ring = ring.as_ref();
        Ok(Subscription {
            latest: ring.map_or(0, |ring| ring.latest),
            missed: match (ring, after) {
                (Some(ring), Some(after)) => ring.behind(after),
                _ => Some(Vec::new()),
            },
            // Within the lock, so that no event falls between the two.
            live: self.live.subscribe(),
        })
    }
}

/// The latest events, in the order of their ids.
struct Ring {
    events: VecDeque<Arc<Event>>,
    /// Everything behind this id is here.
    floor: i64,
    latest: i64,
}

impl Ring {
    fn of(events: Vec<Event>) -> Self {
        let is_whole = events.len() < KEPT_EVENTS;
        let first = events.first().and_then(|event| event.id).unwrap_or(0);
        Self {
            floor: if is_whole { 0 } else { first - 1 },
            latest: events.last().and_then(|event| event.id).unwrap_or(0),
            events: events.into_iter().map(Arc::new).collect(),
        }
    }

    fn push(&mut self, event: Arc<Event>) {
        self.latest = event.id.unwrap_or(self.latest);
        self.events.push_back(event);
        if self.events.len() > KEPT_EVENTS
            && let Some(oldest) = self.events.pop_front()
        {
            self.floor = oldest.id.unwrap_or(self.floor);
        }
    }

    /// `None` if some of them are gone, or the id is none of this installation's.
    fn behind(&self, after: i64) -> Option<Vec<Arc<Event>>> {
        if !(self.floor..=self.latest).contains(&after) {
            return None;
        }
        let events = self.events.iter();
        Some(
            events
                .filter(|event| event.id > Some(after))
                .cloned()
                .collect(),
        )
    }
}

async fn latest(platform: &Platform) -> Result<Vec<Event>, DbError> {
    let sql = "select id, at, type, project, data
               from (select * from platform.events order by id desc limit $1) as latest
               order by id";
    let tables = platform.tables().await?;
    let limit = i64::try_from(KEPT_EVENTS).unwrap_or(i64::MAX);
    let rows = tables.query(sql, &[&limit]).await?;
    Ok(rows.iter().map(Event::from_row).collect())
}

async fn newer_than(platform: &Platform, id: i64) -> Result<Vec<Event>, DbError> {
    let sql = "select id, at, type, project, data from platform.events
               where id > $1 order by id limit $2";
    let tables = platform.tables().await?;
    let limit = i64::try_from(KEPT_EVENTS).unwrap_or(i64::MAX);
    let rows = tables.query(sql, &[&id, &limit]).await?;
    Ok(rows.iter().map(Event::from_row).collect())
}

#[cfg(test)]
mod tests {
    use time::OffsetDateTime;

    use super::*;

    fn events(ids: impl IntoIterator<Item = i64>) -> Vec<Event> {
        ids.into_iter()
            .map(|id| Event {
                id: Some(id),
                at: OffsetDateTime::UNIX_EPOCH,
                kind: "job.started".to_owned(),
                project: None,
                details: serde_json::Map::new(),
            })
            .collect()
    }

    fn behind(ring: &Ring, after: i64) -> Option<Vec<i64>> {
        let events = ring.behind(after)?;
        Some(events.iter().filter_map(|event| event.id).collect())
    }

    #[test]
    fn a_short_history_is_whole() {
        let ring = Ring::of(events([3, 5, 9]));

        assert_eq!(behind(&ring, 0), Some(vec![3, 5, 9]));
        assert_eq!(behind(&ring, 4), Some(vec![5, 9]));
        assert_eq!(behind(&ring, 9), Some(vec![]));
    }

    #[test]
    fn an_id_that_never_was_is_told_from_one_at_the_end() {
        let ring = Ring::of(events([3, 5, 9]));

        assert_eq!(behind(&ring, 10), None);
        assert_eq!(behind(&ring, -1), None);
        assert_eq!(behind(&Ring::of(Vec::new()), 1), None);
        assert_eq!(behind(&Ring::of(Vec::new()), 0), Some(vec![]));
    }

    #[test]
    fn what_was_dropped_cannot_be_replayed() {
        let mut ring = Ring::of(events(101..1101));
        assert_eq!(behind(&ring, 99), None);
        assert_eq!(behind(&ring, 100).map(|ids| ids.len()), Some(1000));

        for event in events([1101]) {
            ring.push(Arc::new(event));
        }

        assert_eq!(behind(&ring, 100), None);
        assert_eq!(behind(&ring, 101).map(|ids| ids.len()), Some(1000));
        assert_eq!(ring.latest, 1101);
    }
}
