//! From a join to a channel: what is checked first, what must be asked of the database, and the
//! answer (§5.2 to §5.4).

use std::{
    hash::{DefaultHasher, Hash as _, Hasher as _},
    sync::Arc,
    time::Duration,
};

use axum::extract::ws::Message;
use plinth_project::ProjectDb;
use serde_json::{Value, value::RawValue};
use uuid::Uuid;

use super::{Channel, JoinRefusal, PresenceCalls, Wish, Writing, sub_topic};
use crate::{
    authorize::Asker,
    changes::ChangeRequest,
    hub::{Hub, Reservation, new_channel_id},
    identity::Identity,
    protocol::{Ref, Version, reply},
    replay::{Replay, ReplayWish},
    rooms::{Entrance, Hearing, Member},
    socket::Outbox,
    subscriptions::Entry,
};

/// How long somebody who wants the past waits for the present to begin. Clients wait ten seconds
/// for the answer to their join.
const STREAM_PATIENCE: Duration = Duration::from_secs(7);

/// A join that passed everything that can be checked without the database.
#[derive(Debug)]
pub(crate) struct Joining {
    pub(crate) topic: Box<str>,
    pub(crate) join_ref: Option<Ref>,
    pub(crate) reference: Option<Ref>,
    pub(crate) wish: Wish,
    pub(crate) identity: Identity,
    pub(crate) wants_presence: bool,
    /// The joins of the same topic that this one replaces.
    pub(crate) replaced: Vec<Option<Ref>>,
}

/// What the database said about a join.
#[derive(Debug)]
pub(crate) struct Admission {
    pub(crate) hearing: Hearing,
    pub(crate) replay: Replay,
    /// Given back once the channel is in its room.
    pub(crate) reservation: Option<Reservation>,
}

impl Admission {
    /// Whether more was told meanwhile than could be kept.
    pub(crate) fn has_missed_too_much(&self) -> bool {
        let missed = self.reservation.as_ref();
        let missed = missed.and_then(|reservation| reservation.missed.as_ref());
        missed.is_some_and(|missed| missed.is_too_much())
    }

    /// Of a public channel, for which nobody need be asked.
    pub(crate) fn public() -> Self {
        Self {
            hearing: Hearing::ALL,
            replay: Replay::default(),
            reservation: None,
        }
    }
}

impl Joining {
    /// Whether the database has to be asked.
    pub(crate) fn is_open_to_all(&self) -> bool {
        !self.wish.is_private
    }

    /// Everything that takes time: the database is asked about a private channel, and its room
    /// hears other nodes.
    pub(crate) async fn prepare(
        &self,
        hub: &Arc<Hub>,
        db: &ProjectDb,
        headers: &Arc<str>,
    ) -> Result<Admission, JoinRefusal> {
        let hearing = match self.is_open_to_all() {
            true => Hearing::ALL,
            false => self.ask(hub, db, headers).await?,
        };
        // What is told while the past is read must reach this node already.
        let (is_private, wants_past) = (self.wish.is_private, self.wish.replay.is_some());
        let reservation = hub.prepare(&self.topic, is_private, wants_past).await;
        if wants_past {
            // What is sent before is the past; what is sent after is told.
            hub.stream.come_up(STREAM_PATIENCE).await;
        }
        let replay = match hearing.broadcast {
            true => self.past(hub, db).await?,
            false => Replay::default(),
        };
        Ok(Admission {
            hearing,
            replay,
            reservation,
        })
    }

    /// Asks the database what may be heard, for a private channel.
    async fn ask(
        &self,
        hub: &Hub,
        db: &ProjectDb,
        headers: &Arc<str>,
    ) -> Result<Hearing, JoinRefusal> {
        let sub_topic = sub_topic(&self.topic);
        let asker = Asker {
            caller: self.identity.caller.clone(),
            sub_topic: sub_topic.into(),
            headers: headers.clone(),
        };
        let hearing = asker.hearing(db, self.wants_presence);
        let hearing = hub.numbers.reading(hearing).await;
        let hearing = hearing.map_err(|error| JoinRefusal::of_check(error, sub_topic))?;
        match hearing.broadcast || hearing.presence {
            true => Ok(hearing),
            false => Err(JoinRefusal::Unauthorized(sub_topic.into())),
        }
    }

    /// What was told before and shall be told again.
    async fn past(&self, hub: &Hub, db: &ProjectDb) -> Result<Replay, JoinRefusal> {
        let Some(wish) = &self.wish.replay else {
            return Ok(Replay::default());
        };
        let wish = ReplayWish::read(wish).map_err(|_| JoinRefusal::BadReplay)?;
        let past = wish.load(db, sub_topic(&self.topic), hub.stream.told());
        hub.numbers.replaying(past).await.map_err(|error| {
            tracing::warn!(code = "UnableToReplayMessages", "{error}");
            JoinRefusal::ReplayFailed
        })
    }

    /// Lets the channel into its room.
    pub(crate) fn enter(
        self,
        hub: &Hub,
        version: Version,
        outbox: &Arc<Outbox>,
        admission: Admission,
    ) -> Channel {
        let Admission {
            hearing,
            replay,
            reservation,
        } = admission;
        let member = Arc::new(Member::new(
            new_channel_id(),
            version,
            outbox.clone(),
            self.wish.gets_own,
            hearing,
            replay.ids(),
        ));
        let response = format!(
            "{{\"postgres_changes\":[{}]}}",
            numbered(&self.wish.changes)
        );
        let refs = (self.join_ref.as_ref(), self.reference.as_ref());
        let reply = reply(version, refs, &self.topic, true, &response);
        let is_told_state = self.wants_presence && hearing.presence;
        if is_told_state {
            hub.presence_events.add(1);
        }
        let missed = reservation.as_ref();
        let entrance = Entrance {
            join_ref: self.join_ref.as_ref(),
            reply,
            replay,
            missed: missed.and_then(|reservation| reservation.missed.clone()),
            is_told_state,
        };
        let is_private = self.wish.is_private;
        let room = hub
            .rooms
            .enter(&self.topic, is_private, member.clone(), entrance);
        let presence_key = self.wish.presence_key;
        Channel {
            // Clients of the first version may leave it out; then the join itself names the channel.
            join_ref: self.join_ref.or(self.reference),
            room,
            member,
            identity: self.identity,
            acks: self.wish.acks,
            presence_key: presence_key
                .unwrap_or_else(|| Uuid::new_v4().to_string())
                .into(),
            has_presence: self.wants_presence,
            presence_calls: PresenceCalls::default(),
            changes: entries(&self.wish.changes),
            subscribing: None,
            writing: match is_private {
                true => Writing::UNKNOWN,
                false => Writing::ALL,
            },
        }
    }

    /// The refusal of the join.
    pub(crate) fn refused(&self, version: Version, refusal: &JoinRefusal) -> Message {
        let refs = (self.join_ref.as_ref(), self.reference.as_ref());
        refused(version, refs, &self.topic, refusal)
    }
}

/// An error, with its reason.
pub(crate) fn refused(
    version: Version,
    refs: (Option<&Ref>, Option<&Ref>),
    topic: &str,
    refusal: &JoinRefusal,
) -> Message {
    let response = serde_json::json!({ "reason": refusal.to_string() });
    reply(version, refs, topic, false, &response.to_string())
}

/// What the entries ask for.
fn entries(entries: &[Box<RawValue>]) -> Arc<[Entry]> {
    let entry = |entry: &RawValue| {
        let asked: Value = serde_json::from_str(entry.get()).unwrap_or_default();
        Entry {
            id: entry_id(entry),
            request: ChangeRequest::parse(&asked).map(Arc::new),
        }
    };
    entries.iter().map(|raw| entry(raw)).collect()
}

/// Each entry exactly as it was sent, and its number: clients compare them one by one.
fn numbered(entries: &[Box<RawValue>]) -> String {
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

/// Equal entries have equal numbers. JavaScript counts exactly up to 2^53.
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
    fn entries_come_back_as_they_were_sent_and_with_a_number() {
        let entries = [
            raw(r#"{"event":"*", "schema":"public" }"#),
            raw("{}"),
            raw(r#"{"event":"*", "schema":"public" }"#),
        ];

        let text = numbered(&entries);

        let list: Value = serde_json::from_str(&format!("[{text}]")).expect("JSON");
        let id = list[0]["id"].as_u64().expect("a number");
        assert!(id < 1 << 53);
        let expected = json!({"event": "*", "schema": "public", "id": id});
        assert_eq!(list[0], expected);
        assert_eq!(list[0], list[2]);
        assert_ne!(list[1]["id"], list[0]["id"]);
    }

    #[test]
    fn what_is_no_entry_still_has_its_place() {
        let text = numbered(&[raw("1"), raw("\"x\"")]);
        let list: Value = serde_json::from_str(&format!("[{text}]")).expect("JSON");
        assert_eq!(list.as_array().map(Vec::len), Some(2));
    }
}
