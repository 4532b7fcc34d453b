//! From a join to a channel: the checks that need the database, and the reply (§5.2 to §5.4).

use std::{
    hash::{DefaultHasher, Hash as _, Hasher as _},
    sync::Arc,
    time::Duration,
};

use axum::extract::ws::Message;
use plinth_project::ProjectDb;
use serde_json::{Value, value::RawValue};
use uuid::Uuid;

use super::{Channel, JoinError, JoinPayload, PresenceWindow, WritePermissions};
use crate::{
    authorize::AccessCheck,
    changes::ChangeRequest,
    hub::{Hub, Reservation},
    identity::Identity,
    outbound_queue::OutboundQueue,
    protocol::{Ref, Version, reply, sub_topic},
    replay::{Replay, ReplayRequest},
    subscriptions::Entry,
    topics::{ChannelId, InitialFrames, Member, ReadPermissions},
};

/// How long a join with replay waits for the replication stream. Clients wait ten seconds for the
/// reply to a join.
const STREAM_START_TIMEOUT: Duration = Duration::from_secs(7);

/// A join that passed all checks that need no database.
pub(crate) struct PendingJoin {
    pub(crate) topic: Box<str>,
    pub(crate) join_ref: Option<Ref>,
    pub(crate) reference: Option<Ref>,
    pub(crate) payload: JoinPayload,
    pub(crate) identity: Identity,
    /// By the payload or by the project's settings.
    pub(crate) wants_presence: bool,
    /// Join refs of the channels of the same topic that this one replaces.
    pub(crate) replaced: Vec<Option<Ref>>,
}

/// What was read from the database for a join.
#[derive(Debug)]
pub(crate) struct PreparedJoin {
    pub(crate) read_permissions: ReadPermissions,
    pub(crate) replay: Replay,
    /// Released once the channel is a member of its topic.
    pub(crate) reservation: Option<Reservation>,
}

impl PreparedJoin {
    /// For a public channel on a single node, which needs neither database nor broker.
    pub(crate) fn public() -> Self {
        Self {
            read_permissions: ReadPermissions::ALL,
            replay: Replay::default(),
            reservation: None,
        }
    }

    /// Whether more messages arrived during the replay query than could be buffered.
    pub(crate) fn has_overflowed(&self) -> bool {
        let reservation = self.reservation.as_ref();
        let buffer = reservation.and_then(|reservation| reservation.buffer.as_ref());
        buffer.is_some_and(|buffer| buffer.has_overflowed())
    }
}

impl PendingJoin {
    pub(crate) fn is_public(&self) -> bool {
        !self.payload.is_private
    }

    /// Everything that takes time: checks permissions on a private topic, connects the topic to
    /// other nodes, and reads what is to be replayed.
    pub(crate) async fn prepare(
        &self,
        hub: &Arc<Hub>,
        db: &ProjectDb,
        headers: &Arc<str>,
    ) -> Result<PreparedJoin, JoinError> {
        let read_permissions = if self.is_public() {
            ReadPermissions::ALL
        } else {
            self.check_read_permissions(hub, db, headers).await?
        };
        // Before the replay query, so that every message is in its result or in the buffer.
        let (is_private, with_replay) = (self.payload.is_private, self.payload.replay.is_some());
        let reservation = hub
            .reserve_topic(&self.topic, is_private, with_replay)
            .await;
        if with_replay {
            hub.stream.wait_until_started(STREAM_START_TIMEOUT).await;
        }
        let replay = if read_permissions.broadcast {
            self.load_replay(hub, db).await?
        } else {
            Replay::default()
        };
        Ok(PreparedJoin {
            read_permissions,
            replay,
            reservation,
        })
    }

    async fn check_read_permissions(
        &self,
        hub: &Hub,
        db: &ProjectDb,
        headers: &Arc<str>,
    ) -> Result<ReadPermissions, JoinError> {
        let sub_topic = sub_topic(&self.topic);
        let check = AccessCheck {
            caller: self.identity.caller.clone(),
            sub_topic: sub_topic.into(),
            headers: headers.clone(),
        };
        let check = check.read_permissions(db, self.wants_presence);
        let permissions = hub.metrics.time_read_check(check).await;
        let permissions = permissions.map_err(|error| JoinError::from_check(error, sub_topic))?;
        if permissions.broadcast || permissions.presence {
            Ok(permissions)
        } else {
            Err(JoinError::Unauthorized(sub_topic.into()))
        }
    }

    async fn load_replay(&self, hub: &Hub, db: &ProjectDb) -> Result<Replay, JoinError> {
        let Some(request) = &self.payload.replay else {
            return Ok(Replay::default());
        };
        let request = ReplayRequest::parse(request).map_err(|_| JoinError::InvalidReplay)?;
        let decoded = hub.stream.recent_transactions();
        let query = request.load(db, sub_topic(&self.topic), decoded);
        hub.metrics.time_replay(query).await.map_err(|error| {
            tracing::warn!(
                code = "UnableToReplayMessages",
                "rejecting a join: the replay query failed: {error}"
            );
            JoinError::ReplayFailed
        })
    }

    /// Makes the channel a member of its topic and sends the reply.
    pub(crate) fn complete(
        self,
        hub: &Hub,
        version: Version,
        outbound: &Arc<OutboundQueue>,
        prepared: PreparedJoin,
    ) -> Channel {
        let PreparedJoin {
            read_permissions,
            replay,
            reservation,
        } = prepared;
        let member = Arc::new(Member::new(
            ChannelId::next(),
            version,
            outbound.clone(),
            self.payload.receives_own,
            read_permissions,
            replay.ids(),
        ));
        let response = format!(
            "{{\"postgres_changes\":[{}]}}",
            entries_with_ids(&self.payload.changes)
        );
        let refs = (self.join_ref.as_ref(), self.reference.as_ref());
        let reply = reply(version, refs, &self.topic, true, &response);
        let has_presence_state = self.wants_presence && read_permissions.presence;
        if has_presence_state {
            hub.usage.presence_events.add(1);
        }
        let buffer = reservation.as_ref();
        let frames = InitialFrames {
            join_ref: self.join_ref.as_ref(),
            reply,
            replay,
            buffer: buffer.and_then(|reservation| reservation.buffer.clone()),
            has_presence_state,
        };
        let is_private = self.payload.is_private;
        let topic = hub
            .topics
            .join(&self.topic, is_private, member.clone(), frames);
        let presence_key = self.payload.presence_key;
        Channel {
            // Clients of version 1 may leave it out; then the join's own ref names the channel.
            join_ref: self.join_ref.or(self.reference),
            topic,
            member,
            identity: self.identity,
            acks: self.payload.acks,
            presence_key: presence_key
                .unwrap_or_else(|| Uuid::new_v4().to_string())
                .into(),
            has_presence: self.wants_presence,
            presence_window: PresenceWindow::default(),
            changes: parse_entries(&self.payload.changes),
            subscribing: None,
            write_permissions: if is_private {
                WritePermissions::UNKNOWN
            } else {
                WritePermissions::ALL
            },
        }
    }

    /// The error reply.
    pub(crate) fn error_reply(&self, version: Version, error: &JoinError) -> Message {
        let refs = (self.join_ref.as_ref(), self.reference.as_ref());
        let response = serde_json::json!({ "reason": error.to_string() });
        reply(version, refs, &self.topic, false, &response.to_string())
    }
}

fn parse_entries(entries: &[Box<RawValue>]) -> Arc<[Entry]> {
    let entry = |entry: &RawValue| {
        let parsed: Value = serde_json::from_str(entry.get()).unwrap_or_default();
        Entry {
            id: entry_id(entry),
            request: ChangeRequest::parse(&parsed).map(Arc::new),
        }
    };
    entries.iter().map(|raw| entry(raw)).collect()
}

/// Each entry exactly as it was sent plus its id: clients compare them one by one.
fn entries_with_ids(entries: &[Box<RawValue>]) -> String {
    let entries: Vec<String> = entries
        .iter()
        .map(|entry| {
            let id = entry_id(entry);
            let text = entry.get().trim_end();
            let inside = text
                .strip_prefix('{')
                .and_then(|text| text.strip_suffix('}'));
            match inside.map(str::trim) {
                None | Some("") => format!("{{\"id\":{id}}}"),
                Some(inside) => format!("{{{inside},\"id\":{id}}}"),
            }
        })
        .collect();
    entries.join(",")
}

/// A hash, so equal entries share an id. JavaScript integers are exact up to 2^53.
fn entry_id(entry: &RawValue) -> u64 {
    let mut hasher = DefaultHasher::new();
    entry.get().hash(&mut hasher);
    hasher.finish() >> 12
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn raw(text: &str) -> Box<RawValue> {
        RawValue::from_string(text.to_owned()).expect("JSON")
    }

    #[test]
    fn entries_are_echoed_as_they_were_sent_with_an_id() {
        let entries = [
            raw(r#"{"event":"*", "schema":"public" }"#),
            raw("{}"),
            raw(r#"{"event":"*", "schema":"public" }"#),
        ];

        let text = entries_with_ids(&entries);

        let list: Value = serde_json::from_str(&format!("[{text}]")).expect("JSON");
        let id = list[0]["id"].as_u64().expect("a number");
        assert!(id < 1 << 53);
        let expected = json!({"event": "*", "schema": "public", "id": id});
        assert_eq!(list[0], expected);
        assert_eq!(list[0], list[2]);
        assert_ne!(list[1]["id"], list[0]["id"]);
    }

    #[test]
    fn an_invalid_entry_is_echoed_too() {
        let text = entries_with_ids(&[raw("1"), raw("\"x\"")]);
        let list: Value = serde_json::from_str(&format!("[{text}]")).expect("JSON");
        assert_eq!(list.as_array().map(Vec::len), Some(2));
    }
}
