//! One refresh for all (client contract §4.4, A42).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use plinth_client::BoxFuture;
use plinth_session::{RefreshCoordinator, SessionRuntime};

use crate::support::{App, Browser, KEY, USER, Upstream, on_refresh};

async fn all_succeed_with_one_refresh(requests: usize, seconds_left: i64) {
    let app = App::new();
    app.upstream.refreshing_for(3600);
    let mut browsers = vec![app.signed_in_for(seconds_left); requests];

    let replies = join_all(browsers.iter_mut().map(|browser| browser.get("/private"))).await;

    assert!(replies.iter().all(|reply| reply.short() == (200, USER)));
    assert!(
        browsers
            .iter()
            .all(|browser| browser.refresh_token().as_deref() == Some("next-1"))
    );
    assert_eq!(app.upstream.refreshes(), 1);
}

#[tokio::test]
async fn a_hundred_requests_with_an_expired_session_make_one_refresh() {
    all_succeed_with_one_refresh(100, -10).await;
}

#[tokio::test]
async fn two_hundred_requests_with_a_nearly_expired_session_make_one_refresh() {
    all_succeed_with_one_refresh(200, 30).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_threads_make_one_refresh_too() {
    let app = Arc::new(App::new());
    app.upstream.refreshing_for(3600);
    let ask = |mut browser: Browser| async move { browser.get("/private").await.status.as_u16() };
    let asking = (0..200).map(|_| tokio::spawn(ask(app.signed_in_for(-10))));

    let statuses = join_all(asking).await;

    assert!(statuses.into_iter().all(|status| status.unwrap() == 200));
    assert_eq!(app.upstream.refreshes(), 1);
}

#[tokio::test]
async fn the_new_session_serves_the_old_cookies_for_ten_seconds() {
    let app = App::new();
    app.upstream.refreshing_for(3600);

    app.signed_in_for(-10).get("/private").await;
    app.clock.advance(Duration::from_millis(9_999));
    let mut late = app.signed_in_for(-10);
    assert_eq!(late.get("/private").await.short(), (200, USER));
    assert_eq!(
        (late.refresh_token().as_deref(), app.upstream.refreshes()),
        (Some("next-1"), 1)
    );

    app.clock.advance(Duration::from_millis(1));
    app.signed_in_for(-10).get("/private").await;
    assert_eq!(app.upstream.refreshes(), 2);
}

#[tokio::test]
async fn handlers_that_refresh_through_the_sdk_share_one_refresh_too() {
    let app = App::new();
    app.upstream.refreshing_for(3600);
    let mut browsers = vec![app.signed_in_for(3000); 20];

    let replies = join_all(
        browsers
            .iter_mut()
            .map(|browser| browser.post("/renew", "")),
    )
    .await;

    assert!(replies.iter().all(|reply| reply.short() == (200, "next-1")));
    assert!(
        browsers
            .iter()
            .all(|browser| browser.refresh_token().as_deref() == Some("next-1"))
    );
    assert_eq!(app.upstream.refreshes(), 1);
}

#[tokio::test]
async fn what_the_server_says_about_a_refresh_reaches_the_sdk() {
    let app = App::new();
    let mut browser = app.signed_in_for(3000);

    assert_eq!(
        browser.post("/renew", "").await.short(),
        (200, "refresh_token_not_found")
    );
    // Its access token is still good.
    assert_eq!(browser.get("/private").await.short(), (200, USER));
}

#[tokio::test]
async fn a_failed_token_is_left_alone_for_a_minute() {
    let app = App::new();

    for _ in 0..3 {
        assert_eq!(
            app.signed_in_for(-10).get("/state").await.short(),
            (200, "anonymous")
        );
    }
    assert_eq!(app.upstream.refreshes(), 1);
    app.clock.advance(Duration::from_millis(59_999));
    app.signed_in_for(-10).get("/state").await;
    assert_eq!(app.upstream.refreshes(), 1);
    app.clock.advance(Duration::from_millis(1));
    app.signed_in_for(-10).get("/state").await;
    assert_eq!(app.upstream.refreshes(), 2);
}

#[tokio::test]
async fn a_request_does_not_wait_for_the_whole_budget_and_the_refresh_goes_on() {
    let app = App::with(Upstream::new(), |builder| {
        builder.refresh_wait(Duration::from_millis(50))
    });
    app.upstream.refreshing_for(3600);
    app.upstream.close();
    let mut browser = app.signed_in_for(-10);

    assert_eq!(browser.get("/state").await.short(), (200, "unavailable"));
    app.upstream.open();

    assert_eq!(browser.get("/private").await.short(), (200, USER));
    assert_eq!(app.upstream.refreshes(), 1);
}

#[tokio::test]
async fn a_browser_that_leaves_does_not_stop_a_refresh() {
    let app = App::new();
    app.upstream.refreshing_for(3600);
    app.upstream.close();

    let mut leaving = app.signed_in_for(-10);
    let left = tokio::time::timeout(Duration::from_millis(50), leaving.get("/private")).await;
    assert!(left.is_err());
    app.upstream.open();

    let mut browser = app.signed_in_for(-10);
    assert_eq!(browser.get("/private").await.short(), (200, USER));
    assert_eq!(
        (browser.refresh_token().as_deref(), app.upstream.refreshes()),
        (Some("next-1"), 1)
    );
}

#[tokio::test]
async fn signing_out_also_ends_what_the_old_cookies_would_get() {
    let app = App::new();
    app.upstream.refreshing_for(3600);
    let old = app.signed_in_for(-10);
    let mut browser = old.clone();
    browser.get("/private").await;

    browser.post("/auth/sign-out", "").await;
    app.upstream
        .refreshing(on_refresh::error(400, "refresh_token_not_found"));

    assert_eq!(browser.cookie_names(), [""; 0]);
    assert_eq!(old.clone().get("/state").await.short(), (200, "anonymous"));
}

#[tokio::test]
async fn layers_of_one_process_share_refreshes() {
    let upstream = Upstream::new();
    upstream.refreshing_for(3600);
    let runtime = SessionRuntime::new();
    let first = App::with(upstream.clone(), |builder| builder.runtime(runtime.clone()));
    let second = App::with(upstream.clone(), |builder| builder.runtime(runtime));
    let session = upstream.tokens().session(-10, "first");

    let (mut here, mut there) = (
        first.browser().holding(&session),
        second.browser().holding(&session),
    );
    let (one, other) = tokio::join!(here.get("/private"), there.get("/private"));

    assert_eq!((one.short(), other.short()), ((200, USER), (200, USER)));
    assert_eq!(upstream.refreshes(), 1);
}

#[tokio::test]
async fn an_external_lock_is_held_around_the_refresh() {
    struct Lock(Arc<AtomicUsize>);
    struct Guard(Arc<AtomicUsize>);
    impl Drop for Guard {
        fn drop(&mut self) {
            self.0.fetch_add(100, Ordering::SeqCst);
        }
    }
    impl RefreshCoordinator for Lock {
        fn lock<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Box<dyn Send>> {
            assert!(!key.contains("first"), "the key is a hash");
            self.0.fetch_add(1, Ordering::SeqCst);
            let guard = Guard(Arc::clone(&self.0));
            Box::pin(async move { Box::new(guard) as Box<dyn Send> })
        }
    }
    let count = Arc::new(AtomicUsize::new(0));
    let lock = Arc::new(Lock(Arc::clone(&count)));
    let app = App::with(Upstream::new(), |builder| builder.coordinator(lock));
    let held = Arc::clone(&count);
    let upstream = app.upstream.clone();
    app.upstream.refreshing(move |number| {
        assert_eq!(
            held.load(Ordering::SeqCst),
            1,
            "locked and not yet released"
        );
        on_refresh::json(upstream.tokens().session(3600, "next"))(number)
    });

    assert_eq!(
        app.signed_in_for(-10).get("/private").await.short(),
        (200, USER)
    );

    assert_eq!(count.load(Ordering::SeqCst), 101);
}

#[tokio::test]
async fn a_session_that_shrinks_leaves_no_chunk_behind() {
    let app = App::new();
    app.upstream.refreshing_for(3600);
    for (bytes, chunks) in [(100, 1), (3_000, 2), (7_500, 4), (23_500, 11)] {
        let mut session: serde_json::Value =
            serde_json::from_str(&app.upstream.tokens().session(-10, &format!("r{bytes}")))
                .unwrap();
        session["user"]["user_metadata"]["bio"] = "x".repeat(bytes).into();
        let mut browser = app.browser().holding(&session.to_string());
        assert_eq!(browser.cookie_names().len(), chunks, "{bytes}");

        assert_eq!(browser.get("/private").await.short(), (200, USER));

        assert_eq!(browser.cookie_names(), [KEY], "{bytes}");
    }
}
