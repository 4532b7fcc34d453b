//! Who is on a channel.

use plinth_client::realtime::{Channel, PresenceEvent, PresenceEvents};
use plinth_client::{Client, RealtimeError};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::support::{Live, TEST_TIMEOUT, next};

#[derive(Debug, Deserialize, PartialEq, Serialize)]
struct Mood {
    mood: String,
}

fn mood(text: &str) -> Mood {
    Mood {
        mood: text.to_owned(),
    }
}

/// Waits until a channel's picture is as it should be.
async fn until(
    events: &mut PresenceEvents,
    channel: &Channel,
    expected: &[(&str, &str)],
) -> Vec<PresenceEvent> {
    let mut seen = Vec::new();
    let waiting = async {
        loop {
            let event = next(events).await;
            let is_sync = event == PresenceEvent::Sync;
            seen.push(event);
            let there = channel.presence();
            let there: Vec<(&str, String)> = there
                .iter()
                .flat_map(|(key, all)| all.iter().map(move |one| (key, one)))
                .map(|(key, one)| (key.as_str(), one.json::<Mood>().expect("a mood").mood))
                .collect();
            let expected = expected
                .iter()
                .map(|(key, mood)| (*key, (*mood).to_owned()));
            if is_sync && expected.eq(there) {
                return;
            }
        }
    };
    let done = tokio::time::timeout(TEST_TIMEOUT, waiting).await;
    assert!(done.is_ok(), "{:?}", channel.presence());
    seen
}

fn present(client: &Client, key: &str) -> Channel {
    let builder = client.channel("room").presence_key(key).presence(true);
    builder.build().expect("a channel")
}

#[tokio::test]
async fn those_who_come_change_and_leave_are_seen() {
    let live = Live::start().await;
    let clients = (live.client(), live.client());
    let (ann, bob) = (present(&clients.0, "ann"), present(&clients.1, "bob"));
    let mut seen = ann.on_presence().unwrap();
    ann.subscribe().await.unwrap();
    until(&mut seen, &ann, &[]).await;
    bob.subscribe().await.unwrap();

    bob.track(&mood("good")).await.unwrap();
    let events = until(&mut seen, &ann, &[("bob", "good")]).await;
    assert!(matches!(
        &events[0],
        PresenceEvent::Join { key, current, new } if key == "bob" && current.is_empty() && new.len() == 1
    ));
    ann.track(&mood("fine")).await.unwrap();
    until(&mut seen, &ann, &[("ann", "fine"), ("bob", "good")]).await;
    bob.track(&mood("better")).await.unwrap();
    let events = until(&mut seen, &ann, &[("ann", "fine"), ("bob", "better")]).await;
    assert!(events.iter().any(|event| matches!(
        event,
        PresenceEvent::Leave { key, current, .. } if key == "bob" && current.len() == 1
    )));
    ann.untrack().await.unwrap();
    until(&mut seen, &ann, &[("bob", "better")]).await;

    // A dropped channel leaves.
    drop(bob);
    let events = until(&mut seen, &ann, &[]).await;
    assert!(matches!(
        &events[0],
        PresenceEvent::Leave { key, current, .. } if key == "bob" && current.is_empty()
    ));
}

#[tokio::test]
async fn a_late_subscriber_gets_the_whole_presence_state() {
    let live = Live::start().await;
    let clients = (live.client(), live.client(), live.client());
    let both = [present(&clients.0, "both"), present(&clients.1, "both")];
    for channel in &both {
        channel.subscribe().await.unwrap();
        channel.track(&mood("here")).await.unwrap();
    }

    let late = present(&clients.2, "late");
    let mut seen = late.on_presence().unwrap();
    late.subscribe().await.unwrap();
    until(&mut seen, &late, &[("both", "here"), ("both", "here")]).await;
}

#[tokio::test]
async fn presence_has_to_be_asked_for_in_time_and_is_an_object() {
    let live = Live::start().await;
    let channel = live.client().channel("room").build().unwrap();
    let rejected = channel.track(&mood("early")).await;
    assert!(matches!(rejected, Err(RealtimeError::NotSubscribed)));
    channel.subscribe().await.unwrap();

    assert!(matches!(
        channel.on_presence(),
        Err(RealtimeError::InvalidInput(_))
    ));
    assert!(matches!(
        channel.track(&json!([1])).await,
        Err(RealtimeError::InvalidInput(_))
    ));
    channel.track(&mood("quiet")).await.unwrap();
    assert!(channel.presence().is_empty());
}
