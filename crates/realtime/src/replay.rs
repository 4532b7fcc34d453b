//! Messages that the database sent before somebody joined (§6.5).

use axum::extract::ws::Message;
use bytes::Bytes;
use plinth_db::{DbError, Queries as _, Row};
use plinth_project::{ProjectDb, Service};
use serde_json::Value;
use time::OffsetDateTime;

use crate::{
    delivery::commits,
    protocol::{Body, Broadcast, Frame, Ref, UserBroadcast, Version},
};

const MOST: i64 = 25;

/// From when on, and how many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ReplayWish {
    since: OffsetDateTime,
    limit: i64,
}

/// The wish makes no sense.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BadReplay;

impl ReplayWish {
    /// Reads `{"since": <ms>, "limit": <n>}`.
    pub(crate) fn read(wish: &Value) -> Result<Self, BadReplay> {
        let since = wish.get("since").and_then(Value::as_i64).ok_or(BadReplay)?;
        let since = OffsetDateTime::from_unix_timestamp_nanos(i128::from(since) * 1_000_000);
        let limit = match wish.get("limit") {
            None | Some(Value::Null) => MOST,
            Some(limit) => limit.as_i64().ok_or(BadReplay)?,
        };
        Ok(Self {
            since: since.map_err(|_| BadReplay)?,
            limit: limit.clamp(1, MOST),
        })
    }

    /// The newest of them, the oldest first. Nothing is missing that was told before, in these
    /// transactions or, as a rule, on other nodes.
    pub(crate) async fn load(
        self,
        db: &ProjectDb,
        sub_topic: &str,
        told: Vec<u32>,
    ) -> Result<Replay, DbError> {
        let mut connection = db.as_service(Service::Realtime).await?;
        if let Err(error) = commits::settle(&mut connection, told).await {
            tracing::warn!("messages may be missing between the past and the present: {error}");
        }
        let rows = connection
            .query(
                "select id::text, event, payload::text, binary_payload
                 from realtime.messages
                 where topic = $1
                   and private
                   and extension = 'broadcast'
                   and inserted_at >= timezone('utc', $2::timestamptz)
                   and inserted_at < timezone('utc', now()) + interval '1 minute'
                 order by inserted_at desc, id desc
                 limit $3",
                &[&sub_topic, &self.since, &self.limit],
            )
            .await?;
        let messages = rows.iter().rev().filter_map(Replay::message).collect();
        Ok(Replay(messages))
    }
}

/// What somebody is told again.
#[derive(Debug, Default)]
pub(crate) struct Replay(Vec<Replayed>);

#[derive(Debug)]
pub(crate) struct Replayed {
    id: Box<str>,
    broadcast: UserBroadcast,
}

/// What somebody hears first.
#[derive(Debug)]
pub(crate) enum Opening {
    Again(Replayed),
    First(Broadcast),
}

impl Replay {
    /// The numbers of the messages.
    pub(crate) fn ids(&self) -> Vec<Box<str>> {
        self.0.iter().map(|message| message.id.clone()).collect()
    }

    /// All of them and what was told while they were read, some of which is both: each once, in
    /// the order in which everybody else was told.
    pub(crate) fn and(self, told: Vec<(Box<str>, Broadcast)>) -> Vec<Opening> {
        let place = |id: &str| self.0.iter().position(|message| *message.id == *id);
        let places: Vec<Option<usize>> = told.iter().map(|(id, _)| place(id)).collect();
        let are_both = places.iter().rposition(Option::is_some);
        let are_both = are_both.map_or(0, |last| last + 1);
        let mut past: Vec<Option<Replayed>> = self.0.into_iter().map(Some).collect();
        let mut all = Vec::with_capacity(past.len() + told.len());
        for (index, ((_, broadcast), place)) in told.into_iter().zip(&places).enumerate() {
            if index == are_both {
                // From here on all of it is newer than the past.
                all.extend(past.iter_mut().filter_map(Option::take).map(Opening::Again));
            }
            let Some(place) = *place else {
                // Before the newest of the past, but not one of as many as were wished for.
                all.push(Opening::First(broadcast));
                continue;
            };
            for earlier in (0..place).filter(|earlier| !places.contains(&Some(*earlier))) {
                all.extend(past[earlier].take().map(Opening::Again));
            }
            all.extend(past[place].take().map(Opening::Again));
        }
        all.extend(past.into_iter().flatten().map(Opening::Again));
        all
    }

    fn message(row: &Row) -> Option<Replayed> {
        let id: &str = row.try_get(0).ok()?;
        let event: &str = row.try_get(1).ok()?;
        let json: Option<&str> = row.try_get(2).ok()?;
        let bytes: Option<&[u8]> = row.try_get(3).ok()?;
        let body = match (bytes, json) {
            (Some(bytes), _) => Body::Bytes(Bytes::copy_from_slice(bytes)),
            (None, Some(json)) => Body::Json(Bytes::copy_from_slice(json.as_bytes())),
            (None, None) => return None,
        };
        Some(Replayed {
            id: id.into(),
            broadcast: UserBroadcast {
                event: event.into(),
                body,
                meta: Some(format!("{{\"id\":\"{id}\",\"replayed\":true}}").into()),
            },
        })
    }
}

impl Replayed {
    /// Texts are meant for one join and say so; bytes cannot.
    pub(crate) fn encode(
        self,
        version: Version,
        join_ref: Option<&Ref>,
        topic: &str,
    ) -> Option<Message> {
        let Some(payload) = self.broadcast.as_payload() else {
            return Broadcast::User(self.broadcast).encode(version, topic);
        };
        let frame = Frame {
            join_ref,
            reference: None,
            topic,
            event: "broadcast",
            payload: &payload,
        };
        Some(frame.encode(version))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_wish_needs_a_time_and_its_limit_is_bounded() {
        let limit = |wish| ReplayWish::read(&wish).map(|wish| wish.limit);
        assert_eq!(limit(json!({"since": 1})), Ok(25));
        assert_eq!(limit(json!({"since": 1, "limit": null})), Ok(25));
        assert_eq!(limit(json!({"since": 1, "limit": 0})), Ok(1));
        assert_eq!(limit(json!({"since": 1, "limit": 99})), Ok(25));
        for bad in [
            json!({}),
            json!([]),
            json!({"since": "1"}),
            json!({"since": 1.5}),
            json!({"since": i64::MAX}),
            json!({"since": 1, "limit": "2"}),
        ] {
            assert_eq!(limit(bad.clone()), Err(BadReplay), "{bad}");
        }
    }
    #[test]
    fn the_past_and_the_present_come_in_one_order() {
        let order = |past: &[&str], told: &[&str]| {
            let past = past.iter().map(|id| Replayed {
                id: (*id).into(),
                broadcast: UserBroadcast {
                    event: "e".into(),
                    body: Body::Json(Bytes::new()),
                    meta: None,
                },
            });
            let told = told.iter();
            let told = told.map(|id| ((*id).into(), Broadcast::Verbatim((*id).into())));
            let all = Replay(past.collect()).and(told.collect());
            let name = |opening: &Opening| match opening {
                Opening::Again(message) => message.id.to_string(),
                Opening::First(Broadcast::Verbatim(id)) => format!("+{id}"),
                Opening::First(other) => panic!("{other:?}"),
            };
            all.iter().map(name).collect::<Vec<_>>().join(" ")
        };

        assert_eq!(order(&["1", "2"], &[]), "1 2");
        assert_eq!(order(&[], &["1", "2"]), "+1 +2");
        assert_eq!(order(&["1", "2"], &["3", "4"]), "1 2 +3 +4");
        // The stream is slower than whoever reads, or quicker.
        assert_eq!(order(&["1", "2", "3", "4"], &["2"]), "1 2 3 4");
        assert_eq!(order(&["1", "2", "3"], &["2", "3", "4"]), "1 2 3 +4");
        // Not all that was told is among the newest.
        assert_eq!(order(&["3", "4"], &["1", "2", "3"]), "+1 +2 3 4");
        // Two who committed in another order than they began in.
        assert_eq!(order(&["1", "2", "3"], &["3", "2"]), "1 3 2");
    }
}
