//! Joining, leaving, joining again (§4, §5), presence as frames show it (§7).

use serde_json::{Value, json};

use crate::support::{Closed, TestRealtime};

#[tokio::test]
async fn leaving_gets_a_reply_and_then_a_close() {
    let realtime = TestRealtime::start().await;
    let mut socket = realtime.socket().await;
    socket.join_ok("6", "realtime:r").await;

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
    socket.join_ok("6", "realtime:r").await;

    socket.join_ok("9", "realtime:r").await;

    assert_eq!(
        socket.next().await,
        json!(["6", "6", "realtime:r", "phx_close", {}])
    );
    // What belongs to the first join is not for the second.
    socket
        .send(json!(["6", "10", "realtime:r", "phx_leave", {}]))
        .await;
    socket.expect_nothing().await;
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
    socket.join_ok("1", "realtime:r").await;

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

    let reply = socket.join("1", "realtime:", json!({})).await;

    let reason = "TopicNameRequired: You must provide a topic name";
    assert_eq!(
        reply,
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
    socket.expect_nothing().await;

    socket
        .send(json!(["1", "3", "realtime:r", "access_token", {"access_token": ""}]))
        .await;
    let frame = socket.next().await;
    assert_eq!(
        frame,
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
async fn presence_frames_come_in_the_contracts_order() {
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

    let reply = socket.next().await;
    assert_eq!(
        (&reply[1], &reply[4]["status"]),
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

    // The same payload again makes no diff.
    let payload = json!({"event": "track", "payload": {"at": 1}});
    socket
        .send(json!(["1", "3", "realtime:r", "presence", payload]))
        .await;
    assert_eq!(socket.next().await[1], "3");
    socket.expect_nothing().await;
}

#[tokio::test]
async fn invalid_presence_gets_an_error_and_the_channel_stays() {
    let realtime = TestRealtime::start().await;
    let mut socket = realtime.socket().await;
    socket.join_ok("1", "realtime:r").await;
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
    socket.expect_nothing().await;
}

#[tokio::test]
async fn a_public_channel_without_presence_still_receives_diffs() {
    let realtime = TestRealtime::start().await;
    let (mut quiet, mut present) = (realtime.socket().await, realtime.socket().await);
    quiet.join_ok("1", "realtime:r").await;
    present.join_ok("1", "realtime:r").await;

    present
        .send(json!(["1", "2", "realtime:r", "presence", {"event": "track"}]))
        .await;

    assert_eq!(quiet.next().await[3], "presence_diff");
}

#[tokio::test]
async fn settings_that_forbid_a_channel_disconnect_it() {
    let realtime = TestRealtime::start().await;
    let mut socket = realtime.socket().await;
    socket.join_ok("1", "realtime:r").await;

    realtime.set(&[("plinth.realtime.private_only", "true")]);

    let frame = socket.next().await;
    assert_eq!(
        frame,
        json!([null, null, "realtime:r", "system", {
            "extension": "system", "status": "ok", "message": "Server requested disconnect",
        }])
    );
    assert_eq!(socket.end().await, Closed(Some(1012)));
    let mut socket = realtime.socket().await;
    let reply = socket.join("1", "realtime:r", json!({})).await;
    let reason = "PrivateOnly: This project only allows private channels";
    assert_eq!(reply["response"]["reason"], reason);
}

#[tokio::test]
async fn closed_projects_and_shutdown_close_their_sockets() {
    let realtime = TestRealtime::start().await;
    let mut socket = realtime.socket().await;
    socket.join_ok("1", "realtime:r").await;
    realtime.project.closed().cancel();
    assert_eq!(
        socket.next().await[4]["message"],
        "Server requested disconnect"
    );
    assert_eq!(socket.end().await, Closed(Some(1012)));

    let realtime = TestRealtime::start().await;
    let mut socket = realtime.socket().await;
    socket.join_ok("1", "realtime:r").await;
    let (closed, ()) = tokio::join!(socket.end(), realtime.service.shut_down());
    assert_eq!(closed, Closed(Some(1012)));
}

#[tokio::test]
async fn sockets_are_served_until_their_turn_in_the_shutdown() {
    let realtime = TestRealtime::start().await;
    let mut sockets = Vec::new();
    for _ in 0..300 {
        let mut socket = realtime.socket().await;
        socket.join_ok("1", "realtime:r").await;
        sockets.push(socket);
    }

    // Their closes are spread over a millisecond for each.
    let ending = tokio::spawn({
        let service = realtime.service.clone();
        async move { service.shut_down().await }
    });
    let asking = sockets.iter_mut().map(|socket| async move {
        let join = json!(["2", "2", "realtime:s", "phx_join", {}]);
        socket.try_send(join).await;
        socket.rest().await
    });
    let closed = futures_util::future::join_all(asking).await;

    let restarting = "RealtimeRestarting: Realtime is restarting, please standby";
    let has_reply = |frames: &&(Vec<Value>, Closed)| {
        let mut frames = frames.0.iter();
        frames.any(|frame| frame[4]["response"]["reason"] == restarting)
    };
    assert!(closed.iter().filter(has_reply).count() > 10, "{closed:?}");
    assert!(
        closed
            .iter()
            .all(|(_, closed)| *closed == Closed(Some(1012)))
    );
    ending.await.expect("it ends");
}
