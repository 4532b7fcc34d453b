//! Client contract §1.4.

use std::sync::Arc;

use futures_util::{StreamExt, stream};
use plinth_client::auth::{TICK_MS, Visibility};
use plinth_client::{BoxStream, Clock};
use tokio::sync::{Semaphore, watch};

use crate::support::{Bench, NOW_S, Reply, received_events, rejected, settle, token_response};

const TOKEN: &str = "POST /auth/v1/token";

fn fresh() -> Reply {
    Reply::json(200, token_response("new", NOW_S + 3600))
}

#[tokio::test]
async fn s19_the_first_tick_comes_at_once_and_the_next_after_thirty_seconds() {
    let bench = Bench::new();
    bench.store_session(121).await;
    bench.server.on(TOKEN, [fresh()]);
    let client = bench.ticking_client();

    client.auth().ready().await;
    settle().await;
    assert!(bench.server.asked().is_empty());

    bench.advance(29);
    settle().await;
    assert!(bench.server.asked().is_empty());

    bench.advance(1);
    settle().await;
    let asked = bench.server.asked();
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].at_ms, NOW_S * 1000 + TICK_MS);
    assert_eq!(
        bench.stored_session().await.unwrap().refresh_token(),
        "refresh-new"
    );
}

#[tokio::test]
async fn s20_less_than_120_seconds_are_refreshed_by_the_first_tick() {
    let bench = Bench::new();
    bench.store_session(119).await;
    bench.server.on(TOKEN, [fresh()]);
    let client = bench.ticking_client();

    client.auth().ready().await;
    settle().await;

    assert_eq!(bench.server.routes(), [TOKEN]);
}

#[tokio::test]
async fn s20_a_tick_survives_failures() {
    let bench = Bench::new();
    bench.store_session(110).await;
    bench
        .server
        .on(TOKEN, [rejected(400, "validation_failed"), fresh()]);
    let client = bench.ticking_client();

    client.auth().ready().await;
    settle().await;
    assert_eq!(bench.server.asked().len(), 1);

    // The failure is remembered for 60 s, over two ticks.
    for expected in [1, 2] {
        bench.advance(30);
        settle().await;
        assert_eq!(bench.server.asked().len(), expected);
    }
}

#[tokio::test]
async fn s20_a_tick_is_skipped_while_a_refresh_is_under_way() {
    let bench = Bench::new();
    bench.store_session(140).await;
    let gate = Arc::new(Semaphore::new(0));
    // Due again at the tick after the one that is skipped.
    let short = Reply::json(200, token_response("short", NOW_S + 150)).behind(&gate);
    bench.server.on(TOKEN, [short, fresh()]);
    let client = bench.ticking_client();
    client.auth().ready().await;
    settle().await;
    bench.advance(25);
    settle().await;

    let (refreshed, ()) = tokio::join!(client.auth().refresh(), async {
        settle().await;
        // Over the tick, to a moment before the request would time out.
        bench.advance(5);
        settle().await;
        bench.advance(4);
        settle().await;
        gate.add_permits(1);
    });
    refreshed.unwrap();
    settle().await;
    bench.advance(26);
    settle().await;

    // A tick that had waited for the refresh would be followed by one four seconds later.
    let asked = bench.server.asked();
    assert_eq!(asked.len(), 2);
    assert_eq!(asked[1].at_ms, NOW_S * 1000 + 2 * TICK_MS);
}

/// A window that comes and goes.
#[derive(Clone)]
struct Window(Arc<watch::Sender<bool>>);

impl Window {
    fn new(is_visible: bool) -> Self {
        Self(Arc::new(watch::Sender::new(is_visible)))
    }

    async fn show(&self, is_visible: bool) {
        self.0.send_replace(is_visible);
        settle().await;
    }
}

impl Visibility for Window {
    fn watch(&self) -> BoxStream<'static, bool> {
        let mut seen = self.0.subscribe();
        seen.mark_changed();
        let states = stream::unfold(seen, |mut seen| async move {
            seen.changed().await.ok()?;
            let is_visible = *seen.borrow_and_update();
            Some((is_visible, seen))
        });
        states.boxed()
    }
}

#[tokio::test]
async fn s21_nothing_is_refreshed_while_the_page_is_hidden() {
    let bench = Bench::new();
    bench.store_session(200).await;
    bench.server.on(TOKEN, [fresh()]);
    let window = Window::new(true);
    let client = bench.builder().visibility(window.clone()).build().unwrap();
    client.auth().ready().await;
    assert_eq!(tickers(&bench).await, 1);

    window.show(false).await;
    bench.advance(150);
    assert_eq!(tickers(&bench).await, 0);
    assert!(bench.server.asked().is_empty());

    window.show(true).await;
    assert_eq!(bench.server.routes(), [TOKEN]);
    assert_eq!(tickers(&bench).await, 1);
}

#[tokio::test]
async fn s21_becoming_visible_again_emits_the_current_session() {
    let bench = Bench::new();
    bench.store_session(3600).await;
    let window = Window::new(false);
    let client = bench.builder().visibility(window.clone()).build().unwrap();
    let mut events = client.auth().events();
    client.auth().ready().await;
    settle().await;
    let at_start = received_events(&mut events).await;
    assert_eq!(tickers(&bench).await, 0, "not shown yet");

    for _ in 0..2 {
        window.show(true).await;
        assert_eq!(
            received_events(&mut events).await,
            ["SIGNED_IN"],
            "after {at_start:?}"
        );
        window.show(false).await;
        assert!(received_events(&mut events).await.is_empty());
    }
}

#[tokio::test]
async fn s23_a_caller_who_takes_over_is_not_disturbed_by_what_is_seen() {
    let bench = Bench::new();
    bench.store_session(3600).await;
    let window = Window::new(true);
    let client = bench.builder().visibility(window.clone()).build().unwrap();
    client.auth().ready().await;
    settle().await;

    let _guard = client.auth().start_auto_refresh();
    window.show(false).await;
    assert_eq!(tickers(&bench).await, 1);

    client.auth().stop_auto_refresh();
    window.show(true).await;
    assert_eq!(tickers(&bench).await, 0);
}

#[tokio::test]
async fn s22_a_client_ticks_only_if_configured() {
    let bench = Bench::new();
    bench.store_session(100).await;
    let client = bench.client();

    client.auth().ready().await;
    settle().await;
    bench.advance(5);
    settle().await;

    assert!(bench.server.asked().is_empty());
    assert_eq!(bench.clock.sleepers(), 0);
}

#[tokio::test]
async fn s23_from_the_first_call_the_ticker_is_the_callers() {
    let bench = Bench::new();
    bench.store_session(100).await;
    bench.server.on(TOKEN, [fresh()]);
    let client = bench.ticking_client();

    client.auth().stop_auto_refresh();
    client.auth().ready().await;
    settle().await;
    assert!(bench.server.asked().is_empty());

    let guard = client.auth().start_auto_refresh();
    settle().await;
    assert_eq!(bench.server.asked().len(), 1);
    drop(guard);
    bench.advance(4000);
    settle().await;
    assert_eq!(bench.server.asked().len(), 1);
}

/// The number of pending timers: a stopped background refresh has none.
async fn tickers(bench: &Bench) -> usize {
    settle().await;
    bench.advance(1);
    settle().await;
    bench.clock.sleepers()
}

#[tokio::test]
async fn s19_a_ticker_replaces_the_one_before_and_its_old_guard_stops_nothing() {
    let bench = Bench::new();
    bench.store_session(100_000).await;
    let client = bench.ticking_client();
    client.auth().ready().await;
    settle().await;

    let first = client.auth().start_auto_refresh();
    let second = client.auth().start_auto_refresh();
    assert_eq!(tickers(&bench).await, 1, "one ticker at a time");

    drop(first);
    assert_eq!(tickers(&bench).await, 1, "the second goes on");

    drop(second);
    assert_eq!(tickers(&bench).await, 0);
}

#[tokio::test]
async fn the_ticker_ends_with_its_client() {
    let bench = Bench::new();
    bench.store_session(100_000).await;
    let client = bench.ticking_client();
    client.auth().ready().await;
    settle().await;
    assert_eq!(bench.clock.sleepers(), 1);
    let before = bench.clock.now_ms();

    drop(client);
    settle().await;
    bench.advance(200_000);
    settle().await;

    assert_eq!(bench.clock.sleepers(), 0);
    assert!(bench.clock.now_ms() > before);
    assert!(bench.server.asked().is_empty());
}
