//! Presence (realtime contract §7): merges the server's state and diff messages.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::RealtimeError;

/// All presences of a channel, by key.
pub type PresenceState = BTreeMap<String, Vec<Presence>>;

/// One presence.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Presence {
    /// Identifies this version of the metadata.
    pub presence_ref: String,
    /// The tracked metadata.
    pub meta: Map<String, Value>,
}

/// A presence event.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum PresenceEvent {
    /// The state is complete; see [`Channel::presence`](super::Channel::presence).
    Sync,
    /// Presences joined or changed their metadata.
    Join {
        /// The key.
        key: String,
        /// Presences that were already there under this key.
        current: Vec<Presence>,
        /// New presences.
        new: Vec<Presence>,
    },
    /// Presences left, or their metadata were replaced.
    Leave {
        /// The key.
        key: String,
        /// Presences that remain under this key.
        current: Vec<Presence>,
        /// Presences that left.
        left: Vec<Presence>,
    },
}

impl Presence {
    /// The metadata, deserialized as this type.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, RealtimeError> {
        let meta = Value::Object(self.meta.clone());
        serde_json::from_value(meta).map_err(RealtimeError::unreadable)
    }
}

/// Metadata of one key on the wire.
#[derive(Clone, Debug, Deserialize)]
struct Metas {
    #[serde(default)]
    metas: Vec<Map<String, Value>>,
}

/// A `presence_state` message.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(transparent)]
pub(super) struct WireState(BTreeMap<String, Metas>);

/// A `presence_diff` message.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct WireDiff {
    #[serde(default)]
    joins: WireState,
    #[serde(default)]
    leaves: WireState,
}

impl WireState {
    fn into_state(self) -> PresenceState {
        let entry = |(key, metas): (String, Metas)| {
            let presences = metas.metas.into_iter().map(presence);
            (key, presences.collect())
        };
        self.0.into_iter().map(entry).collect()
    }
}

fn presence(mut meta: Map<String, Value>) -> Presence {
    let presence_ref = match meta.remove("phx_ref") {
        Some(Value::String(text)) => text,
        Some(other) => other.to_string(),
        None => String::new(),
    };
    meta.remove("phx_ref_prev");
    Presence { presence_ref, meta }
}

/// The presence state of a channel. Diffs that arrive before the first full state of a join are queued.
#[derive(Debug, Default)]
pub(super) struct PresenceTracker {
    state: PresenceState,
    /// The join that the state belongs to.
    synced: Option<String>,
    waiting: Vec<WireDiff>,
}

impl PresenceTracker {
    pub(super) fn state(&self) -> &PresenceState {
        &self.state
    }

    /// Whether the state belongs to this join.
    pub(super) fn is_of(&self, join_ref: &str) -> bool {
        self.synced.as_deref() == Some(join_ref)
    }

    /// Replaces the state; returns the differences.
    pub(super) fn replace(&mut self, join_ref: &str, new: WireState) -> Vec<PresenceEvent> {
        self.synced = Some(join_ref.to_owned());
        let new = new.into_state();
        let mut events = Vec::new();
        let (joins, leaves) = difference(&self.state, &new);
        self.apply(joins, leaves, &mut events);
        for diff in std::mem::take(&mut self.waiting) {
            self.apply(
                diff.joins.into_state(),
                diff.leaves.into_state(),
                &mut events,
            );
        }
        events.push(PresenceEvent::Sync);
        events
    }

    /// Applies a diff.
    pub(super) fn change(&mut self, join_ref: &str, diff: WireDiff) -> Vec<PresenceEvent> {
        if !self.is_of(join_ref) {
            self.waiting.push(diff);
            return Vec::new();
        }
        let mut events = Vec::new();
        let (joins, leaves) = (diff.joins.into_state(), diff.leaves.into_state());
        self.apply(joins, leaves, &mut events);
        events.push(PresenceEvent::Sync);
        events
    }

    /// A new join begins: diffs queued for the old one are obsolete.
    pub(super) fn rejoin(&mut self) {
        self.waiting.clear();
    }

    /// Joins first, then leaves.
    fn apply(
        &mut self,
        joins: PresenceState,
        leaves: PresenceState,
        events: &mut Vec<PresenceEvent>,
    ) {
        for (key, new) in joins {
            let there = self.state.entry(key.clone()).or_default();
            let current = there.clone();
            there.retain(|old| !has(&new, &old.presence_ref));
            there.extend(new.iter().cloned());
            events.push(PresenceEvent::Join { key, current, new });
        }
        for (key, left) in leaves {
            let Some(there) = self.state.get_mut(&key) else {
                continue;
            };
            there.retain(|old| !has(&left, &old.presence_ref));
            let current = there.clone();
            if current.is_empty() {
                self.state.remove(&key);
            }
            events.push(PresenceEvent::Leave { key, current, left });
        }
    }
}

/// Joins and leaves between two states.
fn difference(old: &PresenceState, new: &PresenceState) -> (PresenceState, PresenceState) {
    let without = |all: &PresenceState, others: &PresenceState| {
        let mut rest = PresenceState::new();
        for (key, presences) in all {
            let others = others.get(key).map(Vec::as_slice).unwrap_or_default();
            let only_here = presences
                .iter()
                .filter(|presence| !has(others, &presence.presence_ref));
            let only_here: Vec<Presence> = only_here.cloned().collect();
            if !only_here.is_empty() {
                rest.insert(key.clone(), only_here);
            }
        }
        rest
    };
    (without(new, old), without(old, new))
}

fn has(presences: &[Presence], presence_ref: &str) -> bool {
    let mut refs = presences.iter().map(|presence| &presence.presence_ref);
    refs.any(|known| known == presence_ref)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn state(value: Value) -> WireState {
        serde_json::from_value(value).unwrap()
    }

    fn diff(value: Value) -> WireDiff {
        serde_json::from_value(value).unwrap()
    }

    fn metas(refs: &[&str]) -> Value {
        let metas = refs
            .iter()
            .map(|name| json!({ "phx_ref": name, "n": name }));
        json!({ "metas": metas.collect::<Vec<_>>() })
    }

    fn refs(presences: &[Presence]) -> Vec<&str> {
        presences
            .iter()
            .map(|presence| presence.presence_ref.as_str())
            .collect()
    }

    /// `+key:new(current)`, `-key:left(current)`, `sync`.
    fn described(events: &[PresenceEvent]) -> Vec<String> {
        let one = |event: &PresenceEvent| match event {
            PresenceEvent::Sync => "sync".to_owned(),
            PresenceEvent::Join { key, current, new } => {
                format!(
                    "+{key}:{}({})",
                    refs(new).join(","),
                    refs(current).join(",")
                )
            }
            PresenceEvent::Leave { key, current, left } => {
                format!(
                    "-{key}:{}({})",
                    refs(left).join(","),
                    refs(current).join(",")
                )
            }
        };
        events.iter().map(one).collect()
    }

    #[test]
    fn a_presence_state_is_reported_as_joins_and_leaves() {
        let mut tracker = PresenceTracker::default();

        let first = tracker.replace(
            "1",
            state(json!({ "a": metas(&["1", "2"]), "b": metas(&["3"]) })),
        );
        assert_eq!(described(&first), ["+a:1,2()", "+b:3()", "sync"]);

        let second = tracker.replace(
            "2",
            state(json!({ "a": metas(&["2", "4"]), "c": metas(&["5"]) })),
        );
        assert_eq!(
            described(&second),
            ["+a:4(1,2)", "+c:5()", "-a:1(2,4)", "-b:3()", "sync"]
        );
        assert_eq!(tracker.state().keys().collect::<Vec<_>>(), ["a", "c"]);
        assert_eq!(refs(&tracker.state()["a"]), ["2", "4"]);
    }

    #[test]
    fn an_update_is_a_join_and_then_a_leave() {
        let mut tracker = PresenceTracker::default();
        tracker.replace("1", state(json!({ "a": metas(&["1"]) })));

        let update = json!({ "joins": { "a": { "metas": [
            { "phx_ref": "2", "phx_ref_prev": "1", "n": "new" },
        ] } }, "leaves": { "a": metas(&["1"]) } });
        let events = tracker.change("1", diff(update));

        assert_eq!(described(&events), ["+a:2(1)", "-a:1(2)", "sync"]);
        let there = &tracker.state()["a"][0];
        assert_eq!(
            there.meta,
            json!({ "n": "new" }).as_object().unwrap().clone()
        );
    }

    #[test]
    fn differences_wait_for_the_picture_of_their_join() {
        let mut tracker = PresenceTracker::default();
        let joins = |key: &str, name: &str| diff(json!({ "joins": { key: metas(&[name]) } }));
        assert_eq!(described(&tracker.change("1", joins("b", "2"))), [""; 0]);
        let events = tracker.replace("1", state(json!({ "a": metas(&["1"]) })));
        assert_eq!(described(&events), ["+a:1()", "+b:2()", "sync"]);
        assert_eq!(
            described(&tracker.change("1", joins("c", "3"))),
            ["+c:3()", "sync"]
        );

        // Rejoined: the old state stays until the new one arrives.
        tracker.rejoin();
        assert_eq!(described(&tracker.change("9", joins("d", "4"))), [""; 0]);
        assert_eq!(tracker.state().len(), 3);
        let events = tracker.replace("9", state(json!({ "a": metas(&["1"]) })));
        assert_eq!(described(&events), ["-b:2()", "-c:3()", "+d:4()", "sync"]);
    }

    #[test]
    fn a_repeated_join_is_counted_once() {
        let mut tracker = PresenceTracker::default();
        tracker.replace("1", state(json!({ "a": metas(&["1", "2"]) })));

        tracker.change("1", diff(json!({ "joins": { "a": metas(&["1"]) } })));

        assert_eq!(refs(&tracker.state()["a"]), ["2", "1"]);
    }

    #[test]
    fn a_leave_without_a_join_is_ignored() {
        let mut tracker = PresenceTracker::default();
        tracker.replace("1", WireState::default());

        let events = tracker.change("1", diff(json!({ "leaves": { "a": metas(&["1"]) } })));

        assert_eq!(described(&events), ["sync"]);
    }

    #[test]
    fn keys_are_any_text_and_what_was_said_is_typed() {
        let mut tracker = PresenceTracker::default();
        tracker.replace(
            "1",
            state(json!({ "__proto__": metas(&["1"]), "": metas(&["2"]) })),
        );

        #[derive(Deserialize)]
        struct BroadcastPayload {
            n: String,
        }
        let said: BroadcastPayload = tracker.state()["__proto__"][0].json().unwrap();
        assert_eq!(said.n, "1");
        assert!(tracker.state().contains_key(""));
        assert!(tracker.state()[""][0].json::<Vec<u8>>().is_err());
    }

    proptest::proptest! {
        /// The result is the last state, whatever came before.
        #[test]
        fn the_last_picture_counts(
            first in proptest::collection::vec((0u8..4, 0u8..6), 0..8),
            last in proptest::collection::vec((0u8..4, 0u8..6), 0..8),
        ) {
            let picture = |entries: &[(u8, u8)]| {
                let mut all = BTreeMap::<String, Vec<String>>::new();
                for (key, name) in entries {
                    let names = all.entry(key.to_string()).or_default();
                    let name = format!("{key}-{name}");
                    if !names.contains(&name) {
                        names.push(name);
                    }
                }
                all
            };
            let wire = |all: &BTreeMap<String, Vec<String>>| {
                let all = all.iter().map(|(key, names)| {
                    let names: Vec<&str> = names.iter().map(String::as_str).collect();
                    (key.clone(), metas(&names))
                });
                state(Value::Object(all.collect()))
            };
            let mut tracker = PresenceTracker::default();
            tracker.replace("1", wire(&picture(&first)));
            tracker.replace("2", wire(&picture(&last)));
            let sorted = |mut names: Vec<String>| {
                names.sort();
                names
            };
            let there: BTreeMap<String, Vec<String>> = tracker
                .state()
                .iter()
                .map(|(key, there)| {
                    let names = refs(there).into_iter().map(str::to_owned).collect();
                    (key.clone(), sorted(names))
                })
                .collect();
            let expected: BTreeMap<String, Vec<String>> = picture(&last)
                .into_iter()
                .map(|(key, names)| (key, sorted(names)))
                .collect();
            proptest::prop_assert_eq!(there, expected);
        }
    }
}
