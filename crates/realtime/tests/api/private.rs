//! What policies see and what they leave behind (§10), replay (§6.5). Who may what is shown with the
//! published client.

use http::StatusCode;
use serde_json::json;

use crate::support::{ANN, PUBLISHABLE_KEY, Socket, Sql, TestRealtime, user_token};

const OPEN: &str = "
    create policy hear on realtime.messages for select to authenticated using (true);
    create policy speak on realtime.messages for insert to authenticated with check (true);";

fn private(more: serde_json::Value) -> serde_json::Value {
    let mut config = json!({"private": true});
    for (name, value) in more.as_object().expect("an object") {
        config[name] = value.clone();
    }
    json!({"config": config, "access_token": user_token(ANN)})
}

#[tokio::test]
async fn policies_see_topic_claims_and_the_handshakes_own_headers() {
    let realtime = TestRealtime::start().await;
    realtime
        .execute(&format!(
            "create policy all_of_it on realtime.messages for select to authenticated using (
                realtime.topic() = 'r'
                and extension = 'broadcast'
                and topic = 'r'
                and current_setting('request.jwt.claims')::json ->> 'sub' = '{ANN}'
                and current_setting('request.jwt.claim.sub') = '{ANN}'
                and current_setting('request.jwt.claim.role') = 'authenticated'
                and current_setting('request.headers')::jsonb = '{{\"x-room\": \"open\"}}'
            )"
        ))
        .await;
    let query = format!("apikey={PUBLISHABLE_KEY}&vsn=2.0.0");
    let headers = [("x-room", "open"), ("cookie", "hidden")];
    let mut socket = Socket::open(realtime.address, &query, &headers).await.ok();
    let socket = socket.as_mut().expect("a socket");

    let reply = socket.join("1", "realtime:r", private(json!({}))).await;
    assert_eq!(reply["status"], "ok", "{reply}");

    let mut other = realtime.socket().await;
    let reply = other.join("1", "realtime:r", private(json!({}))).await;
    assert_eq!(reply["status"], "error", "{reply}");
}

#[tokio::test]
async fn permission_checks_leave_nothing_in_the_table() {
    let realtime = TestRealtime::start().await;
    realtime.execute(OPEN).await;
    let mut socket = realtime.socket().await;
    let config = private(json!({"presence": {"enabled": true}, "broadcast": {"ack": true}}));
    assert_eq!(socket.join("1", "realtime:r", config).await["status"], "ok");
    assert_eq!(socket.next().await[3], "presence_state");
    socket
        .send(json!(["1", "2", "realtime:r", "broadcast", {}]))
        .await;
    assert_eq!(socket.next().await[4]["status"], "ok");
    socket
        .send(json!(["1", "3", "realtime:r", "presence", {"event": "track"}]))
        .await;
    assert_eq!(socket.next().await[4]["status"], "ok");

    assert_eq!(
        realtime
            .count("select count(*) from realtime.messages")
            .await,
        0
    );
}

#[tokio::test]
async fn a_failed_write_check_is_not_cached() {
    let realtime = TestRealtime::start().await;
    realtime
        .execute(
            "create table public.switch (n int); insert into public.switch values (0);
             grant select on public.switch to authenticated;
             create policy hear on realtime.messages for select to authenticated using (true);
             create policy speak on realtime.messages for insert to authenticated
                with check (1 / (select n from public.switch) = 1);",
        )
        .await;
    let mut socket = realtime.socket().await;
    let config = private(json!({"broadcast": {"ack": true}}));
    assert_eq!(socket.join("1", "realtime:r", config).await["status"], "ok");
    let track =
        |reference: &str| json!(["1", reference, "realtime:r", "presence", {"event": "track"}]);
    socket
        .send(json!(["1", "2", "realtime:r", "broadcast", {}]))
        .await;
    socket.send(track("3")).await;
    let rejected = socket.next().await;
    assert_eq!(
        (&rejected[1], &rejected[4]["status"]),
        (&json!("3"), &json!("error"))
    );

    realtime.execute("update public.switch set n = 1").await;

    socket
        .send(json!(["1", "4", "realtime:r", "broadcast", {}]))
        .await;
    assert_eq!(socket.next().await[4]["status"], "ok");
    socket.send(track("5")).await;
    assert_eq!(socket.next().await[4]["status"], "ok");
}

#[tokio::test]
async fn a_day_without_a_partition_gets_one() {
    let realtime = TestRealtime::start().await;
    realtime.execute(OPEN).await;
    realtime
        .execute(
            "do $$ declare day text; begin
               for day in select inhrelid::regclass::text from pg_inherits
                          where inhparent = 'realtime.messages'::regclass
               loop execute 'drop table ' || day; end loop; end $$",
        )
        .await;
    let mut socket = realtime.socket().await;

    let reply = socket.join("1", "realtime:r", private(json!({}))).await;

    assert_eq!(reply["status"], "ok", "{reply}");
}

#[tokio::test]
async fn earlier_database_messages_are_replayed() {
    let realtime = TestRealtime::start().await;
    realtime.execute(OPEN).await;
    realtime
        .execute(
            "select realtime.send(jsonb_build_object('n', n), 'e', 'r', true)
             from generate_series(1, 3) n;
             select realtime.send('{\"n\": 4}', 'e', 'other', true);
             select realtime.send('{\"n\": 5}', 'e', 'r', false)",
        )
        .await;
    let mut socket = realtime.socket().await;
    let replay = json!({"broadcast": {"replay": {"since": 0, "limit": 2}}});

    let reply = socket.join("1", "realtime:r", private(replay)).await;

    assert_eq!(reply["status"], "ok", "{reply}");
    for _ in 0..2 {
        let frame = socket.next().await;
        assert_eq!((&frame[0], &frame[3]), (&json!("1"), &json!("broadcast")));
        assert_eq!(frame[4]["event"], "e");
        assert_eq!(frame[4]["meta"]["replayed"], true);
        assert_eq!(frame[4]["meta"]["id"], frame[4]["payload"]["id"]);
    }
    socket.expect_nothing().await;
}

#[tokio::test]
async fn an_invalid_replay_rejects_the_join() {
    let realtime = TestRealtime::start().await;
    realtime.execute(OPEN).await;
    let mut socket = realtime.socket().await;
    let replay = json!({"broadcast": {"replay": {"since": "yesterday"}}});

    let reply = socket
        .join("1", "realtime:r", private(replay.clone()))
        .await;
    let reason = "UnableToReplayMessages: Replay params are not valid";
    assert_eq!(reply["response"]["reason"], reason);

    let reply = socket
        .join("2", "realtime:r", json!({ "config": replay }))
        .await;
    let reason = "UnableToReplayMessages: Replay is not allowed for public channels";
    assert_eq!(reply["response"]["reason"], reason);
}

#[tokio::test]
async fn frames_wait_for_their_own_channel_and_for_no_other() {
    let realtime = TestRealtime::start().await;
    realtime
        .execute(
            "create policy slow on realtime.messages for select to authenticated using (
                pg_sleep(0.5) is not null
             );
             create policy speak on realtime.messages for insert to authenticated
                with check (true);",
        )
        .await;
    let mut socket = realtime.socket().await;

    let join = private(json!({"broadcast": {"ack": true}}));
    socket
        .send(json!(["1", "1", "realtime:slow", "phx_join", join]))
        .await;
    socket
        .send(json!(["1", "2", "realtime:slow", "broadcast", {"event": "e"}]))
        .await;
    socket
        .send(json!(["1", "3", "realtime:slow", "phx_leave", {}]))
        .await;
    socket.join_ok("4", "realtime:quick").await;

    let order: Vec<_> = [
        socket.next().await,
        socket.next().await,
        socket.next().await,
    ]
    .map(|frame| frame[1].clone())
    .into();
    assert_eq!(order, [json!("1"), json!("2"), json!("3")]);
    assert_eq!(socket.next().await[3], "phx_close");
}

fn reason(reply: &serde_json::Value) -> &str {
    reply["response"]["reason"].as_str().unwrap_or_default()
}

#[tokio::test]
async fn a_database_that_is_away_keeps_private_channels_shut_and_public_ones_open() {
    let realtime = TestRealtime::start().await;
    realtime.reject_connections().await;
    let mut socket = realtime.socket().await;

    let reply = socket.join("1", "realtime:r", private(json!({}))).await;

    let expected =
        "UnableToConnectToProject: Realtime was unable to connect to the project database";
    assert_eq!(reason(&reply), expected);
    socket.join_ok("2", "realtime:r").await;
    let key = ("apikey", PUBLISHABLE_KEY);
    let path = "/api/broadcast/r/events/e?private=true";
    let rejected = realtime.post(path, &[key], "{}").await;
    assert_eq!(rejected.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(
        rejected.json(),
        json!({"message": "Tenant database unavailable"})
    );
}

#[tokio::test]
async fn a_full_database_is_distinguished_from_an_unreachable_one() {
    let realtime = TestRealtime::start().await;
    realtime.exhaust_connections().await;
    let mut socket = realtime.socket().await;

    let reply = socket.join("1", "realtime:r", private(json!({}))).await;

    let expected = "DatabaseLackOfConnections: Database can't accept more connections, Realtime \
                    won't connect";
    assert_eq!(reason(&reply), expected);
    let key = ("apikey", PUBLISHABLE_KEY);
    let path = "/api/broadcast/r/events/e?private=true";
    let rejected = realtime.post(path, &[key], "{}").await;
    assert_eq!(rejected.status, StatusCode::UNPROCESSABLE_ENTITY);
    let expected = json!({"message": "Tenant database has too many connections"});
    assert_eq!(rejected.json(), expected);
}

#[tokio::test]
async fn a_cancelled_policy_is_reported() {
    let realtime = TestRealtime::start().await;
    realtime
        .execute(
            "create function public.cancelled() returns bool language plpgsql as
                'begin raise sqlstate ''57014'' using message = ''enough''; end';
             create policy hear on realtime.messages for select using (public.cancelled());
             create policy speak on realtime.messages for insert with check (public.cancelled())",
        )
        .await;
    let mut socket = realtime.socket().await;

    let reply = socket.join("1", "realtime:r", private(json!({}))).await;

    assert!(reason(&reply).starts_with("QueryCanceled: "), "{reply}");
    assert!(reason(&reply).contains("enough"), "{reply}");
    let key = ("apikey", PUBLISHABLE_KEY);
    let path = "/api/broadcast/r/events/e?private=true";
    let rejected = realtime.post(path, &[key], "{}").await;
    assert_eq!(rejected.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(rejected.json(), json!({"message": "Query canceled"}));
}

#[tokio::test]
async fn a_failing_replay_query_rejects_the_join() {
    let realtime = TestRealtime::start().await;
    realtime.execute(OPEN).await;
    realtime
        .execute("alter table realtime.messages rename column binary_payload to other")
        .await;
    let mut socket = realtime.socket().await;
    let replay = json!({"broadcast": {"replay": {"since": 0}}});

    let reply = socket.join("1", "realtime:r", private(replay)).await;

    let expected = "UnableToReplayMessages: Realtime was unable to replay messages";
    assert_eq!(reason(&reply), expected);
}
