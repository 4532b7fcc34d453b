//! What subscribers are told (§9.6). Whatever is the same for several of them is made once.

use std::collections::HashMap;

use axum::extract::ws::Message;

use super::{Change, batch::Recipient};
use crate::{
    changes::message::{ChangedRow, Shown, data, refusal_data},
    hub::Hub,
    protocol::{Frame, Version},
    rooms::ChannelId,
};

/// Those of one channel who see the same are told in one message.
struct Said<'a> {
    recipient: &'a Recipient,
    data: usize,
    entries: Vec<u64>,
}

pub(super) fn tell(
    hub: &Hub,
    change: &Change,
    recipients: &[Recipient],
    row: Option<&ChangedRow<'_>>,
) {
    if recipients.is_empty() {
        return;
    }
    let mut datas: Vec<(&Recipient, String)> = Vec::new();
    let mut said: Vec<Said<'_>> = Vec::new();
    let mut places: HashMap<(ChannelId, usize), usize> = HashMap::new();
    for recipient in recipients {
        let known = datas
            .iter()
            .position(|(other, _)| shows_the_same(other, recipient));
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
        let place = *places.entry((channel, data)).or_insert_with(|| {
            said.push(Said {
                recipient,
                data,
                entries: Vec::new(),
            });
            said.len() - 1
        });
        let entries = &mut said[place].entries;
        let entry = recipient.subscription.entry;
        if !entries.contains(&entry) {
            entries.push(entry);
        }
    }
    let mut made: HashMap<(Version, &str, usize, &[u64]), Message> = HashMap::new();
    for Said {
        recipient,
        data,
        entries,
    } in &said
    {
        let subscriber = &recipient.subscription.subscriber;
        let version = subscriber.member.version;
        let topic = &*subscriber.topic;
        let message = made
            .entry((version, topic, *data, entries))
            .or_insert_with(|| encode(version, topic, entries, &datas[*data].1));
        subscriber.member.outbox.push(message.clone());
    }
    hub.numbers.said(said.len(), made.len());
    hub.change_events.add(said.len() as u64);
}

fn shows_the_same(one: &Recipient, other: &Recipient) -> bool {
    one.refusal == other.refusal
        && (std::sync::Arc::ptr_eq(&one.rights, &other.rights) || one.rights == other.rights)
        && one.subscription.select == other.subscription.select
}

fn data_for(
    change: &Change,
    recipient: &Recipient,
    row: Option<&ChangedRow<'_>>,
) -> Option<String> {
    let bytes = match recipient.refusal {
        Some(refusal) => refusal_data(&change.relation, change.event(), refusal),
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
