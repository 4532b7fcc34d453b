//! Joining, leaving, joining again (§4, §5), presence as frames show it (§7).

use serde_json::{Value, json};

use crate::support::{Closed, TestRealtime};

#[tokio::test]
async fn leaving_is_answered_and_then_closed() {
    let realtime = TestRealtime::start().await;
    let mut socket = realtime.socket().await;
    socket.enter("6", "realtime:r").await;

    socket
        .send(json!(["6", "7", "realtime:r", "phx_leave", {}]))
        .await;

    let left = json!({"status": "ok", "response": {}});
    assert_eq!(
        socket.next().await,
        json!(["6", "7", "realtime:r", "phx_reply", left])
    );
    assert_eq!(
        socket.next().await,
        json!(["6", "6", "realtime:r", "phx_close", {}])
    );
}

#[tokio::test]
async fn a_second_join_ends_the_first_by_its_own_ref() {
    let realtime = TestRealtime::start().await;
    let mut socket = realtime.socket().await;
    socket.enter("6", "realtime:r").await;

    socket.enter("9", "realtime:r").await;

    assert_eq!(
        socket.next().await,
        json!(["6", "6", "realtime:r", "phx_close", {}])
    );
    // What belongs to the first join is not for the second.
    socket
        .send(json!(["6", "10", "realtime:r", "phx_leave", {}]))
        .await;
    socket.is_silent().await;
    // But other pushes are served, whatever join they name.
    socket
        .send(json!(["6", "11", "realtime:r", "presence", {"event": "track"}]))
        .await;
    assert_eq!(socket.next().await[4]["status"], "ok");
}

#[tokio::test]
async fn leaving_and_joining_in_one_breath() {
    let realtime = TestRealtime::start().await;
    let mut socket = realtime.socket().await;
    socket.enter("1", "realtime:r").await;

    socket
        .send(json!(["1", "2", "realtime:r", "phx_leave", {}]))
        .await;
    socket
        .send(json!(["3", "3", "realtime:r", "phx_join", {"config": {}}]))
        .await;

    assert_eq!(socket.next().await[1], "2");
    assert_eq!(socket.next().await[3], "phx_close");
    let joined = socket.next().await;
    assert_eq!(
        (&joined[0], &joined[4]["status"]),
        (&json!("3"), &json!("ok"))
    );
}

#[tokio::test]
async fn a_topic_needs_a_name() {
    let realtime = TestRealtime::start().await;
    let mut socket = realtime.socket().await;

    let answer = socket.join("1", "realtime:", json!({})).await;

    let reason = "TopicNameRequired: You must provide a topic name";
    assert_eq!(
        answer,
        json!({"status": "error", "response": {"reason": reason}})
    );
}

#[tokio::test]
async fn keys_in_the_place_of_tokens_are_ignored() {
    let realtime = TestRealtime::start().await;
    let mut socket = realtime.socket().await;
    let payload = json!({"config": {}, "access_token": "sb_publishable_whatever"});
    assert_eq!(
        socket.join("1", "realtime:r", payload).await["status"],
        "ok"
    );

    for token in [json!("sb_secret_whatever"), json!(null)] {
        let payload = json!({ "access_token": token });
        socket
            .send(json!(["1", "2", "realtime:r", "access_token", payload]))
            .await;
    }
    socket.is_silent().await;

    socket
        .send(json!(["1", "3", "realtime:r", "access_token", {"access_token": ""}]))
        .await;
    let told = socket.next().await;
    assert_eq!(
        told,
        json!(["1", null, "realtime:r", "system", {
            "extension": "system",
            "status": "error",
            "message": "The token provided is not a valid JWT",
            "channel": "r",
        }])
    );
    assert_eq!(
        socket.next().await,
        json!(["1", "1", "realtime:r", "phx_close", {}])
    );
}

#[tokio::test]
async fn presence_is_told_in_the_contracts_order() {
    let realtime = TestRealtime::start().await;
    let mut socket = realtime.socket().await;
    let config = json!({"config": {"presence": {"key": 7, "enabled": true}}});
    assert_eq!(socket.join("1", "realtime:r", config).await["status"], "ok");
    assert_eq!(
        socket.next().await,
        json!(["1", null, "realtime:r", "presence_state", {}])
    );

    let payload =
        json!({"type": "presence", "event": "TRACK", "payload": {"at": 1, "phx_ref": "x"}});
    socket
        .send(json!(["1", "2", "realtime:r", "presence", payload]))
        .await;

    let answer = socket.next().await;
    assert_eq!(
        (&answer[1], &answer[4]["status"]),
        (&json!("2"), &json!("ok"))
    );
    let diff = socket.next().await;
    assert_eq!(
        (&diff[0], &diff[3]),
        (&json!(null), &json!("presence_diff"))
    );
    let meta = &diff[4]["joins"]["7"]["metas"][0];
    assert_eq!(meta["at"], 1);
    assert_ne!(meta["phx_ref"], "x");
    assert_eq!(diff[4]["leaves"], json!({}));

    // Once more the same is no news.
    let payload = json!({"event": "track", "payload": {"at": 1}});
    socket
        .send(json!(["1", "3", "realtime:r", "presence", payload]))
        .await;
    assert_eq!(socket.next().await[1], "3");
    socket.is_silent().await;
}

#[tokio::test]
async fn bad_presence_is_answered_and_the_channel_stays() {
    let realtime = TestRealtime::start().await;
    let mut socket = realtime.socket().await;
    socket.enter("1", "realtime:r").await;
    let cases = [
        (json!({}), json!({"status": "ok", "response": {}})),
        (
            json!({"event": "other"}),
            json!({"status": "error", "response": {}}),
        ),
        (
            json!({"event": 7}),
            json!({"status": "error", "response": {}}),
        ),
        (
            json!({"event": "track", "payload": [1]}),
            json!({"status": "error", "response": {"reason": "Presence track payload must be a map"}}),
        ),
        (
            json!({"event": "untrack"}),
            json!({"status": "ok", "response": {}}),
        ),
    ];
    for (payload, expected) in cases {
        socket
            .send(json!(["1", "2", "realtime:r", "presence", payload]))
            .await;
        assert_eq!(socket.next().await[4], expected, "{payload}");
    }
    socket.is_silent().await;
}

#[tokio::test]
async fn a_public_channel_without_presence_still_hears_of_it() {
    let realtime = TestRealtime::start().await;
    let (mut quiet, mut present) = (realtime.socket().await, realtime.socket().await);
    quiet.enter("1", "realtime:r").await;
    present.enter("1", "realtime:r").await;

    present
        .send(json!(["1", "2", "realtime:r", "presence", {"event": "track"}]))
        .await;

    assert_eq!(quiet.next().await[3], "presence_diff");
}

#[tokio::test]
async fn settings_that_forbid_a_channel_disconnect_it() {
    let realtime = TestRealtime::start().await;
    let mut socket = realtime.socket().await;
    socket.enter("1", "realtime:r").await;

    realtime.set(&[("plinth.realtime.private_only", "true")]);

    let told = socket.next().await;
    assert_eq!(
        told,
        json!([null, null, "realtime:r", "system", {
            "extension": "system", "status": "ok", "message": "Server requested disconnect",
        }])
    );
    assert_eq!(socket.end().await, Closed(Some(1012)));
    let mut socket = realtime.socket().await;
    let answer = socket.join("1", "realtime:r", json!({})).await;
    let reason = "PrivateOnly: This project only allows private channels";
    assert_eq!(answer["response"]["reason"], reason);
}

#[tokio::test]
async fn a_project_that_is_closed_and_a_service_that_ends_let_their_sockets_go() {
    let realtime = TestRealtime::start().await;
    let mut socket = realtime.socket().await;
    socket.enter("1", "realtime:r").await;
    realtime.project.closed().cancel();
    assert_eq!(
        socket.next().await[4]["message"],
        "Server requested disconnect"
    );
    assert_eq!(socket.end().await, Closed(Some(1012)));

    let realtime = TestRealtime::start().await;
    let mut socket = realtime.socket().await;
    socket.enter("1", "realtime:r").await;
    let (closed, ()) = tokio::join!(socket.end(), realtime.service.finish());
    assert_eq!(closed, Closed(Some(1012)));
}

#[tokio::test]
async fn sockets_of_a_service_that_ends_are_served_until_their_turn_comes() {
    let realtime = TestRealtime::start().await;
    let mut sockets = Vec::new();
    for _ in 0..300 {
        let mut socket = realtime.socket().await;
        socket.enter("1", "realtime:r").await;
        sockets.push(socket);
    }

    // A millisecond for each of them, over which their ends are spread.
    let ending = tokio::spawn({
        let service = realtime.service.clone();
        async move { service.finish().await }
    });
    let asking = sockets.iter_mut().map(|socket| async move {
        let join = json!(["2", "2", "realtime:s", "phx_join", {}]);
        socket.try_send(join).await;
        socket.rest().await
    });
    let told = futures_util::future::join_all(asking).await;

    let restarting = "RealtimeRestarting: Realtime is restarting, please standby";
    let is_told = |frames: &&(Vec<Value>, Closed)| {
        let mut frames = frames.0.iter();
        frames.any(|frame| frame[4]["response"]["reason"] == restarting)
    };
    assert!(told.iter().filter(is_told).count() > 10, "{told:?}");
    assert!(told.iter().all(|(_, closed)| *closed == Closed(Some(1012))));
    ending.await.expect("it ends");
}
