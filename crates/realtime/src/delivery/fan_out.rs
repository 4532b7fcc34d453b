//! `postgres_changes` messages (§9.6). What is equal for several subscribers is encoded once.

use std::{collections::HashMap, sync::Arc};

use axum::extract::ws::Message;

use super::{RowChange, batch::Recipient};
use crate::{
    changes::message::{ChangedRow, Shown, data, error_data},
    hub::Hub,
    protocol::{Frame, Version},
    topics::ChannelId,
};

/// The message to one channel, for all of its entries that receive the same data.
struct ChannelMessage<'a> {
    recipient: &'a Recipient,
    /// Index of the data.
    data: usize,
    entries: Vec<u64>,
}

/// Queues a change for all recipients.
pub(super) fn send(
    hub: &Hub,
    change: &RowChange,
    recipients: &[Recipient],
    row: Option<&ChangedRow<'_>>,
) {
    if recipients.is_empty() {
        return;
    }
    let mut datas: Vec<(&Recipient, String)> = Vec::new();
    let mut messages: Vec<ChannelMessage<'_>> = Vec::new();
    let mut by_channel: HashMap<(ChannelId, usize), usize> = HashMap::new();
    for recipient in recipients {
        let known = datas
            .iter()
            .position(|(other, _)| receives_same_data(other, recipient));
        let data = match known {
            Some(known) => known,
            None => {
                let Some(text) = data_for(change, recipient, row) else {
                    continue;
                };
                datas.push((recipient, text));
                datas.len() - 1
            }
        };
        let channel = recipient.subscription.subscriber.member.id;
        let index = *by_channel.entry((channel, data)).or_insert_with(|| {
            messages.push(ChannelMessage {
                recipient,
                data,
                entries: Vec::new(),
            });
            messages.len() - 1
        });
        let entries = &mut messages[index].entries;
        let entry = recipient.subscription.entry;
        if !entries.contains(&entry) {
            entries.push(entry);
        }
    }
    let mut encoded: HashMap<(Version, &str, usize, &[u64]), Message> = HashMap::new();
    for message in &messages {
        let ChannelMessage { data, entries, .. } = message;
        let subscriber = &message.recipient.subscription.subscriber;
        let version = subscriber.member.version;
        let topic = &*subscriber.topic;
        let frame = encoded
            .entry((version, topic, *data, entries))
            .or_insert_with(|| encode(version, topic, entries, &datas[*data].1));
        subscriber.member.outbound.push(frame.clone());
    }
    hub.metrics.count_frames(messages.len(), encoded.len());
    hub.usage.change_events.add(messages.len() as u64);
}

fn receives_same_data(one: &Recipient, other: &Recipient) -> bool {
    one.error == other.error
        && (Arc::ptr_eq(&one.rights, &other.rights) || one.rights == other.rights)
        && one.subscription.select == other.subscription.select
}

fn data_for(
    change: &RowChange,
    recipient: &Recipient,
    row: Option<&ChangedRow<'_>>,
) -> Option<String> {
    let bytes = match recipient.error {
        Some(error) => error_data(&change.relation, change.event(), error),
        None => {
            let shown = Shown {
                rights: &recipient.rights,
                select: recipient.subscription.select.as_ref(),
            };
            data(row?, shown)
        }
    };
    String::from_utf8(bytes).ok()
}

fn encode(version: Version, topic: &str, entries: &[u64], data: &str) -> Message {
    let ids: Vec<String> = entries.iter().map(u64::to_string).collect();
    let frame = Frame {
        join_ref: None,
        reference: None,
        topic,
        event: "postgres_changes",
        payload: &format!("{{\"ids\":[{}],\"data\":{data}}}", ids.join(",")),
    };
    frame.encode(version)
}
