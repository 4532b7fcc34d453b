//! Client contract §1.6 and §1.7.

use std::sync::{Arc, Mutex};

use futures_util::StreamExt;
use plinth_client::auth::{AuthEvent, BusMessage, Scope, SessionBus, SignOutReason};
use plinth_client::{BoxStream, Session};
use serde_json::json;
use tokio::sync::mpsc;

use crate::support::{
    Bench, NOW_S, Reply, all_received_events, received_events, rejected, session, settle,
    token_response,
};

const TOKEN: &str = "POST /auth/v1/token";

#[tokio::test]
async fn s37_a_good_session_signs_in_and_is_the_initial_one() {
    let bench = Bench::new();
    let stored = bench.store_session(3600).await;

    let client = bench.ticking_client();
    let mut events = client.auth().events();

    let received_events = all_received_events(&mut events).await;
    let expected = [
        (AuthEvent::SignedIn, Some(stored.clone())),
        (AuthEvent::InitialSession, Some(stored)),
    ];
    assert_eq!(received_events, expected);
    assert!(bench.server.asked().is_empty());
}

#[tokio::test]
async fn s37_an_ended_session_is_refreshed_first() {
    let bench = Bench::new();
    bench.store_session(-10).await;
    bench.server.on(
        TOKEN,
        [Reply::json(200, token_response("new", NOW_S + 3600))],
    );

    let client = bench.ticking_client();
    let mut events = client.auth().events();

    let received_events = all_received_events(&mut events).await;
    let names: Vec<&str> = received_events
        .iter()
        .map(|(event, _)| event.name())
        .collect();
    assert_eq!(names, ["TOKEN_REFRESHED", "INITIAL_SESSION"]);
    assert!(received_events.iter().all(|(_, session)| {
        session.as_ref().map(Session::refresh_token) == Some("refresh-new")
    }));
}

#[tokio::test]
async fn s37_a_rejected_refresh_signs_out() {
    let bench = Bench::new();
    bench.store_session(-10).await;
    bench
        .server
        .on(TOKEN, [rejected(400, "refresh_token_not_found")]);

    let client = bench.ticking_client();
    let mut events = client.auth().events();

    let expected = [
        (
            AuthEvent::SignedOut {
                reason: SignOutReason::Expired,
            },
            None,
        ),
        (AuthEvent::InitialSession, None),
    ];
    assert_eq!(all_received_events(&mut events).await, expected);
}

#[tokio::test]
async fn s37_with_nothing_stored_there_is_only_the_initial_event() {
    let bench = Bench::new();

    let client = bench.ticking_client();
    let mut events = client.auth().events();

    assert_eq!(
        all_received_events(&mut events).await,
        [(AuthEvent::InitialSession, None)]
    );
}

#[tokio::test]
async fn s36_a_later_listener_receives_the_initial_session_first() {
    let bench = Bench::new();
    bench.store_session(3600).await;
    let client = bench.client();
    client.auth().ready().await;

    let mut events = client.auth().events();

    assert_eq!(received_events(&mut events).await, ["INITIAL_SESSION"]);
}

#[tokio::test]
async fn every_listener_receives_everything_after_it_is_stored() {
    let bench = Bench::new();
    bench.server.on(
        TOKEN,
        [Reply::json(200, token_response("new", NOW_S + 3600))],
    );
    bench
        .server
        .on("POST /auth/v1/logout", [Reply::text(204, "")]);
    let client = bench.client();
    let (mut first, mut second) = (client.auth().events(), client.auth().events());
    received_events(&mut first).await;
    received_events(&mut second).await;

    let sign_in = client
        .auth()
        .sign_in_with_password()
        .email("a@b.c")
        .password("p");
    sign_in.send().await.unwrap();
    drop(client.auth().events());
    client.auth().sign_out(Scope::Global).await.unwrap();

    for events in [&mut first, &mut second] {
        assert_eq!(received_events(events).await, ["SIGNED_IN", "SIGNED_OUT"]);
    }
}

#[tokio::test]
async fn streams_end_with_their_client() {
    let bench = Bench::new();
    let client = bench.ticking_client();
    let mut events = client.auth().events();
    received_events(&mut events).await;

    drop(client);
    settle().await;

    assert_eq!(events.next().await, None);
}

/// Two clients in one process, joined as two processes would be.
#[derive(Clone, Default)]
struct Wire {
    published: Arc<Mutex<Vec<&'static str>>>,
    incoming: Arc<Mutex<Vec<mpsc::UnboundedSender<BusMessage>>>>,
}

impl SessionBus for Wire {
    fn publish(&self, storage_key: &str, message: BusMessage) {
        assert_eq!(storage_key, "sb-abc-auth-token");
        self.published
            .lock()
            .expect("not poisoned")
            .push(message.event.name());
    }

    fn subscribe(&self, _: &str) -> BoxStream<'static, BusMessage> {
        let (sender, receiver) = mpsc::unbounded_channel();
        self.incoming.lock().expect("not poisoned").push(sender);
        Box::pin(futures_util::stream::unfold(
            receiver,
            |mut receiver| async { receiver.recv().await.map(|message| (message, receiver)) },
        ))
    }
}

impl Wire {
    fn publish_event(&self, event: AuthEvent, session: Option<Session>) {
        for sender in self.incoming.lock().expect("not poisoned").iter() {
            let session = session.clone();
            sender
                .send(BusMessage { event, session })
                .expect("not poisoned");
        }
    }
}

#[tokio::test]
async fn s41_events_of_others_are_received_but_not_repeated_and_not_stored() {
    let bench = Bench::new();
    let wire = Wire::default();
    let client = bench.builder().session_bus(wire.clone()).build().unwrap();
    let mut events = client.auth().events();
    received_events(&mut events).await;

    wire.publish_event(AuthEvent::SignedIn, Some(session("theirs", NOW_S + 3600)));
    settle().await;

    assert_eq!(received_events(&mut events).await, ["SIGNED_IN"]);
    assert_eq!(bench.stored().await, None);
    assert!(wire.published.lock().unwrap().is_empty());
}

#[tokio::test]
async fn s31_a_refresh_elsewhere_clears_the_memory_of_failures() {
    let bench = Bench::new();
    bench.store_session(1000).await;
    let good = Reply::json(200, token_response("stored", NOW_S + 3600));
    bench.server.on(TOKEN, [Reply::json(400, json!({})), good]);
    let wire = Wire::default();
    let client = bench
        .builder()
        .session_bus(wire.clone())
        .auto_refresh(false)
        .build()
        .unwrap();
    client
        .auth()
        .refresh_with("refresh-stored")
        .await
        .unwrap_err();

    wire.publish_event(AuthEvent::TokenRefreshed, None);
    settle().await;

    client.auth().refresh_with("refresh-stored").await.unwrap();
    let published = wire.published.lock().unwrap().clone();
    assert_eq!(published, ["SIGNED_IN", "TOKEN_REFRESHED"]);
}
