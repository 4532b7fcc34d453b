//! Tokens of joins and channels (§5.2, §8, §8.1), beyond what the published client's tests cover.

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use serde_json::{Value, json};

use crate::support::{ANN, SECRET, Sql, TestRealtime, now, sign, user_token};

const BOB: &str = "00000000-0000-0000-0000-00000000000b";

/// Of a key that the project does not have.
fn signed_elsewhere(header: Value) -> String {
    let part = |value: Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
    let claims = json!({"role": "authenticated", "exp": now() + 60});
    format!("{}.{}.c2ln", part(header), part(claims))
}

#[tokio::test]
async fn joins_with_invalid_tokens_are_rejected_with_a_code() {
    let realtime = TestRealtime::start().await;
    let mut socket = realtime.socket().await;
    let claims = "InvalidJWTToken: Fields `role` and `exp` are required in JWT";
    let no_key = "JwtSignerError: Failed to generate JWT signer, check your JWT secret or JWKS \
        configuration";
    let malformed = "MalformedJWT: The token provided is not a valid JWT";
    let forged = "JwtSignatureError: Failed to validate JWT signature";
    let cases = [
        (String::new(), malformed),
        (sign(&json!({"role": "authenticated"})), claims),
        (sign(&json!({"exp": now() + 60})), claims),
        (signed_elsewhere(json!({"alg": "HS256"})), forged),
        (signed_elsewhere(json!({"alg": "RS256"})), no_key),
    ];
    for (place, (token, expected)) in cases.iter().enumerate() {
        let payload = json!({"config": {}, "access_token": token});
        let reply = socket.join(&place.to_string(), "realtime:r", payload).await;
        let rejected = json!({"status": "error", "response": {"reason": expected}});
        assert_eq!(reply, rejected, "{token}");
    }

    // The older name of a token wins.
    let payload = json!({"config": {}, "access_token": "nonsense", "user_token": user_token(ANN)});
    assert_eq!(
        socket.join("9", "realtime:r", payload).await["status"],
        "ok"
    );
}

#[tokio::test]
async fn a_new_token_that_may_read_less_closes_the_channel() {
    let realtime = TestRealtime::start().await;
    let policies = format!(
        "create policy hear on realtime.messages for select to authenticated using (
            extension = 'broadcast' or current_setting('request.jwt.claim.sub') = '{ANN}');
         create policy nobody on realtime.messages as restrictive for select to authenticated using (
            current_setting('request.jwt.claim.sub') in ('{ANN}', '{BOB}'))"
    );
    realtime.execute(&policies).await;
    let config = json!({"private": true, "presence": {"enabled": true}});
    let unknown_user = "00000000-0000-0000-0000-00000000000c";
    let cases = [
        (
            BOB,
            "You no longer have permission to read from this Channel topic: r",
        ),
        (
            unknown_user,
            "You do not have permissions to read from this Channel topic: r",
        ),
    ];
    for (sub, expected) in cases {
        let mut socket = realtime.socket().await;
        let payload = json!({"config": config, "access_token": user_token(ANN)});
        assert_eq!(
            socket.join("1", "realtime:r", payload).await["status"],
            "ok"
        );
        assert_eq!(socket.next().await[3], "presence_state");

        let payload = json!({"access_token": user_token(sub)});
        socket
            .send(json!(["1", "2", "realtime:r", "access_token", payload]))
            .await;

        let frame = socket.next().await;
        let system =
            json!({"extension": "system", "status": "error", "message": expected, "channel": "r"});
        assert_eq!(frame, json!(["1", null, "realtime:r", "system", system]));
        assert_eq!(
            socket.next().await,
            json!(["1", "1", "realtime:r", "phx_close", {}])
        );
    }
}

#[tokio::test]
async fn a_new_token_that_may_read_as_much_keeps_the_channel() {
    let realtime = TestRealtime::start().await;
    let hear = "create policy hear on realtime.messages for select to authenticated using (true)";
    realtime.execute(hear).await;
    let mut socket = realtime.socket().await;
    let payload = json!({"config": {"private": true}, "access_token": user_token(ANN)});
    let joined = socket.join("1", "realtime:r", payload).await;
    assert_eq!(joined["status"], "ok");
    socket
        .send(json!(["1", "2", "realtime:r", "presence", {"event": "track"}]))
        .await;
    assert_eq!(socket.next().await[4]["status"], "error");

    let payload = json!({"access_token": user_token(BOB)});
    socket
        .send(json!(["1", "3", "realtime:r", "access_token", payload]))
        .await;
    socket
        .send(json!(["1", "4", "realtime:r", "presence", {"event": "track"}]))
        .await;

    let still_there = socket.next().await;
    assert_eq!(still_there[1], "4", "{still_there}");
}

#[tokio::test]
async fn a_new_token_that_may_read_more_does_so_at_once() {
    let realtime = TestRealtime::start().await;
    let policy = format!(
        "create policy hear on realtime.messages for select to authenticated using (
            extension = 'presence' or current_setting('request.jwt.claim.sub') = '{ANN}');
         create policy speak on realtime.messages for insert to authenticated with check (true)"
    );
    realtime.execute(&policy).await;
    let (mut bob, mut ann) = (realtime.socket().await, realtime.socket().await);
    for (socket, sub) in [(&mut bob, BOB), (&mut ann, ANN)] {
        let config =
            json!({"private": true, "presence": {"enabled": true}, "broadcast": {"ack": true}});
        let payload = json!({"config": config, "access_token": user_token(sub)});
        assert_eq!(
            socket.join("1", "realtime:r", payload).await["status"],
            "ok"
        );
        assert_eq!(socket.next().await[3], "presence_state");
    }
    let say = json!(["1", "2", "realtime:r", "broadcast", {"event": "e"}]);
    ann.send(say.clone()).await;
    assert_eq!(ann.next().await[4]["status"], "ok");
    bob.expect_nothing().await;

    let payload = json!({"access_token": user_token(ANN)});
    bob.send(json!(["1", "3", "realtime:r", "access_token", payload]))
        .await;
    // Frames of the channel are queued until the policy check is done.
    bob.send(json!(["1", "4", "realtime:r", "presence", {}]))
        .await;
    assert_eq!(bob.next().await[1], "4");
    ann.send(say).await;
    assert_eq!(bob.next().await[3], "broadcast");
}

#[tokio::test]
async fn a_public_channel_takes_a_new_token_silently_and_closes_for_an_invalid_one() {
    let realtime = TestRealtime::start().await;
    let mut socket = realtime.socket().await;
    socket.join_ok("1", "realtime:r").await;
    let show =
        |token: &str| json!(["1", "2", "realtime:r", "access_token", {"access_token": token}]);

    socket.send(show(&user_token(ANN))).await;
    socket.send(show(&user_token(ANN))).await;
    socket.expect_nothing().await;

    socket.send(show(&sign(&json!({"exp": now() + 60})))).await;
    let message = &socket.next().await[4]["message"];
    assert_eq!(message, "Fields `role` and `exp` are required in JWT");
    assert_eq!(socket.next().await[3], "phx_close");
}

#[tokio::test]
async fn a_new_secret_disconnects_sockets_whose_tokens_it_did_not_sign() {
    let realtime = TestRealtime::start().await;
    let (mut keyed, mut joined) = (realtime.socket().await, realtime.socket().await);
    let query = format!("apikey={}&vsn=2.0.0", user_token(ANN));
    let mut opened = realtime.open(&query).await;
    keyed.join_ok("1", "realtime:r").await;
    let payload = json!({"config": {}, "access_token": user_token(ANN)});
    let reply = joined.join("1", "realtime:r", payload).await;
    assert_eq!(reply["status"], "ok", "{reply}");

    // The same once more changes nothing.
    realtime.replace_secret(SECRET);
    for socket in [&mut keyed, &mut joined, &mut opened] {
        socket.expect_nothing().await;
    }
    realtime.replace_secret("another secret that is long enough");

    for mut socket in [joined, opened] {
        assert_eq!(socket.end().await.0, Some(1012));
    }
    keyed.expect_nothing().await;
}
