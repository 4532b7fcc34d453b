//! Presence entries and their JSON.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use base64::{Engine as _, prelude::BASE64_URL_SAFE};
use serde_json::Value;

use super::{ChannelId, NodeId, PresenceEntry};
use crate::protocol::push_json_string;

/// Whose entry it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct EntryId {
    /// `None` for this node.
    pub(super) node: Option<NodeId>,
    pub(super) channel: ChannelId,
}

#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) id: EntryId,
    pub(super) key: Arc<str>,
    pub(super) reference: Box<str>,
    /// The members of the tracked JSON object.
    pub(super) payload: Box<str>,
    /// The whole meta: refs and payload.
    pub(super) meta: Box<str>,
}

impl Entry {
    pub(super) fn is_local(&self) -> bool {
        self.id.node.is_none()
    }

    pub(super) fn to_sent(&self) -> PresenceEntry {
        PresenceEntry {
            channel: self.id.channel,
            key: self.key.clone(),
            reference: self.reference.clone(),
            payload: self.payload.clone(),
        }
    }
}

/// The diff, unless it is empty.
pub(super) fn diff_if_any(joins: &[Entry], leaves: &[Entry]) -> Option<String> {
    let (joins, leaves): (Vec<&Entry>, Vec<&Entry>) =
        (joins.iter().collect(), leaves.iter().collect());
    (!joins.is_empty() || !leaves.is_empty()).then(|| diff(&joins, &leaves))
}

/// Whether two objects are equal, whatever the order of their members.
pub(super) fn are_equal_members(one: &str, other: &str) -> bool {
    let read = |members: &str| serde_json::from_str::<Value>(&format!("{{{members}}}")).ok();
    one == other || matches!((read(one), read(other)), (Some(one), Some(other)) if one == other)
}

pub(super) fn meta(reference: &str, previous: Option<&str>, payload: &str) -> Box<str> {
    let previous = previous
        .map(|previous| format!(",\"phx_ref_prev\":\"{previous}\""))
        .unwrap_or_default();
    let comma = if payload.is_empty() { "" } else { "," };
    format!("{{\"phx_ref\":\"{reference}\"{previous}{comma}{payload}}}").into()
}

pub(super) fn diff(joins: &[&Entry], leaves: &[&Entry]) -> String {
    format!(
        "{{\"joins\":{},\"leaves\":{}}}",
        metas_by_key(joins),
        metas_by_key(leaves)
    )
}

/// `{"<key>":{"metas":[…]}}`.
pub(super) fn metas_by_key(entries: &[&Entry]) -> String {
    let mut positions: HashMap<&str, usize> = HashMap::with_capacity(entries.len());
    let mut keys: Vec<(&str, Vec<&str>)> = Vec::new();
    for entry in entries {
        let position = *positions.entry(&entry.key).or_insert_with(|| {
            keys.push((&entry.key, Vec::new()));
            keys.len() - 1
        });
        keys[position].1.push(&entry.meta);
    }
    let mut text = String::from("{");
    for (i, (key, metas)) in keys.iter().enumerate() {
        if i > 0 {
            text.push(',');
        }
        push_json_string(&mut text, key);
        text.push_str(":{\"metas\":[");
        text.push_str(&metas.join(","));
        text.push_str("]}");
    }
    text.push('}');
    text
}

/// A `phx_ref`: time and a counter, unique in this process and practically so among nodes.
pub(super) fn new_reference() -> Box<str> {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let mut bytes = [0; 12];
    let now = time::OffsetDateTime::now_utc().unix_timestamp_nanos() / 1000;
    bytes[..7].copy_from_slice(&now.to_be_bytes()[9..]);
    let count = COUNTER.fetch_add(1, Relaxed);
    bytes[7..].copy_from_slice(&count.to_be_bytes()[3..]);
    BASE64_URL_SAFE.encode(bytes).into()
}
