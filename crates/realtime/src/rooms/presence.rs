//! Who says what about themselves in a room (§7).

use std::{
    collections::{BTreeMap, HashMap},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use base64::{Engine as _, prelude::BASE64_URL_SAFE};
use serde_json::Value;

use super::ChannelId;
use crate::protocol::push_json_text;

/// Everybody who is tracked in a room, in the order in which they came.
#[derive(Debug, Default)]
pub(crate) struct Presence {
    entries: BTreeMap<u64, Entry>,
    of_channel: HashMap<ChannelId, u64>,
    next: u64,
}

#[derive(Debug, Clone)]
struct Entry {
    key: Arc<str>,
    reference: Box<str>,
    /// The members of the object that was tracked.
    payload: Box<str>,
    /// The whole meta: its refs and the payload.
    meta: Box<str>,
}

impl Presence {
    /// Tracks a channel, whose payload is the members of an object. Gives the diff to be told;
    /// none if nothing changes.
    pub(crate) fn track(
        &mut self,
        channel: ChannelId,
        key: &Arc<str>,
        payload: &str,
    ) -> Option<String> {
        let reference = new_reference();
        match self.of_channel.get(&channel) {
            Some(place) => {
                let entry = self.entries.get_mut(place)?;
                if says_the_same(&entry.payload, payload) {
                    return None;
                }
                let meta = meta(&reference, Some(&entry.reference), payload);
                let new = Entry {
                    key: key.clone(),
                    reference,
                    payload: payload.into(),
                    meta,
                };
                let old = std::mem::replace(entry, new);
                Some(diff(&[entry], &[&old]))
            }
            None => {
                let entry = Entry {
                    key: key.clone(),
                    meta: meta(&reference, None, payload),
                    reference,
                    payload: payload.into(),
                };
                let told = diff(&[&entry], &[]);
                self.of_channel.insert(channel, self.next);
                self.entries.insert(self.next, entry);
                self.next += 1;
                Some(told)
            }
        }
    }

    /// Forgets a channel. Gives the diff to be told, if it was tracked.
    pub(crate) fn untrack(&mut self, channel: ChannelId) -> Option<String> {
        let place = self.of_channel.remove(&channel)?;
        let entry = self.entries.remove(&place)?;
        Some(diff(&[], &[&entry]))
    }

    /// Everybody, as `presence_state` tells it.
    pub(crate) fn state(&self) -> String {
        let entries: Vec<&Entry> = self.entries.values().collect();
        by_key(&entries)
    }
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

        let told = read(&told.expect("a diff"));
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

        assert_eq!(again, None);
    }

    #[test]
    fn an_update_names_the_meta_that_it_replaces() {
        let mut presence = Presence::default();
        let first = presence.track(ChannelId(1), &key("ann"), r#""x":1"#);
        let first = read(&first.expect("a diff"))["joins"]["ann"]["metas"][0].clone();

        let told = presence.track(ChannelId(1), &key("ann"), r#""x":2"#);

        let told = read(&told.expect("a diff"));
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
        let told = read(&presence.untrack(ChannelId(2)).expect("a diff"));
        assert_eq!(told["leaves"]["k"]["metas"][0]["n"], 2);
        assert_eq!(told["joins"], json!({}));

        let state = read(&presence.state());
        let metas = state["k"]["metas"].as_array().expect("metas");
        let numbers: Vec<_> = metas.iter().map(|meta| meta["n"].as_i64()).collect();
        assert_eq!(numbers, [Some(1), Some(3)]);
        assert_eq!(presence.untrack(ChannelId(2)), None);
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
}
