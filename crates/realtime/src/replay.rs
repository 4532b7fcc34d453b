//! Replay: rows of `realtime.messages` from before a channel joined (§6.5).

use axum::extract::ws::Message;
use bytes::Bytes;
use plinth_db::{DbError, Queries as _, Row};
use plinth_project::{ProjectDb, Service};
use serde_json::Value;
use time::OffsetDateTime;

use crate::{
    commit_visibility,
    protocol::{Body, Broadcast, Frame, Ref, UserBroadcast, Version},
};

/// Largest and default number of messages.
const MAX_MESSAGES: i64 = 25;

/// What a join asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ReplayRequest {
    since: OffsetDateTime,
    limit: i64,
}

/// `replay` does not have the expected form.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct InvalidReplay;

impl ReplayRequest {
    /// Parses `{"since": <ms>, "limit": <n>}`.
    pub(crate) fn parse(request: &Value) -> Result<Self, InvalidReplay> {
        let since = request
            .get("since")
            .and_then(Value::as_i64)
            .ok_or(InvalidReplay)?;
        let since = OffsetDateTime::from_unix_timestamp_nanos(i128::from(since) * 1_000_000);
        let limit = match request.get("limit") {
            None | Some(Value::Null) => MAX_MESSAGES,
            Some(limit) => limit.as_i64().ok_or(InvalidReplay)?,
        };
        Ok(Self {
            since: since.map_err(|_| InvalidReplay)?,
            limit: limit.clamp(1, MAX_MESSAGES),
        })
    }

    /// The newest messages, oldest first. Contains everything that was broadcast before: by the
    /// `decoded` transactions for certain, by those of other nodes as a rule.
    pub(crate) async fn load(
        self,
        db: &ProjectDb,
        sub_topic: &str,
        decoded: Vec<u32>,
    ) -> Result<Replay, DbError> {
        let mut connection = db.as_service(Service::Realtime).await?;
        if let Err(error) = commit_visibility::wait_for_decoded(&mut connection, decoded).await {
            tracing::warn!("replay may miss messages: commit visibility is not known: {error}");
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
        let messages = rows
            .iter()
            .rev()
            .filter_map(ReplayedMessage::from_row)
            .collect();
        Ok(Replay(messages))
    }
}

/// Messages to be sent again to one channel.
#[derive(Debug, Default)]
pub(crate) struct Replay(Vec<ReplayedMessage>);

#[derive(Debug)]
pub(crate) struct ReplayedMessage {
    id: Box<str>,
    broadcast: UserBroadcast,
}

/// What a channel receives right after the reply to its join.
#[derive(Debug)]
pub(crate) enum InitialMessage {
    Replayed(ReplayedMessage),
    /// Broadcast while the join was in flight.
    Live(Broadcast),
}

impl Replay {
    /// The ids of the messages.
    pub(crate) fn ids(&self) -> Vec<Box<str>> {
        self.0.iter().map(|message| message.id.clone()).collect()
    }

    /// Merges messages that were broadcast while the replay query ran, some of which it found as
    /// well: each once, in the order in which other channels received them.
    pub(crate) fn merge_live(self, live: Vec<(Box<str>, Broadcast)>) -> Vec<InitialMessage> {
        let position = |id: &str| self.0.iter().position(|message| *message.id == *id);
        let positions: Vec<Option<usize>> = live.iter().map(|(id, _)| position(id)).collect();
        let overlap = positions.iter().rposition(Option::is_some);
        let overlap = overlap.map_or(0, |last| last + 1);
        let mut replayed: Vec<Option<ReplayedMessage>> = self.0.into_iter().map(Some).collect();
        let mut all = Vec::with_capacity(replayed.len() + live.len());
        for (index, ((_, broadcast), position)) in live.into_iter().zip(&positions).enumerate() {
            if index == overlap {
                // All live messages from here on are newer than the replayed ones.
                let rest = replayed.iter_mut().filter_map(Option::take);
                all.extend(rest.map(InitialMessage::Replayed));
            }
            let Some(position) = *position else {
                // Older than the newest replayed message, but beyond the limit of the replay.
                all.push(InitialMessage::Live(broadcast));
                continue;
            };
            for earlier in (0..position).filter(|earlier| !positions.contains(&Some(*earlier))) {
                all.extend(replayed[earlier].take().map(InitialMessage::Replayed));
            }
            all.extend(replayed[position].take().map(InitialMessage::Replayed));
        }
        let rest = replayed.into_iter().flatten();
        all.extend(rest.map(InitialMessage::Replayed));
        all
    }
}

impl ReplayedMessage {
    fn from_row(row: &Row) -> Option<Self> {
        let id: &str = row.try_get(0).ok()?;
        let event: &str = row.try_get(1).ok()?;
        let json: Option<&str> = row.try_get(2).ok()?;
        let bytes: Option<&[u8]> = row.try_get(3).ok()?;
        let body = match (bytes, json) {
            (Some(bytes), _) => Body::Bytes(Bytes::copy_from_slice(bytes)),
            (None, Some(json)) => Body::Json(Bytes::copy_from_slice(json.as_bytes())),
            (None, None) => return None,
        };
        Some(Self {
            id: id.into(),
            broadcast: UserBroadcast {
                event: event.into(),
                body,
                meta: Some(format!("{{\"id\":\"{id}\",\"replayed\":true}}").into()),
            },
        })
    }

    /// JSON is sent as a text frame with the channel's join ref; bytes cannot carry one.
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
    fn a_request_needs_a_time_and_its_limit_is_bounded() {
        let limit = |request| ReplayRequest::parse(&request).map(|request| request.limit);
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
            assert_eq!(limit(bad.clone()), Err(InvalidReplay), "{bad}");
        }
    }

    #[test]
    fn replayed_and_live_messages_come_in_one_order() {
        let order = |replayed: &[&str], live: &[&str]| {
            let replayed = replayed.iter().map(|id| ReplayedMessage {
                id: (*id).into(),
                broadcast: UserBroadcast {
                    event: "e".into(),
                    body: Body::Json(Bytes::new()),
                    meta: None,
                },
            });
            let live = live.iter();
            let live = live.map(|id| ((*id).into(), Broadcast::Verbatim((*id).into())));
            let all = Replay(replayed.collect()).merge_live(live.collect());
            let name = |message: &InitialMessage| match message {
                InitialMessage::Replayed(message) => message.id.to_string(),
                InitialMessage::Live(Broadcast::Verbatim(id)) => format!("+{id}"),
                InitialMessage::Live(other) => panic!("{other:?}"),
            };
            all.iter().map(name).collect::<Vec<_>>().join(" ")
        };

        assert_eq!(order(&["1", "2"], &[]), "1 2");
        assert_eq!(order(&[], &["1", "2"]), "+1 +2");
        assert_eq!(order(&["1", "2"], &["3", "4"]), "1 2 +3 +4");
        // The stream is slower than the replay query, or quicker.
        assert_eq!(order(&["1", "2", "3", "4"], &["2"]), "1 2 3 4");
        assert_eq!(order(&["1", "2", "3"], &["2", "3", "4"]), "1 2 3 +4");
        // Live messages that the limit kept out of the replay.
        assert_eq!(order(&["3", "4"], &["1", "2", "3"]), "+1 +2 3 4");
        // Two transactions that committed in another order than they inserted.
        assert_eq!(order(&["1", "2", "3"], &["3", "2"]), "1 3 2");
    }
}
