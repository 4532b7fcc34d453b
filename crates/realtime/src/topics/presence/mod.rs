//! Presence entries of a topic (§7), of this node and of others (§14.6).
//!
//! A node changes only its own entries and counts the changes (its clock). A node that receives a
//! change that is not the next one has missed something and requests the whole state.

mod entry;

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use metrics::Gauge;

use self::entry::{
    Entry, EntryId, are_equal_members, diff, diff_if_any, meta, metas_by_key, new_reference,
};
use super::{ChannelId, NodeId, PresenceChange};
use crate::metrics::GaugeShare;

/// All entries of a topic, in the order in which they were first tracked.
#[derive(Debug, Default)]
pub(crate) struct Presence {
    entries: BTreeMap<u64, Entry>,
    /// The keys of `entries`.
    positions: HashMap<EntryId, u64>,
    last_position: u64,
    /// How many entries are of this node.
    local_count: GaugeShare,
    /// How often entries of this node have changed.
    clock: u64,
    /// The last known clocks of other nodes.
    clocks: HashMap<NodeId, u64>,
}

/// An entry as it is sent to other nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PresenceEntry {
    pub(crate) channel: ChannelId,
    pub(crate) key: Arc<str>,
    pub(crate) reference: Box<str>,
    pub(crate) payload: Box<str>,
}

/// A change of this node's entries.
#[derive(Debug)]
pub(crate) struct LocalChange {
    /// For the members on this node.
    pub(crate) diff: String,
    /// For other nodes.
    pub(crate) change: PresenceChange,
    pub(crate) clock: u64,
}

/// What became of a change of another node's entries.
#[derive(Debug, Default)]
pub(crate) struct Merged {
    pub(crate) diff: Option<String>,
    /// Whether an earlier change was missed.
    pub(crate) is_behind: bool,
}

impl Presence {
    /// Empty; `gauge` shows how many entries of this node there are.
    pub(crate) fn with_gauge(gauge: &Gauge) -> Self {
        Self {
            local_count: GaugeShare::new(gauge),
            ..Self::default()
        }
    }

    /// Sets a channel's payload, which is the members of an object. `None` if nothing changes.
    pub(crate) fn track(
        &mut self,
        channel: ChannelId,
        key: &Arc<str>,
        payload: &str,
    ) -> Option<LocalChange> {
        let id = EntryId {
            node: None,
            channel,
        };
        if let Some(known) = self.entry(id)
            && are_equal_members(&known.payload, payload)
        {
            return None;
        }
        let entry = PresenceEntry {
            channel,
            key: key.clone(),
            reference: new_reference(),
            payload: payload.into(),
        };
        let diff = self.put(id, &entry);
        Some(self.local_change(diff, PresenceChange::Joined(entry)))
    }

    /// Removes a channel's entry, if it has one.
    pub(crate) fn untrack(&mut self, channel: ChannelId) -> Option<LocalChange> {
        let id = EntryId {
            node: None,
            channel,
        };
        let diff = self.remove(id)?;
        Some(self.local_change(diff, PresenceChange::Left(channel)))
    }

    fn local_change(&mut self, diff: String, change: PresenceChange) -> LocalChange {
        self.clock += 1;
        LocalChange {
            diff,
            change,
            clock: self.clock,
        }
    }

    /// How often this node's entries have changed.
    pub(crate) fn clock(&self) -> u64 {
        self.clock
    }

    /// The last known clock of another node.
    pub(crate) fn clock_of(&self, node: NodeId) -> Option<u64> {
        self.clocks.get(&node).copied()
    }

    /// This node's entries, for other nodes.
    pub(crate) fn local_entries(&self) -> Vec<PresenceEntry> {
        let local = self.entries.values().filter(|entry| entry.is_local());
        local.map(Entry::to_sent).collect()
    }

    /// Applies a change of another node.
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
            PresenceChange::Joined(sent) => {
                let channel = sent.channel;
                let id = EntryId { node, channel };
                let is_known = self
                    .entry(id)
                    .is_some_and(|entry| entry.reference == sent.reference);
                (!is_known).then(|| self.put(id, sent))
            }
            PresenceChange::Left(channel) => {
                let channel = *channel;
                self.remove(EntryId { node, channel })
            }
        };
        Merged { diff, is_behind }
    }

    /// Replaces all entries of another node.
    pub(crate) fn merge_state(
        &mut self,
        node: NodeId,
        clock: u64,
        sent: &[PresenceEntry],
    ) -> Option<String> {
        let known = self.clocks.get(&node);
        if known.is_some_and(|known| clock < *known) {
            return None;
        }
        self.clocks.insert(node, clock);
        let (mut joins, mut leaves) = (Vec::new(), Vec::new());
        let is_gone = |entry: &Entry| {
            entry.id.node == Some(node) && !sent.iter().any(|new| new.channel == entry.id.channel)
        };
        let gone: Vec<EntryId> = self
            .entries
            .values()
            .filter(|entry| is_gone(entry))
            .map(|entry| entry.id)
            .collect();
        leaves.extend(gone.into_iter().filter_map(|id| self.take(id)));
        for new in sent {
            let id = EntryId {
                node: Some(node),
                channel: new.channel,
            };
            if self
                .entry(id)
                .is_some_and(|entry| entry.reference == new.reference)
            {
                continue;
            }
            let (entry, old) = self.replace(id, new);
            joins.push(entry);
            leaves.extend(old);
        }
        diff_if_any(&joins, &leaves)
    }

    /// Removes all entries of a node that is gone.
    pub(crate) fn remove_node(&mut self, node: NodeId) -> Option<String> {
        self.clocks.remove(&node);
        let theirs = self
            .entries
            .values()
            .filter(|entry| entry.id.node == Some(node));
        let theirs: Vec<EntryId> = theirs.map(|entry| entry.id).collect();
        let leaves: Vec<Entry> = theirs.into_iter().filter_map(|id| self.take(id)).collect();
        diff_if_any(&[], &leaves)
    }

    /// The payload of `presence_state`.
    pub(crate) fn state(&self) -> String {
        let entries: Vec<&Entry> = self.entries.values().collect();
        metas_by_key(&entries)
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    fn entry(&self, id: EntryId) -> Option<&Entry> {
        self.entries.get(self.positions.get(&id)?)
    }

    fn put(&mut self, id: EntryId, sent: &PresenceEntry) -> String {
        let (entry, old) = self.replace(id, sent);
        let old: Vec<&Entry> = old.iter().collect();
        diff(&[&entry], &old)
    }

    /// Returns the new entry and the one that it replaces.
    fn replace(&mut self, id: EntryId, sent: &PresenceEntry) -> (Entry, Option<Entry>) {
        let position = *self.positions.entry(id).or_insert_with(|| {
            self.last_position += 1;
            self.last_position
        });
        let old = self.entries.remove(&position);
        if old.is_none() && id.node.is_none() {
            self.local_count.set(self.local_count.get() + 1);
        }
        let previous = old.as_ref().map(|old| &*old.reference);
        let entry = Entry {
            id,
            key: sent.key.clone(),
            meta: meta(&sent.reference, previous, &sent.payload),
            reference: sent.reference.clone(),
            payload: sent.payload.clone(),
        };
        self.entries.insert(position, entry.clone());
        (entry, old)
    }

    fn remove(&mut self, id: EntryId) -> Option<String> {
        let entry = self.take(id)?;
        Some(diff(&[], &[&entry]))
    }

    fn take(&mut self, id: EntryId) -> Option<Entry> {
        let position = self.positions.remove(&id)?;
        if id.node.is_none() {
            self.local_count
                .set(self.local_count.get().saturating_sub(1));
        }
        self.entries.remove(&position)
    }
}

#[cfg(test)]
mod tests;
