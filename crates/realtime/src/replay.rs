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

    /// The newest of them, the oldest first. Nothing is missing that was told before.
    pub(crate) async fn load(self, db: &ProjectDb, sub_topic: &str) -> Result<Replay, DbError> {
        let mut connection = db.as_service(Service::Realtime).await?;
        if let Err(error) = commits::settle(&mut connection).await {
            tracing::warn!("a message may be missing between the past and the present: {error}");
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

impl Replay {
    /// The numbers of the messages.
    pub(crate) fn ids(&self) -> Vec<Box<str>> {
        self.0.iter().map(|message| message.id.clone()).collect()
    }

    /// Takes one of them out.
    pub(crate) fn take(&mut self, id: &str) -> Option<Replayed> {
        let place = self.0.iter().position(|message| *message.id == *id)?;
        Some(self.0.remove(place))
    }

    /// All of them, the oldest first.
    pub(crate) fn messages(self) -> impl Iterator<Item = Replayed> {
        self.0.into_iter()
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
}
