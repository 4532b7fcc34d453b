//! Channels over a transport of the test's own, by a clock that it moves.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use futures_util::future::BoxFuture;
use futures_util::{Sink, Stream};
use plinth_client::realtime::{
    Channel, Connect, ConnectRequest, Connection, RealtimeOptions, SocketMessage, Status,
};
use plinth_client::{Client, RealtimeError, TransportError};
use plinth_testkit::{Traces, assert_no_secret};
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::support::{Bench, NOW_S, Reply, session, settle, token_response};

/// Hands both ends of connections to the test. Clones are the same.
#[derive(Clone, Default)]
struct Wires(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    made: Vec<(ConnectRequest, Wire)>,
    is_rejecting: bool,
    /// Connections take nothing.
    is_stalled: Arc<AtomicBool>,
}

/// The server's end of a connection.
struct Wire {
    from_client: UnboundedReceiver<SocketMessage>,
    to_client: UnboundedSender<SocketMessage>,
}

/// The client's end.
struct Pipe {
    incoming: UnboundedReceiver<SocketMessage>,
    outgoing: UnboundedSender<SocketMessage>,
    is_stalled: Arc<AtomicBool>,
}

impl Connect for Wires {
    fn connect(
        &self,
        request: ConnectRequest,
    ) -> BoxFuture<'_, Result<Connection, TransportError>> {
        Box::pin(async move {
            let mut state = self.0.lock().expect("not poisoned");
            if state.is_rejecting {
                return Err(TransportError::new("nobody answers"));
            }
            let (outgoing, from_client) = unbounded_channel();
            let (to_client, incoming) = unbounded_channel();
            let wire = Wire {
                from_client,
                to_client,
            };
            state.made.push((request, wire));
            let is_stalled = state.is_stalled.clone();
            let pipe: Connection = Box::new(Pipe {
                incoming,
                outgoing,
                is_stalled,
            });
            Ok(pipe)
        })
    }
}

impl Stream for Pipe {
    type Item = Result<SocketMessage, TransportError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.incoming.poll_recv(context).map(|next| next.map(Ok))
    }
}

impl Sink<SocketMessage> for Pipe {
    type Error = TransportError;

    fn poll_ready(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<(), TransportError>> {
        if self.is_stalled.load(Ordering::SeqCst) {
            Poll::Pending
        } else {
            Poll::Ready(Ok(()))
        }
    }

    fn start_send(self: Pin<&mut Self>, message: SocketMessage) -> Result<(), TransportError> {
        let sent = self.outgoing.send(message);
        sent.map_err(|_| TransportError::new("the other end is gone"))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<(), TransportError>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Result<(), TransportError>> {
        Poll::Ready(Ok(()))
    }
}

impl Wires {
    /// The newest connection.
    async fn accept(&self) -> (ConnectRequest, Wire) {
        settle().await;
        let made = self.0.lock().expect("not poisoned").made.pop();
        made.expect("a connection")
    }

    fn attempts_fail(&self, is_rejecting: bool) {
        self.0.lock().expect("not poisoned").is_rejecting = is_rejecting;
    }

    /// Connections take nothing any more; those that are made from now on do.
    fn stall(&self) {
        let mut state = self.0.lock().expect("not poisoned");
        std::mem::take(&mut state.is_stalled).store(true, Ordering::SeqCst);
    }

    fn has_connection(&self) -> bool {
        !self.0.lock().expect("not poisoned").made.is_empty()
    }
}

impl Wire {
    /// What has come, as `[join_ref, ref, topic, event, payload]`.
    async fn received(&mut self) -> Vec<Value> {
        settle().await;
        let mut all = Vec::new();
        while let Ok(message) = self.from_client.try_recv() {
            match message {
                SocketMessage::Text(text) => all.push(serde_json::from_str(&text).expect("JSON")),
                SocketMessage::Close { reason, .. } => all.push(json!(reason)),
                SocketMessage::Binary(_) => all.push(json!("bytes")),
            }
        }
        all
    }

    fn send(&self, frame: &Value) {
        let sent = self.to_client.send(SocketMessage::Text(frame.to_string()));
        sent.expect("the client is there");
    }

    fn reply_to(&self, asked: &Value) {
        let reply = json!({ "status": "ok", "response": {} });
        self.send(&json!([asked[0], asked[1], asked[2], "phx_reply", reply]));
    }
}

fn client(bench: &Bench, wires: &Wires) -> Client {
    let options = RealtimeOptions::new().transport(wires.clone());
    let builder = bench.builder().auto_refresh(false).realtime(options);
    builder.build().expect("a client")
}

/// A channel that has joined over a wire.
async fn joined(client: &Client, wires: &Wires) -> (Channel, Wire) {
    let channel = client.channel("room").build().expect("a channel");
    let subscribing = tokio::spawn({
        let channel = channel.clone();
        async move { channel.subscribe().await.map(drop) }
    });
    let (_, mut wire) = wires.accept().await;
    let frames = wire.received().await;
    assert_eq!(frames[0][3], "phx_join", "{frames:?}");
    wire.reply_to(&frames[0]);
    subscribing.await.expect("no panic").expect("joined");
    (channel, wire)
}

#[tokio::test]
async fn the_handshake_carries_the_key_and_the_version_and_shows_neither() {
    let (bench, wires) = (Bench::new(), Wires::default());
    let options = RealtimeOptions::new()
        .transport(wires.clone())
        .param("log_level", "info");
    let builder = bench.builder().header("x-app", "mine").realtime(options);
    let client = builder.build().unwrap();

    client.realtime().connect();
    let (request, _wire) = wires.accept().await;

    assert_eq!(
        request.url,
        "wss://abc.example.co/realtime/v1/websocket?apikey=anon-key&vsn=2.0.0&log_level=info"
    );
    assert_eq!(request.headers["x-app"], "mine");
    assert!(!format!("{request:?}").contains("anon-key"));
}

#[tokio::test]
async fn k14_the_driver_keeps_the_times_of_the_conversation() {
    let (bench, wires) = (Bench::new(), Wires::default());
    let client = client(&bench, &wires);
    let (channel, mut wire) = joined(&client, &wires).await;
    let mut statuses = channel.statuses();

    bench.advance(24);
    assert!(wire.received().await.is_empty());
    bench.advance(1);
    let beat = wire.received().await;
    assert_eq!(
        (beat.len(), &beat[0][2], &beat[0][3]),
        (1, &json!("phoenix"), &json!("heartbeat"))
    );
    bench.advance(25);
    assert_eq!(wire.received().await, [json!("heartbeat timeout")]);
    let lost = futures_util::TryStreamExt::try_next(&mut statuses)
        .await
        .unwrap();
    assert!(matches!(
        lost,
        Some(Status::Error(RealtimeError::Disconnected(_)))
    ));

    wires.attempts_fail(true);
    for wait in [1, 2, 5] {
        bench.advance(wait);
        settle().await;
    }
    wires.attempts_fail(false);
    bench.advance(9);
    settle().await;
    assert!(!wires.has_connection());
    bench.advance(1);
    let (_, mut wire) = wires.accept().await;
    let again = wire.received().await;
    assert_eq!(again[0][3], "phx_join", "{again:?}");
    wire.reply_to(&again[0]);
    settle().await;
    assert!(channel.is_subscribed());
}

#[tokio::test]
async fn s40_the_signed_in_users_token_reaches_the_socket() {
    let (bench, wires) = (Bench::new(), Wires::default());
    let stored = bench.store_session(3600).await;
    let client = client(&bench, &wires);
    let channel = client.channel("room").build().unwrap();
    let subscribing = tokio::spawn({
        let channel = channel.clone();
        async move { channel.subscribe().await.map(drop) }
    });
    let (_, mut wire) = wires.accept().await;
    let join = wire.received().await.remove(0);
    assert_eq!(join[4]["access_token"], stored.access_token());
    wire.reply_to(&join);
    subscribing.await.unwrap().unwrap();

    let other = token_response("other", NOW_S + 3600);
    bench
        .server
        .on("POST /auth/v1/token", [Reply::json(200, other)]);
    let sign_in = client.auth().sign_in_with_password();
    sign_in.email("a@b.c").password("x").send().await.unwrap();
    let pushed = wire.received().await;
    let other = session("other", NOW_S + 3600);
    assert_eq!((pushed.len(), &pushed[0][3]), (1, &json!("access_token")));
    assert_eq!(
        pushed[0][4],
        json!({ "access_token": other.access_token() })
    );

    let fresh = token_response("fresh", NOW_S + 7200);
    let replies = [Reply::json(200, fresh)];
    bench.server.on("POST /auth/v1/token", replies);
    client.auth().refresh().await.unwrap();
    let pushed = wire.received().await;
    let fresh = session("fresh", NOW_S + 7200);
    assert_eq!(
        pushed[0][4],
        json!({ "access_token": fresh.access_token() })
    );

    let stronger = token_response("stronger", NOW_S + 7200);
    let verify = "POST /auth/v1/factors/f/verify";
    bench.server.on(verify, [Reply::json(200, stronger)]);
    let mfa = client.auth().mfa();
    mfa.verify("f", "c", "123456").await.unwrap();
    let pushed = wire.received().await;
    let stronger = session("stronger", NOW_S + 7200);
    assert_eq!(pushed[0][4]["access_token"], stronger.access_token());

    // Signed out: the API key is the token.
    bench
        .server
        .on("POST /auth/v1/logout", [Reply::text(204, "")]);
    let scope = plinth_client::auth::Scope::Local;
    client.auth().sign_out(scope).await.unwrap();
    let pushed = wire.received().await;
    assert_eq!(pushed[0][4], json!({ "access_token": "anon-key" }));
}

#[tokio::test]
async fn tokens_of_another_source_are_asked_for_with_every_heartbeat() {
    let (bench, wires) = (Bench::new(), Wires::default());
    let tokens = Arc::new(Mutex::new("first"));
    let options = RealtimeOptions::new()
        .transport(wires.clone())
        .access_token({
            let tokens = tokens.clone();
            move || {
                let token = tokens.lock().expect("not poisoned").to_owned();
                async move { Some(token) }
            }
        });
    let builder = bench.builder().auto_refresh(false).realtime(options);
    let client = builder.build().unwrap();
    let (_channel, mut wire) = joined(&client, &wires).await;

    *tokens.lock().unwrap() = "second";
    assert!(wire.received().await.is_empty());
    bench.advance(25);
    let frames = wire.received().await;
    assert_eq!(
        (&frames[0][3], &frames[1][3]),
        (&json!("heartbeat"), &json!("access_token"))
    );
    assert_eq!(frames[1][4]["access_token"], "second");
}

#[tokio::test]
async fn the_connection_ends_with_the_last_handle() {
    let (bench, wires) = (Bench::new(), Wires::default());
    let client = client(&bench, &wires);
    let (channel, mut wire) = joined(&client, &wires).await;
    let stream = channel.on_broadcast("*");

    drop(client);
    drop(channel);
    assert!(
        wire.received().await.is_empty(),
        "the stream holds the channel"
    );
    drop(stream);
    settle().await;
    assert!(wire.to_client.is_closed());
}

#[tokio::test]
async fn nonsense_is_skipped_and_the_connection_stays() {
    let (bench, wires) = (Bench::new(), Wires::default());
    let client = client(&bench, &wires);
    let (channel, wire) = joined(&client, &wires).await;
    let mut received_events = channel.on_broadcast("e");

    for text in [
        "",
        "{",
        "[1]",
        "null",
        r#"["1",null,"realtime:room","presence_diff",7]"#,
    ] {
        wire.to_client
            .send(SocketMessage::Text(text.to_owned()))
            .unwrap();
    }
    for bytes in [&[][..], &[4, 255], &[9, 9, 9, 9, 9, 9]] {
        let bytes = bytes::Bytes::copy_from_slice(bytes);
        wire.to_client.send(SocketMessage::Binary(bytes)).unwrap();
    }
    let said = json!({ "type": "broadcast", "event": "e", "payload": 1 });
    wire.send(&json!([null, null, "realtime:room", "broadcast", said]));

    let said = futures_util::TryStreamExt::try_next(&mut received_events)
        .await
        .unwrap();
    assert_eq!(said.unwrap().json::<i32>().unwrap(), 1);
}

#[tokio::test]
async fn senders_wait_for_capacity_and_a_stalled_connection_is_closed() {
    let (bench, wires) = (Bench::new(), Wires::default());
    let client = client(&bench, &wires);
    let (channel, mut wire) = joined(&client, &wires).await;
    wires.stall();
    let sent = Arc::new(AtomicUsize::new(0));
    let sending = tokio::spawn({
        let (channel, sent) = (channel.clone(), sent.clone());
        async move {
            loop {
                if let Err(error) = channel.send("e", &1).await {
                    return error;
                }
                sent.fetch_add(1, Ordering::SeqCst);
            }
        }
    });
    settle().await;
    let before = sent.load(Ordering::SeqCst);
    assert!((64..200).contains(&before), "{before} were taken");
    settle().await;
    assert_eq!(sent.load(Ordering::SeqCst), before);
    assert!(wire.received().await.is_empty());

    bench.advance(25);
    settle().await;
    bench.advance(25);
    settle().await;
    let outcome = sending.await.unwrap();
    assert!(matches!(outcome, RealtimeError::NotSubscribed));
    bench.advance(1);
    let (_, mut wire) = wires.accept().await;
    assert_eq!(wire.received().await[0][3], "phx_join");
}

#[tokio::test]
async fn k14_a_broadcast_over_http_is_given_up_after_10_seconds() {
    let (bench, wires) = (Bench::new(), Wires::default());
    let client = client(&bench, &wires);
    let gate = Arc::new(Semaphore::new(0));
    let route = "POST /realtime/v1/api/broadcast/room/events/e";
    let good = Reply::text(202, "");
    bench.server.on(route, [good.clone(), good.behind(&gate)]);
    let channel = client.channel("room").build().unwrap();

    channel
        .send_http("e", &json!({ "a": 1 }))
        .send()
        .await
        .unwrap();
    let sent = bench.server.last();
    assert_eq!(sent.json(), json!({ "a": 1 }));
    assert_eq!(sent.header("content-type"), Some("application/json"));
    assert_eq!(sent.header("authorization"), Some("Bearer anon-key"));
    assert_eq!(sent.header("apikey"), Some("anon-key"));

    let late = tokio::spawn(channel.send_http("e", &1).send());
    settle().await;
    bench.advance(10);
    let late = late.await.unwrap();
    assert!(matches!(late, Err(RealtimeError::Transport(error)) if error.is_timeout()));
    let header = channel.send_http("e", &1).header("a b", "c").send().await;
    assert!(matches!(header, Err(RealtimeError::InvalidInput(_))));
}

#[test]
fn channels_outlive_the_runtime_of_their_connection() {
    let (bench, wires) = (Bench::new(), Wires::default());
    let client = client(&bench, &wires);
    let runtime = || {
        tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap()
    };
    let (channel, _wire) = runtime().block_on(joined(&client, &wires));

    runtime().block_on(async {
        assert!(channel.send("e", &1).await.is_ok(), "not notified yet");
        let lost = channel.send("e", &1).await;
        assert!(
            matches!(lost, Err(RealtimeError::NotSubscribed)),
            "{lost:?}"
        );
        bench.advance(1);
        let (_, mut wire) = wires.accept().await;
        let again = wire.received().await;
        wire.reply_to(&again[0]);
        settle().await;
        assert!(channel.is_subscribed());
    });
}

#[tokio::test]
async fn s35_no_token_is_in_any_trace_or_shown() {
    let traces = Traces::capture();
    let (bench, wires) = (Bench::new(), Wires::default());
    let stored = bench.store_session(3600).await;
    let client = client(&bench, &wires);
    let (channel, wire) = joined(&client, &wires).await;
    let mut statuses = channel.statuses();
    client
        .realtime()
        .set_auth(Some("Yh2Gs9WdUc6Ke1Np".to_owned()));
    settle().await;
    // A server that repeats everything, in what makes sense and what does not.
    let secrets = [stored.access_token(), "Yh2Gs9WdUc6Ke1Np", "anon-key"];
    let said = secrets.join(" ");
    for text in [format!("[\"{said}\""), said.clone()] {
        wire.to_client.send(SocketMessage::Text(text)).unwrap();
    }
    let code = 1011;
    let end = SocketMessage::Close { code, reason: said };
    wire.to_client.send(end).unwrap();
    settle().await;

    assert!(
        futures_util::TryStreamExt::try_next(&mut statuses)
            .await
            .is_ok()
    );
    let shown = format!(
        "{client:?} {channel:?} {statuses:?} {:?}",
        client.realtime()
    );
    assert_no_secret(&format!("{shown} {}", traces.text()), &secrets);
    assert!(traces.text().contains("realtime connection lost or failed"));
}
