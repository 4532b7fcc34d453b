//! Rejected, lost and silent connections.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use plinth_client::realtime::{ConnectionState, Heartbeat, RealtimeOptions, Status};
use plinth_client::{Client, RealtimeError};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::support::{Live, TEST_TIMEOUT, client_of, next};

/// A line to the server that can be cut, or swallow everything.
struct Line {
    url: String,
    cut: watch::Sender<()>,
    is_silent: Arc<AtomicBool>,
    calls: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

impl Drop for Line {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Line {
    async fn to(live: &Live) -> Self {
        let server = live.url().trim_start_matches("http://").to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let cut = watch::Sender::new(());
        let is_silent = Arc::new(AtomicBool::new(false));
        let calls = Arc::new(AtomicUsize::new(0));
        let (cuts, silent, counted) = (cut.clone(), is_silent.clone(), calls.clone());
        let task = tokio::spawn(async move {
            loop {
                let (near, _) = listener.accept().await.expect("a caller");
                counted.fetch_add(1, Ordering::SeqCst);
                let far = TcpStream::connect(&server).await.expect("the server");
                let (mut cut, silent) = (cuts.subscribe(), silent.clone());
                tokio::spawn(async move {
                    tokio::select! {
                        () = carry(near, far, &silent) => {}
                        _ = cut.changed() => {}
                    }
                });
            }
        });
        Self {
            url,
            cut,
            is_silent,
            calls,
            task,
        }
    }

    fn client(&self, options: RealtimeOptions) -> Client {
        client_of(&self.url, options)
    }
}

async fn carry(near: TcpStream, far: TcpStream, is_silent: &AtomicBool) {
    let (mut from_near, mut to_near) = near.into_split();
    let (mut from_far, mut to_far) = far.into_split();
    let there = tokio::io::copy(&mut from_near, &mut to_far);
    let back = async {
        let mut buffer = [0; 4096];
        while let Ok(read @ 1..) = from_far.read(&mut buffer).await {
            if !is_silent.load(Ordering::SeqCst) {
                _ = to_near.write_all(&buffer[..read]).await;
            }
        }
    };
    tokio::select! {
        _ = there => {}
        () = back => {}
    }
}

fn hasty() -> RealtimeOptions {
    RealtimeOptions::new().reconnect(|_| Duration::from_millis(50))
}

#[tokio::test]
async fn a_channel_joins_again_after_its_connection_was_lost() {
    let live = Live::start().await;
    let line = Line::to(&live).await;
    let client = line.client(hasty());
    let channel = client.channel("room").build().unwrap();
    let mut statuses = channel.statuses();
    let mut received_events = channel.on_broadcast("e");
    channel.subscribe().await.unwrap();
    assert!(matches!(next(&mut statuses).await, Status::Subscribed));

    for n in 0..3 {
        line.cut.send(()).unwrap();
        assert!(matches!(
            next(&mut statuses).await,
            Status::Error(RealtimeError::Disconnected(_))
        ));
        assert!(matches!(next(&mut statuses).await, Status::Subscribed));
        let other = live.client();
        let other = other.channel("room").build().unwrap();
        other.send_http("e", &n).send().await.unwrap();
        assert_eq!(next(&mut received_events).await.json::<i32>().unwrap(), n);
    }
    assert_eq!(line.calls.load(Ordering::SeqCst), 4);
}

#[tokio::test]
async fn a_silent_connection_is_noticed_by_its_heartbeat_and_made_anew() {
    let live = Live::start().await;
    let line = Line::to(&live).await;
    let client = line.client(hasty().heartbeat(Duration::from_secs(1)));
    let mut heartbeats = client.realtime().heartbeats();
    let channel = client.channel("room").build().unwrap();
    let mut statuses = channel.statuses();
    channel.subscribe().await.unwrap();
    assert!(matches!(next(&mut statuses).await, Status::Subscribed));
    assert_eq!(next(&mut heartbeats).await, Heartbeat::Sent);
    assert!(matches!(next(&mut heartbeats).await, Heartbeat::Ok { .. }));

    line.is_silent.store(true, Ordering::SeqCst);
    while next(&mut heartbeats).await != Heartbeat::TimedOut {}
    assert_eq!(next(&mut heartbeats).await, Heartbeat::Disconnected);
    line.is_silent.store(false, Ordering::SeqCst);
    loop {
        match next(&mut statuses).await {
            Status::Subscribed => break,
            Status::Error(_) | Status::TimedOut => {}
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn a_failed_connection_reports_its_reason() {
    let live = Live::start().await;
    let wrong = Client::builder(live.url(), "sb_publishable_of_another").realtime(hasty());
    let rejected = wrong.build().unwrap().channel("room").subscribe().await;
    let Err(RealtimeError::Disconnected(why)) = rejected else {
        panic!("{rejected:?}");
    };
    assert!(why.contains("status 401"), "{why}");

    let unreachable = client_of("http://127.0.0.1:1", hasty());
    let rejected = unreachable.channel("room").subscribe().await;
    assert!(matches!(rejected, Err(error) if error.is_retryable()));
}

#[tokio::test]
async fn a_connection_is_shared_ended_and_made_anew_on_demand() {
    let live = Live::start().await;
    let line = Line::to(&live).await;
    let client = line.client(hasty().disconnect_when_idle(Duration::from_millis(50)));
    assert_eq!(client.realtime().state(), ConnectionState::Closed);
    let (a, b) = (
        client.channel("a").build().unwrap(),
        client.channel("b").build().unwrap(),
    );
    let both = futures_util::future::join(a.subscribe(), b.subscribe()).await;
    assert!(both.0.is_ok() && both.1.is_ok());
    assert_eq!(client.realtime().state(), ConnectionState::Open);
    assert_eq!(line.calls.load(Ordering::SeqCst), 1);

    drop((a, b, both));
    let closed = async {
        while client.realtime().state() != ConnectionState::Closed {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(TEST_TIMEOUT, closed).await.unwrap();
    let again = client.channel("a").subscribe().await;
    assert!(again.is_ok());
    assert_eq!(line.calls.load(Ordering::SeqCst), 2);

    client.realtime().disconnect();
    assert_eq!(client.realtime().state(), ConnectionState::Closed);
    client.realtime().connect();
    let channel = again.unwrap().channel().clone();
    let joined = async {
        while !channel.is_subscribed() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(TEST_TIMEOUT, joined).await.unwrap();
}
