//! Changes of this node and of others, and the diffs that they make.

use serde_json::{Value, json};

use super::*;

fn read(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

fn key(text: &str) -> Arc<str> {
    text.into()
}

#[test]
fn a_new_entry_joins_and_is_in_the_state() {
    let mut presence = Presence::default();

    let diff = presence.track(ChannelId(1), &key("ann"), r#""x":1.0"#);

    let diff = read(&diff.expect("a diff").diff);
    let meta = &diff["joins"]["ann"]["metas"][0];
    assert_eq!(diff["leaves"], json!({}));
    assert_eq!(meta["x"], json!(1.0));
    assert_eq!(meta["phx_ref"].as_str().map(str::len), Some(16));
    assert_eq!(read(&presence.state())["ann"]["metas"], json!([meta]));
}

#[test]
fn the_same_payload_again_makes_no_diff() {
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

    let diff = presence.track(ChannelId(1), &key("ann"), r#""x":2"#);

    let diff = read(&diff.expect("a diff").diff);
    let new = &diff["joins"]["ann"]["metas"][0];
    assert_eq!(new["x"], 2);
    assert_eq!(new["phx_ref_prev"], first["phx_ref"]);
    assert_ne!(new["phx_ref"], first["phx_ref"]);
    assert_eq!(diff["leaves"]["ann"]["metas"], json!([first]));
}

#[test]
fn several_channels_share_a_key_and_keep_their_order() {
    let mut presence = Presence::default();
    for channel in 1..=3 {
        presence.track(ChannelId(channel), &key("k"), &format!("\"n\":{channel}"));
    }
    let diff = read(&presence.untrack(ChannelId(2)).expect("a diff").diff);
    assert_eq!(diff["leaves"]["k"]["metas"][0]["n"], 2);
    assert_eq!(diff["joins"], json!({}));

    let state = read(&presence.state());
    let metas = state["k"]["metas"].as_array().expect("metas");
    let tracked: Vec<_> = metas.iter().map(|meta| meta["n"].as_i64()).collect();
    assert_eq!(tracked, [Some(1), Some(3)]);
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

fn entry(channel: u64, reference: &str) -> PresenceEntry {
    PresenceEntry {
        channel: ChannelId(channel),
        key: key("bob"),
        reference: reference.into(),
        payload: "".into(),
    }
}

#[test]
fn changes_of_another_node_are_applied_in_their_order() {
    let mut presence = Presence::default();
    assert!(presence.merge_state(NODE, 0, &[]).is_none());

    let joined = PresenceChange::Joined(entry(1, "a"));
    let merged = presence.merge(NODE, 1, &joined);
    assert!(!merged.is_behind);
    let diff = read(&merged.diff.expect("a diff"));
    assert_eq!(diff["joins"]["bob"]["metas"][0]["phx_ref"], "a");
    let updated = presence.merge(NODE, 2, &PresenceChange::Joined(entry(1, "b")));
    let diff = read(&updated.diff.expect("a diff"));
    assert_eq!(diff["joins"]["bob"]["metas"][0]["phx_ref_prev"], "a");
    assert_eq!(diff["leaves"]["bob"]["metas"][0]["phx_ref"], "a");

    // An old change is ignored.
    assert!(presence.merge(NODE, 1, &joined).diff.is_none());
    let left = presence.merge(NODE, 3, &PresenceChange::Left(ChannelId(1)));
    assert!(left.diff.is_some());
    assert_eq!(read(&presence.state()), json!({}));
}

#[test]
fn a_gap_is_noticed_until_the_whole_state_is_known() {
    let mut presence = Presence::default();
    let first = presence.merge(NODE, 5, &PresenceChange::Joined(entry(1, "a")));
    assert!(first.is_behind);
    assert!(
        presence
            .merge(NODE, 6, &PresenceChange::Left(ChannelId(2)))
            .is_behind
    );

    let diff = presence.merge_state(NODE, 6, &[entry(1, "a"), entry(3, "c")]);

    let diff = read(&diff.expect("a diff"));
    assert_eq!(
        diff["joins"]["bob"]["metas"].as_array().map(Vec::len),
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
    presence.merge_state(NODE, 1, &[entry(1, "a"), entry(2, "b")]);

    let diff = presence.merge_state(NODE, 4, &[entry(2, "b2")]);

    let diff = read(&diff.expect("a diff"));
    assert_eq!(
        diff["leaves"]["bob"]["metas"].as_array().map(Vec::len),
        Some(2)
    );
    assert_eq!(
        diff["joins"]["bob"]["metas"].as_array().map(Vec::len),
        Some(1)
    );
    assert!(presence.merge_state(NODE, 3, &[]).is_none());
    assert_eq!(presence.local_entries().len(), 1);
    let gone = presence.remove_node(NODE).expect("a diff");
    assert_eq!(read(&gone)["leaves"]["bob"]["metas"][0]["phx_ref"], "b2");
    assert_eq!(presence.len(), 1);
    assert!(presence.remove_node(NODE).is_none());
}
