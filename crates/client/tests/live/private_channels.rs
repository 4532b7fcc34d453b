//! Channels that policies guard, and the tokens with which they are entered.

use futures_util::TryStreamExt;
use plinth_client::RealtimeError;
use plinth_client::realtime::{ChannelEvent, Replay, Status};
use serde_json::{Value, json};

use crate::support::{Live, PASSWORD, TEST_TIMEOUT, next};

/// Users with a certain e-mail address may receive and send in `room`.
const POLICIES: &str = "
    create policy hear on realtime.messages for select to authenticated using (
        realtime.topic() = 'room' and (auth.jwt() ->> 'email') like 'friend%'
    );
    create policy speak on realtime.messages for insert to authenticated with check (
        realtime.topic() = 'room' and (auth.jwt() ->> 'email') = 'friend@example.com'
    );
";

async fn start() -> Live {
    let live = Live::start().await;
    let done = live.db.admin().await.batch_execute(POLICIES).await;
    done.unwrap_or_else(|error| panic!("{error:?}"));
    live
}

#[tokio::test]
async fn only_clients_that_policies_admit_receive_each_others_messages() {
    let live = start().await;
    let friend = live.signed_up("friend@example.com").await;
    let second = live.signed_up("friend2@example.com").await;
    let stranger = live.signed_up("stranger@example.com").await;
    let speaking = friend.channel("room").private().ack(true).build().unwrap();
    let listening = second.channel("room").private().build().unwrap();
    let mut received_events = listening.on_broadcast("*");
    speaking.subscribe().await.unwrap();
    listening.subscribe().await.unwrap();

    // Public channels of that name are others.
    let public = stranger.channel("room").ack(true).build().unwrap();
    public.subscribe().await.unwrap();
    public.send("e", &"from outside").await.unwrap();
    public.unsubscribe();
    speaking.send("e", &"from inside").await.unwrap();
    let said = next(&mut received_events).await;
    assert_eq!(said.json::<String>().unwrap(), "from inside");

    let rejected = stranger.channel("room").private().subscribe().await;
    let Err(RealtimeError::Rejected(why)) = rejected else {
        panic!("{rejected:?}");
    };
    assert_eq!(
        why,
        "Unauthorized: You do not have permissions to read from this Channel topic: room"
    );
    speaking.send_http("e", &json!({})).send().await.unwrap();
    let mute = listening.send_http("e", &json!({})).send().await;
    assert!(matches!(mute, Err(RealtimeError::Http { status: 403, .. })));
}

#[tokio::test]
async fn a_channel_that_was_rejected_joins_once_the_right_one_has_signed_in() {
    let live = start().await;
    live.signed_up("friend@example.com").await;
    let client = live.client();
    let channel = client.channel("room").private().build().unwrap();
    let mut statuses = channel.statuses();
    assert!(matches!(
        channel.subscribe().await,
        Err(RealtimeError::Rejected(_))
    ));
    assert!(matches!(next(&mut statuses).await, Status::Error(_)));

    let sign_in = client.auth().sign_in_with_password();
    let sign_in = sign_in.email("friend@example.com").password(PASSWORD);
    sign_in.send().await.unwrap();

    loop {
        match next(&mut statuses).await {
            Status::Subscribed => break,
            Status::Error(_) => {}
            other => panic!("{other:?}"),
        }
    }
    channel.send("e", &1).await.unwrap();
}

#[tokio::test]
async fn a_live_channel_follows_a_sign_in() {
    let live = start().await;
    live.signed_up("stranger@example.com").await;
    let client = live.signed_up("friend@example.com").await;
    let mut events = client.channel("room").private().subscribe().await.unwrap();

    let sign_in = client.auth().sign_in_with_password();
    let sign_in = sign_in.email("stranger@example.com").password(PASSWORD);
    sign_in.send().await.unwrap();

    let mut reported = Vec::new();
    let all = async {
        while let Some(event) = events.try_next().await.unwrap() {
            reported.push(match event {
                ChannelEvent::Status(status) => status.name().to_owned(),
                ChannelEvent::System(system) => system.message,
                other => panic!("{other:?}"),
            });
        }
    };
    tokio::time::timeout(TEST_TIMEOUT, all).await.unwrap();
    assert_eq!(
        reported,
        [
            "SUBSCRIBED",
            "You do not have permissions to read from this Channel topic: room",
            "CLOSED",
        ]
    );
}

#[tokio::test]
async fn a_token_can_be_given_by_hand() {
    let live = start().await;
    let friend = live.signed_up("friend@example.com").await;
    let token = friend.auth().session().await.unwrap().unwrap();
    let client = live.client();
    client
        .realtime()
        .set_auth(Some(token.access_token().to_owned()));

    let events = client.channel("room").private().subscribe().await;
    assert!(events.unwrap().channel().is_subscribed());
}

#[tokio::test]
async fn what_the_database_said_before_is_replayed() {
    let live = start().await;
    let sql = "select realtime.send('{\"n\": 1}'::jsonb, 'e', 'room', true)";
    live.db.admin().await.batch_execute(sql).await.unwrap();
    let friend = live.signed_up("friend@example.com").await;
    let replay = Replay::since(0).limit(5);
    let channel = friend
        .channel("room")
        .private()
        .replay(replay)
        .build()
        .unwrap();
    let mut received_events = channel.on_broadcast("e");
    let public = friend.channel("public").replay(replay).build();
    assert!(matches!(public, Err(RealtimeError::InvalidInput(_))));
    channel.subscribe().await.unwrap();

    let said = next(&mut received_events).await;
    assert!(said.is_replayed());
    assert!(said.meta.as_ref().unwrap().id.is_some());
    assert_eq!(said.json::<Value>().unwrap()["n"], 1);
}
