//! Who says what about themselves in a room (§7), here and on other nodes (§14.6).
//!
//! A node changes only its own entries and counts how often it has; whoever hears of a change that
//! is not the next one knows that something was lost, and asks for everything.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use base64::{Engine as _, prelude::BASE64_URL_SAFE};
use metrics::Gauge;
use serde_json::Value;

use super::ChannelId;
use crate::{
    cluster::{NodeId, PresenceChange},
    numbers::Share,
    protocol::push_json_text,
};

/// Everybody who is tracked in a room, in the order in which they came.
#[derive(Debug, Default)]
pub(crate) struct Presence {
    entries: BTreeMap<u64, Entry>,
    places: HashMap<Who, u64>,
    next: u64,
    /// How many of them are our own.
    own: Share,
    /// How often our own have changed.
    clock: u64,
    /// The same of other nodes, as far as we have heard.
    clocks: HashMap<NodeId, u64>,
}

/// A channel of ours, or of another node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Who {
    node: Option<NodeId>,
    channel: ChannelId,
}

#[derive(Debug, Clone)]
struct Entry {
    who: Who,
    key: Arc<str>,
    reference: Box<str>,
    /// The members of the object that was tracked.
    payload: Box<str>,
    /// The whole meta: its refs and the payload.
    meta: Box<str>,
}

/// An entry as other nodes are told of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Announced {
    pub(crate) channel: ChannelId,
    pub(crate) key: Arc<str>,
    pub(crate) reference: Box<str>,
    pub(crate) payload: Box<str>,
}

/// What became of a change of our own.
#[derive(Debug)]
pub(crate) struct Changed {
    /// To be told to everybody here.
    pub(crate) diff: String,
    /// To be told to other nodes.
    pub(crate) change: PresenceChange,
    pub(crate) clock: u64,
}

/// What became of somebody else's.
#[derive(Debug, Default)]
pub(crate) struct Merged {
    pub(crate) diff: Option<String>,
    /// Whether something was missed before.
    pub(crate) is_behind: bool,
}

impl Presence {
    /// Nobody yet; how many of our own there are is told to `level`.
    pub(crate) fn counted_by(level: &Gauge) -> Self {
        Self {
            own: Share::of(level),
            ..Self::default()
        }
    }

    /// Tracks a channel, whose payload is the members of an object. Nothing if nothing changes.
    pub(crate) fn track(
        &mut self,
        channel: ChannelId,
        key: &Arc<str>,
        payload: &str,
    ) -> Option<Changed> {
        let who = Who {
            node: None,
            channel,
        };
        if let Some(known) = self.entry(who)
            && says_the_same(&known.payload, payload)
        {
            return None;
        }
        let announced = Announced {
            channel,
            key: key.clone(),
            reference: new_reference(),
            payload: payload.into(),
        };
        let diff = self.put(who, &announced);
        Some(self.changed(diff, PresenceChange::Joined(announced)))
    }

    /// Forgets a channel, if it was tracked.
    pub(crate) fn untrack(&mut self, channel: ChannelId) -> Option<Changed> {
        let who = Who {
            node: None,
            channel,
        };
        let diff = self.remove(who)?;
        Some(self.changed(diff, PresenceChange::Left(channel)))
    }

    fn changed(&mut self, diff: String, change: PresenceChange) -> Changed {
        self.clock += 1;
        Changed {
            diff,
            change,
            clock: self.clock,
        }
    }

    /// How often our own have changed.
    pub(crate) fn clock(&self) -> u64 {
        self.clock
    }

    /// How often another node's have, as far as is known.
    pub(crate) fn clock_of(&self, node: NodeId) -> Option<u64> {
        self.clocks.get(&node).copied()
    }

    /// Our own, for other nodes.
    pub(crate) fn own(&self) -> Vec<Announced> {
        let own = self
            .entries
            .values()
            .filter(|entry| entry.who.node.is_none());
        own.map(Entry::announced).collect()
    }

    /// Another node tells of a change.
    pub(crate) fn merge(&mut self, node: NodeId, clock: u64, change: &PresenceChange) -> Merged {
        let known = self.clocks.get(&node).copied();
        if known.is_some_and(|known| clock <= known) {
            return Merged::default();
        }
        let is_behind = known.is_none_or(|known| clock != known + 1);
        if !is_behind {
            self.clocks.insert(node, clock);
        }
        let node = Some(node);
        let diff = match change {
            PresenceChange::Joined(announced) => {
                let channel = announced.channel;
                let who = Who { node, channel };
                let is_known = self
                    .entry(who)
                    .is_some_and(|entry| entry.reference == announced.reference);
                (!is_known).then(|| self.put(who, announced))
            }
            PresenceChange::Left(channel) => {
                let channel = *channel;
                self.remove(Who { node, channel })
            }
        };
        Merged { diff, is_behind }
    }

    /// Another node tells of everybody it has.
    pub(crate) fn merge_state(
        &mut self,
        node: NodeId,
        clock: u64,
        present: &[Announced],
    ) -> Option<String> {
        let known = self.clocks.get(&node);
        if known.is_some_and(|known| clock < *known) {
            return None;
        }
        self.clocks.insert(node, clock);
        let (mut joins, mut leaves) = (Vec::new(), Vec::new());
        let is_gone = |entry: &Entry| {
            entry.who.node == Some(node)
                && !present.iter().any(|one| one.channel == entry.who.channel)
        };
        let gone: Vec<Who> = self
            .entries
            .values()
            .filter(|entry| is_gone(entry))
            .map(|entry| entry.who)
            .collect();
        leaves.extend(gone.into_iter().filter_map(|who| self.take(who)));
        for announced in present {
            let who = Who {
                node: Some(node),
                channel: announced.channel,
            };
            if self
                .entry(who)
                .is_some_and(|entry| entry.reference == announced.reference)
            {
                continue;
            }
            let (entry, old) = self.replace(who, announced);
            joins.push(entry);
            leaves.extend(old);
        }
        told(&joins, &leaves)
    }

    /// Another node is gone, and everybody it had.
    pub(crate) fn forget(&mut self, node: NodeId) -> Option<String> {
        self.clocks.remove(&node);
        let theirs = self
            .entries
            .values()
            .filter(|entry| entry.who.node == Some(node));
        let theirs: Vec<Who> = theirs.map(|entry| entry.who).collect();
        let leaves: Vec<Entry> = theirs
            .into_iter()
            .filter_map(|who| self.take(who))
            .collect();
        told(&[], &leaves)
    }

    /// Everybody, as `presence_state` tells it.
    pub(crate) fn state(&self) -> String {
        let entries: Vec<&Entry> = self.entries.values().collect();
        by_key(&entries)
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    fn entry(&self, who: Who) -> Option<&Entry> {
        self.entries.get(self.places.get(&who)?)
    }

    fn put(&mut self, who: Who, announced: &Announced) -> String {
        let (entry, old) = self.replace(who, announced);
        let old: Vec<&Entry> = old.iter().collect();
        diff(&[&entry], &old)
    }

    /// Gives the new entry and the one whose place it takes.
    fn replace(&mut self, who: Who, announced: &Announced) -> (Entry, Option<Entry>) {
        let place = *self.places.entry(who).or_insert_with(|| {
            self.next += 1;
            self.next
        });
        let old = self.entries.remove(&place);
        if old.is_none() && who.node.is_none() {
            self.own.set(self.own.get() + 1);
        }
        let previous = old.as_ref().map(|old| &*old.reference);
        let entry = Entry {
            who,
            key: announced.key.clone(),
            meta: meta(&announced.reference, previous, &announced.payload),
            reference: announced.reference.clone(),
            payload: announced.payload.clone(),
        };
        self.entries.insert(place, entry.clone());
        (entry, old)
    }

    fn remove(&mut self, who: Who) -> Option<String> {
        let entry = self.take(who)?;
        Some(diff(&[], &[&entry]))
    }

    fn take(&mut self, who: Who) -> Option<Entry> {
        let place = self.places.remove(&who)?;
        if who.node.is_none() {
            self.own.set(self.own.get().saturating_sub(1));
        }
        self.entries.remove(&place)
    }
}

impl Entry {
    fn announced(&self) -> Announced {
        Announced {
            channel: self.who.channel,
            key: self.key.clone(),
            reference: self.reference.clone(),
            payload: self.payload.clone(),
        }
    }
}

fn told(joins: &[Entry], leaves: &[Entry]) -> Option<String> {
    let (joins, leaves): (Vec<&Entry>, Vec<&Entry>) =
        (joins.iter().collect(), leaves.iter().collect());
    (!joins.is_empty() || !leaves.is_empty()).then(|| diff(&joins, &leaves))
}

/// Whether two objects say the same, whatever the order of their members.
fn says_the_same(one: &str, other: &str) -> bool {
    let read = |members: &str| serde_json::from_str::<Value>(&format!("{{{members}}}")).ok();
    one == other || matches!((read(one), read(other)), (Some(one), Some(other)) if one == other)
}

fn meta(reference: &str, previous: Option<&str>, payload: &str) -> Box<str> {
    let previous = previous
        .map(|previous| format!(",\"phx_ref_prev\":\"{previous}\""))
        .unwrap_or_default();
    let comma = if payload.is_empty() { "" } else { "," };
    format!("{{\"phx_ref\":\"{reference}\"{previous}{comma}{payload}}}").into()
}

fn diff(joins: &[&Entry], leaves: &[&Entry]) -> String {
    format!(
        "{{\"joins\":{},\"leaves\":{}}}",
        by_key(joins),
        by_key(leaves)
    )
}

/// `{"<key>":{"metas":[…]}}`.
fn by_key(entries: &[&Entry]) -> String {
    let mut places: HashMap<&str, usize> = HashMap::with_capacity(entries.len());
    let mut keys: Vec<(&str, Vec<&str>)> = Vec::new();
    for entry in entries {
        let place = *places.entry(&entry.key).or_insert_with(|| {
            keys.push((&entry.key, Vec::new()));
            keys.len() - 1
        });
        keys[place].1.push(&entry.meta);
    }
    let mut text = String::from("{");
    for (i, (key, metas)) in keys.iter().enumerate() {
        if i > 0 {
            text.push(',');
        }
        push_json_text(&mut text, key);
        text.push_str(":{\"metas\":[");
        text.push_str(&metas.join(","));
        text.push_str("]}");
    }
    text.push('}');
    text
}

/// Unique among all versions of all metas of this process, and all but certainly elsewhere.
fn new_reference() -> Box<str> {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let mut bytes = [0; 12];
    let now = time::OffsetDateTime::now_utc().unix_timestamp_nanos() / 1000;
    bytes[..7].copy_from_slice(&now.to_be_bytes()[9..]);
    let count = COUNTER.fetch_add(1, Relaxed);
    bytes[7..].copy_from_slice(&count.to_be_bytes()[3..]);
    BASE64_URL_SAFE.encode(bytes).into()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(text: &str) -> Value {
        serde_json::from_str(text).expect("JSON")
    }

    fn key(text: &str) -> Arc<str> {
        text.into()
    }

    #[test]
    fn a_new_one_joins_and_stands_in_the_state() {
        let mut presence = Presence::default();

        let told = presence.track(ChannelId(1), &key("ann"), r#""x":1.0"#);

        let told = read(&told.expect("a diff").diff);
        let meta = &told["joins"]["ann"]["metas"][0];
        assert_eq!(told["leaves"], json!({}));
        assert_eq!(meta["x"], json!(1.0));
        assert_eq!(meta["phx_ref"].as_str().map(str::len), Some(16));
        assert_eq!(read(&presence.state())["ann"]["metas"], json!([meta]));
    }

    #[test]
    fn the_same_again_is_no_news() {
        let mut presence = Presence::default();
        presence.track(ChannelId(1), &key("ann"), r#""x":1,"y":2"#);

        let again = presence.track(ChannelId(1), &key("ann"), r#""y":2, "x": 1"#);

        assert!(again.is_none());
    }

    #[test]
    fn an_update_names_the_meta_that_it_replaces() {
        let mut presence = Presence::default();
        let first = presence.track(ChannelId(1), &key("ann"), r#""x":1"#);
        let first = read(&first.expect("a diff").diff)["joins"]["ann"]["metas"][0].clone();

        let told = presence.track(ChannelId(1), &key("ann"), r#""x":2"#);

        let told = read(&told.expect("a diff").diff);
        let new = &told["joins"]["ann"]["metas"][0];
        assert_eq!(new["x"], 2);
        assert_eq!(new["phx_ref_prev"], first["phx_ref"]);
        assert_ne!(new["phx_ref"], first["phx_ref"]);
        assert_eq!(told["leaves"]["ann"]["metas"], json!([first]));
    }

    #[test]
    fn several_channels_share_a_key_and_keep_their_order() {
        let mut presence = Presence::default();
        for channel in 1..=3 {
            presence.track(ChannelId(channel), &key("k"), &format!("\"n\":{channel}"));
        }
        let told = read(&presence.untrack(ChannelId(2)).expect("a diff").diff);
        assert_eq!(told["leaves"]["k"]["metas"][0]["n"], 2);
        assert_eq!(told["joins"], json!({}));

        let state = read(&presence.state());
        let metas = state["k"]["metas"].as_array().expect("metas");
        let numbers: Vec<_> = metas.iter().map(|meta| meta["n"].as_i64()).collect();
        assert_eq!(numbers, [Some(1), Some(3)]);
        assert!(presence.untrack(ChannelId(2)).is_none());
    }

    #[test]
    fn keys_and_payloads_are_opaque() {
        let mut presence = Presence::default();
        for (channel, name) in ["__proto__", "constructor", "\"\\", "\u{200b}"]
            .iter()
            .enumerate()
        {
            presence.track(ChannelId(channel as u64), &key(name), "");
            assert!(read(&presence.state()).get(*name).is_some(), "{name}");
        }
    }

    const NODE: NodeId = NodeId(9);

    fn announced(channel: u64, reference: &str) -> Announced {
        Announced {
            channel: ChannelId(channel),
            key: key("bob"),
            reference: reference.into(),
            payload: "".into(),
        }
    }

    #[test]
    fn changes_of_another_node_are_told_in_their_order() {
        let mut presence = Presence::default();
        assert!(presence.merge_state(NODE, 0, &[]).is_none());

        let joined = PresenceChange::Joined(announced(1, "a"));
        let merged = presence.merge(NODE, 1, &joined);
        assert!(!merged.is_behind);
        let told = read(&merged.diff.expect("a diff"));
        assert_eq!(told["joins"]["bob"]["metas"][0]["phx_ref"], "a");
        let updated = presence.merge(NODE, 2, &PresenceChange::Joined(announced(1, "b")));
        let told = read(&updated.diff.expect("a diff"));
        assert_eq!(told["joins"]["bob"]["metas"][0]["phx_ref_prev"], "a");
        assert_eq!(told["leaves"]["bob"]["metas"][0]["phx_ref"], "a");

        // What is old says nothing.
        assert!(presence.merge(NODE, 1, &joined).diff.is_none());
        let left = presence.merge(NODE, 3, &PresenceChange::Left(ChannelId(1)));
        assert!(left.diff.is_some());
        assert_eq!(read(&presence.state()), json!({}));
    }

    #[test]
    fn a_gap_is_noticed_until_the_whole_state_is_known() {
        let mut presence = Presence::default();
        let first = presence.merge(NODE, 5, &PresenceChange::Joined(announced(1, "a")));
        assert!(first.is_behind);
        assert!(
            presence
                .merge(NODE, 6, &PresenceChange::Left(ChannelId(2)))
                .is_behind
        );

        let told = presence.merge_state(NODE, 6, &[announced(1, "a"), announced(3, "c")]);

        let told = read(&told.expect("a diff"));
        assert_eq!(
            told["joins"]["bob"]["metas"].as_array().map(Vec::len),
            Some(1)
        );
        let next = presence.merge(NODE, 7, &PresenceChange::Left(ChannelId(3)));
        assert!(!next.is_behind);
        assert_eq!(presence.clock_of(NODE), Some(7));
    }

    #[test]
    fn a_state_replaces_what_was_known_of_its_node_only() {
        let mut presence = Presence::default();
        presence.track(ChannelId(1), &key("ann"), "");
        presence.merge_state(NODE, 1, &[announced(1, "a"), announced(2, "b")]);

        let told = presence.merge_state(NODE, 4, &[announced(2, "b2")]);

        let told = read(&told.expect("a diff"));
        assert_eq!(
            told["leaves"]["bob"]["metas"].as_array().map(Vec::len),
            Some(2)
        );
        assert_eq!(
            told["joins"]["bob"]["metas"].as_array().map(Vec::len),
            Some(1)
        );
        assert!(presence.merge_state(NODE, 3, &[]).is_none());
        assert_eq!(presence.own().len(), 1);
        let gone = presence.forget(NODE).expect("a diff");
        assert_eq!(read(&gone)["leaves"]["bob"]["metas"][0]["phx_ref"], "b2");
        assert_eq!(presence.len(), 1);
        assert!(presence.forget(NODE).is_none());
    }
}
