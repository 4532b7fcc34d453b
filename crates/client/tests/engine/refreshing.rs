//! Client contract §1.5.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::join_all;
use plinth_client::auth::{AuthEvent, ErrorCode, REFRESH_COOL_DOWN_MS, Scope};
use plinth_client::{AuthError, SessionStore};
use serde_json::json;
use tokio::sync::Semaphore;

use crate::support::{
    Bench, KEY, NOW_S, Reply, all_received_events, received_events, rejected, session, settle,
    token_response,
};

const TOKEN: &str = "POST /auth/v1/token";

fn fresh(name: &str) -> Reply {
    Reply::json(200, token_response(name, NOW_S + 3600))
}

#[tokio::test]
async fn s24_the_request_is_as_every_client_sends_it() {
    let bench = Bench::new();
    bench.store_session(10).await;
    bench.server.on(TOKEN, [fresh("new")]);

    bench.client().auth().session().await.unwrap();

    let asked = bench.server.last();
    assert_eq!(asked.query, "grant_type=refresh_token");
    assert_eq!(asked.body, r#"{"refresh_token":"refresh-stored"}"#);
    assert_eq!(asked.header("apikey"), Some("anon-key"));
    assert_eq!(asked.header("authorization"), Some("Bearer anon-key"));
    assert_eq!(
        asked.header("content-type"),
        Some("application/json;charset=UTF-8")
    );
    let info = asked.header("x-client-info").unwrap();
    assert!(
        info.starts_with("plinth-client/") && info.contains("; runtime=rust"),
        "{info}"
    );
}

#[tokio::test]
async fn k11_every_call_names_the_api_version_it_reads() {
    let bench = Bench::new();
    bench.store_session(10).await;
    bench.server.on(TOKEN, [fresh("new")]);

    bench.client().auth().session().await.unwrap();

    assert_eq!(plinth_client::auth::API_VERSION, "2024-01-01");
    assert_eq!(
        bench.server.last().header("x-supabase-api-version"),
        Some("2024-01-01")
    );
}

#[tokio::test]
async fn s25_parallel_loads_make_one_request() {
    let bench = Bench::new();
    bench.store_session(10).await;
    bench.server.on(TOKEN, [fresh("new")]);
    let client = bench.client();

    let loads = (0..5).map(|_| client.auth().session());
    let sessions = join_all(loads).await;

    for session in sessions {
        assert_eq!(session.unwrap().unwrap().refresh_token(), "refresh-new");
    }
    assert_eq!(bench.server.routes(), [TOKEN]);
}

#[tokio::test]
async fn s25_a_refresh_with_another_token_joins_the_one_under_way() {
    let bench = Bench::new();
    bench.store_session(10).await;
    let gate = Arc::new(Semaphore::new(0));
    bench.server.on(TOKEN, [fresh("new").behind(&gate)]);
    let client = bench.client();
    client.auth().ready().await;

    let (first, second, ()) = tokio::join!(
        client.auth().refresh_with("refresh-stored"),
        client.auth().refresh_with("refresh-other"),
        async { gate.add_permits(2) },
    );

    assert_eq!(first.unwrap().refresh_token(), "refresh-new");
    assert_eq!(second.unwrap().refresh_token(), "refresh-new");
    assert_eq!(bench.server.asked().len(), 1);
}

#[tokio::test]
async fn a_server_that_hangs_gives_every_waiter_an_error() {
    let bench = Bench::auto_advancing();
    bench.store_session(-10).await;
    let never = Arc::new(Semaphore::new(0));
    bench.server.on(TOKEN, [fresh("new").behind(&never)]);
    let client = bench.client();

    let loads = join_all((0..5).map(|_| client.auth().session()));
    let loads = tokio::time::timeout(Duration::from_secs(5), loads).await;

    for error in loads
        .expect("no call hangs")
        .into_iter()
        .map(Result::unwrap_err)
    {
        assert!(error.is_retryable(), "{error}");
        assert_eq!(error.to_string(), "the request timed out");
    }
    let begun = bench
        .server
        .asked()
        .iter()
        .map(|asked| asked.at_ms - NOW_S * 1000)
        .collect::<Vec<_>>();
    assert_eq!(begun, [0, 10_200, 20_600]);
    assert_eq!(
        bench.stored_session().await.unwrap().refresh_token(),
        "refresh-stored"
    );
}

#[tokio::test]
async fn s34_no_wait_that_a_server_asks_for_is_too_long_to_be_counted() {
    let bench = Bench::auto_advancing();
    bench.store_session(-10).await;
    let limited = rejected(429, "over_request_rate_limit");
    let longest = limited.header("retry-after", "18446744073709551615");
    bench.server.on(TOKEN, [longest]);

    let error = bench.client().auth().session().await.unwrap_err();

    assert_eq!(error.status(), Some(429));
    assert_eq!(error.retry_after(), Some(Duration::from_secs(24 * 60 * 60)));
    assert_eq!(bench.server.asked().len(), 1);
}

#[tokio::test]
async fn a_limit_of_the_clients_own_holds_for_each_attempt_too() {
    let bench = Bench::auto_advancing();
    bench.store_session(-10).await;
    let never = Arc::new(Semaphore::new(0));
    bench
        .server
        .on(TOKEN, [fresh("new").behind(&never), fresh("new")]);
    let client = bench
        .builder()
        .auto_refresh(false)
        .timeout(Duration::from_secs(3))
        .build()
        .unwrap();

    client.auth().session().await.unwrap();

    let begun = bench
        .server
        .asked()
        .iter()
        .map(|asked| asked.at_ms - NOW_S * 1000)
        .collect::<Vec<_>>();
    assert_eq!(begun, [0, 3_200]);
}

#[tokio::test]
async fn s27_instant_failures_are_tried_eight_times_at_the_measured_moments() {
    for failure in [
        Reply::text(503, ""),
        Reply::broken(),
        Reply::json(520, json!({})),
    ] {
        let bench = Bench::auto_advancing();
        bench.store_session(-10).await;
        bench.server.on(TOKEN, [failure]);

        let error = bench.client().auth().session().await.unwrap_err();

        assert!(error.is_retryable(), "{error:?}");
        let at: Vec<i64> = bench
            .server
            .asked()
            .iter()
            .map(|asked| asked.at_ms - NOW_S * 1000)
            .collect();
        assert_eq!(at, [0, 200, 600, 1400, 3000, 6200, 12_600, 25_400]);
    }
}

#[tokio::test]
async fn a_server_that_recovers_is_asked_no_more_than_needed() {
    let bench = Bench::auto_advancing();
    bench.store_session(10).await;
    bench.server.on(
        TOKEN,
        [Reply::broken(), Reply::text(502, "<html>"), fresh("new")],
    );

    let session = bench.client().auth().session().await.unwrap().unwrap();

    assert_eq!(session.refresh_token(), "refresh-new");
    assert_eq!(bench.server.asked().len(), 3);
}

#[tokio::test]
async fn s26_everything_else_is_final() {
    for status in [400, 401, 403, 404, 422, 505, 599] {
        let bench = Bench::auto_advancing();
        bench.store_session(-10).await;
        bench.server.on(TOKEN, [Reply::json(status, json!({}))]);

        let error = bench.client().auth().session().await.unwrap_err();

        assert!(!error.is_retryable(), "{status}");
        assert_eq!(bench.server.asked().len(), 1, "{status}");
    }
}

#[tokio::test]
async fn s34_a_rate_limit_is_waited_for_and_never_ends_a_session() {
    let bench = Bench::auto_advancing();
    bench.store_session(-10).await;
    let limited = rejected(429, "over_request_rate_limit").header("retry-after", "3");
    bench.server.on(TOKEN, [limited.clone(), fresh("new")]);

    bench.client().auth().session().await.unwrap();

    assert_eq!(bench.server.last().at_ms, NOW_S * 1000 + 3000);

    let bench = Bench::auto_advancing();
    let stored = bench.store_session(-10).await;
    bench.server.on(TOKEN, [limited]);
    let error = bench.client().auth().session().await.unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::OverRequestRateLimit));
    assert_eq!(bench.stored_session().await, Some(stored));
}

#[tokio::test]
async fn s28_a_session_that_came_meanwhile_is_not_overwritten() {
    let bench = Bench::new();
    bench.store_session(10).await;
    let gate = Arc::new(Semaphore::new(0));
    bench.server.on(TOKEN, [fresh("new").behind(&gate)]);
    let client = bench.client();
    client.auth().ready().await;
    let other = session("other", NOW_S + 3000);

    let (refreshed, ()) = tokio::join!(client.auth().refresh_with("refresh-stored"), async {
        settle().await;
        bench.store.set(KEY, other.to_json()).await.unwrap();
        gate.add_permits(1);
    });

    let error = refreshed.unwrap_err();
    assert!(matches!(error, AuthError::RefreshDiscarded));
    assert_eq!(error.status(), Some(409));
    assert_eq!(bench.stored_session().await, Some(other));
}

#[tokio::test]
async fn s29_loading_gives_the_session_that_came_meanwhile() {
    let bench = Bench::new();
    bench.store_session(10).await;
    let gate = Arc::new(Semaphore::new(0));
    bench.server.on(TOKEN, [fresh("new").behind(&gate)]);
    let client = bench.client();
    let other = session("other", NOW_S + 3000);

    let (loaded, ()) = tokio::join!(client.auth().session(), async {
        settle().await;
        bench.store.set(KEY, other.to_json()).await.unwrap();
        gate.add_permits(1);
    });

    assert_eq!(loaded.unwrap(), Some(other));
}

#[tokio::test]
async fn s28_signing_out_meanwhile_wins() {
    let bench = Bench::new();
    bench.store_session(100).await;
    let gate = Arc::new(Semaphore::new(0));
    bench.server.on(TOKEN, [fresh("new").behind(&gate)]);
    bench
        .server
        .on("POST /auth/v1/logout", [Reply::text(204, "")]);
    let client = bench.client();
    let mut events = client.auth().events();
    received_events(&mut events).await;

    let (refreshed, ()) = tokio::join!(client.auth().refresh_with("refresh-stored"), async {
        settle().await;
        client.auth().sign_out(Scope::Local).await.unwrap();
        gate.add_permits(1);
    });

    assert!(matches!(refreshed, Err(AuthError::RefreshDiscarded)));
    assert_eq!(bench.stored().await, None);
    assert_eq!(received_events(&mut events).await, ["SIGNED_OUT"]);
}

#[tokio::test]
async fn s28_a_token_from_elsewhere_does_not_undo_a_sign_out() {
    for is_signed_in in [true, false] {
        let bench = Bench::new();
        if is_signed_in {
            bench.store_session(3600).await;
        }
        let gate = Arc::new(Semaphore::new(0));
        bench.server.on(TOKEN, [fresh("new").behind(&gate)]);
        bench
            .server
            .on("POST /auth/v1/logout", [Reply::text(204, "")]);
        let client = bench.client();
        let mut events = client.auth().events();
        received_events(&mut events).await;
        let auth = client.auth().clone();
        let refreshing = tokio::spawn(async move { auth.refresh_with("refresh-elsewhere").await });
        settle().await;

        client.auth().sign_out(Scope::Local).await.unwrap();
        gate.add_permits(1);

        let error = refreshing.await.unwrap().unwrap_err();
        assert!(matches!(error, AuthError::RefreshDiscarded), "{error}");
        assert_eq!(bench.store.keys(), [""; 0]);
        assert_eq!(received_events(&mut events).await, ["SIGNED_OUT"]);
    }
}

#[tokio::test]
async fn s28_an_empty_store_does_not_guard_anything() {
    let bench = Bench::new();
    bench.server.on(TOKEN, [fresh("new")]);

    let session = bench
        .client()
        .auth()
        .refresh_with("from-elsewhere")
        .await
        .unwrap();

    assert_eq!(bench.stored_session().await, Some(session));
}

#[tokio::test]
async fn s28_a_removal_while_saving_undoes_the_save() {
    use plinth_client::{BoxFuture, MemoryStore, StoreError};

    /// Signs out while the first session is being saved.
    #[derive(Clone)]
    struct Interrupted {
        inner: MemoryStore,
        reached: Arc<Semaphore>,
        go_on: Arc<Semaphore>,
    }

    impl SessionStore for Interrupted {
        fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<String>, StoreError>> {
            self.inner.get(key)
        }

        fn set<'a>(&'a self, key: &'a str, text: String) -> BoxFuture<'a, Result<(), StoreError>> {
            Box::pin(async move {
                self.reached.add_permits(1);
                self.go_on.acquire().await.unwrap().forget();
                self.inner.set(key, text).await
            })
        }

        fn remove<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
            self.inner.remove(key)
        }
    }

    let bench = Bench::new();
    bench.store_session(100).await;
    bench.server.on(TOKEN, [fresh("new")]);
    bench
        .server
        .on("POST /auth/v1/logout", [Reply::text(204, "")]);
    let store = Interrupted {
        inner: bench.store.clone(),
        reached: Arc::new(Semaphore::new(0)),
        go_on: Arc::new(Semaphore::new(0)),
    };
    let client = bench
        .builder()
        .session_store(store.clone())
        .auto_refresh(false)
        .build()
        .unwrap();
    let mut events = client.auth().events();
    received_events(&mut events).await;

    let (refreshed, ()) = tokio::join!(client.auth().refresh(), async {
        store.reached.acquire().await.unwrap().forget();
        client
            .auth()
            .sign_out(plinth_client::auth::Scope::Local)
            .await
            .unwrap();
        store.go_on.add_permits(1);
    });

    assert!(matches!(refreshed, Err(AuthError::RefreshDiscarded)));
    assert_eq!(bench.stored().await, None);
    assert_eq!(received_events(&mut events).await, ["SIGNED_OUT"]);
}

#[tokio::test]
async fn s30_a_rejected_refresh_keeps_a_session_that_still_works() {
    let bench = Bench::new();
    let stored = bench.store_session(60).await;
    bench
        .server
        .on(TOKEN, [rejected(400, "refresh_token_not_found")]);
    let client = bench.client();

    let loaded = client.auth().session().await.unwrap();

    assert_eq!(loaded.as_ref(), Some(&stored));
    assert_eq!(bench.stored_session().await, Some(stored));
}

#[tokio::test]
async fn s30_a_rejected_refresh_ends_a_session_that_does_not() {
    let bench = Bench::new();
    bench.store_session(0).await;
    bench
        .server
        .on(TOKEN, [rejected(400, "refresh_token_not_found")]);
    let client = bench.client();
    let mut events = client.auth().events();

    let error = client.auth().session().await.unwrap_err();

    assert_eq!(error.code(), Some(ErrorCode::RefreshTokenNotFound));
    assert_eq!(bench.stored().await, None);
    let notices = all_received_events(&mut events).await;
    let reason = plinth_client::auth::SignOutReason::Expired;
    assert_eq!(notices[0].0, AuthEvent::SignedOut { reason });
    assert_eq!(client.auth().session().await.unwrap(), None);
}

#[tokio::test]
async fn s30_transient_errors_never_end_a_session() {
    let bench = Bench::auto_advancing();
    let stored = bench.store_session(-5000).await;
    bench.server.on(TOKEN, [Reply::text(503, "")]);

    assert!(
        bench
            .client()
            .auth()
            .session()
            .await
            .unwrap_err()
            .is_retryable()
    );

    assert_eq!(bench.stored_session().await, Some(stored));
}

#[tokio::test]
async fn k5_a_failure_is_remembered_for_sixty_seconds() {
    assert_eq!(REFRESH_COOL_DOWN_MS, 60_000);
    let bench = Bench::new();
    bench.store_session(80).await;
    bench.server.on(TOKEN, [rejected(400, "validation_failed")]);
    let client = bench.client();

    let failure = client
        .auth()
        .refresh_with("refresh-stored")
        .await
        .unwrap_err();
    bench.clock.advance(Duration::from_millis(59_999));
    let remembered = client
        .auth()
        .refresh_with("refresh-stored")
        .await
        .unwrap_err();

    assert_eq!(failure.to_string(), remembered.to_string());
    assert_eq!(bench.server.asked().len(), 1);
    bench.clock.advance(Duration::from_millis(1));
    client
        .auth()
        .refresh_with("refresh-stored")
        .await
        .unwrap_err();
    assert_eq!(bench.server.asked().len(), 2);
}

#[tokio::test]
async fn s31_another_token_is_not_affected_and_success_clears_it() {
    let bench = Bench::new();
    bench.store_session(1000).await;
    bench.server.on(
        TOKEN,
        [rejected(400, "x"), fresh("stored"), rejected(400, "y")],
    );
    let auth = bench.client().auth().clone();

    auth.refresh_with("refresh-a").await.unwrap_err();
    auth.refresh_with("refresh-b").await.unwrap();
    auth.refresh_with("refresh-a").await.unwrap_err();

    assert_eq!(bench.server.asked().len(), 3);
}

#[tokio::test]
async fn s31_removing_the_session_clears_the_memory_of_failures() {
    let bench = Bench::new();
    bench.store_session(1000).await;
    bench.server.on(TOKEN, [rejected(400, "x"), fresh("new")]);
    bench
        .server
        .on("POST /auth/v1/logout", [Reply::text(204, "")]);
    let auth = bench.client().auth().clone();

    auth.refresh_with("refresh-a").await.unwrap_err();
    auth.sign_out(plinth_client::auth::Scope::Local)
        .await
        .unwrap();

    auth.refresh_with("refresh-a").await.unwrap();
}

#[tokio::test]
async fn s32_a_listener_may_refresh_without_locking_itself_out() {
    let bench = Bench::new();
    bench.store_session(1000).await;
    bench.server.on(TOKEN, [fresh("new")]);
    let client = bench.client();
    let mut events = client.auth().events();
    received_events(&mut events).await;

    let listener = async {
        let (event, session) = events.next().await.unwrap();
        assert_eq!(event, AuthEvent::TokenRefreshed);
        client
            .auth()
            .refresh_with(session.unwrap().refresh_token())
            .await
            .unwrap();
    };
    let (refreshed, ()) = tokio::join!(client.auth().refresh(), listener);

    refreshed.unwrap();
    assert_eq!(bench.server.asked().len(), 2);
}

#[tokio::test]
async fn a_caller_who_leaves_does_not_stop_the_refresh() {
    let bench = Bench::new();
    bench.store_session(10).await;
    let gate = Arc::new(Semaphore::new(0));
    bench.server.on(TOKEN, [fresh("new").behind(&gate)]);
    let client = bench.client();

    let mut load = Box::pin(client.auth().session());
    assert!(futures_util::poll!(&mut load).is_pending());
    settle().await;
    assert!(futures_util::poll!(&mut load).is_pending());
    drop(load);
    gate.add_permits(1);
    settle().await;

    assert_eq!(
        bench.stored_session().await.unwrap().refresh_token(),
        "refresh-new"
    );
}

#[tokio::test]
async fn two_hundred_requests_with_one_session_that_is_nearly_over_refresh_once() {
    let bench = Bench::new();
    bench.store_session(89).await;
    bench
        .server
        .on(TOKEN, [fresh("new"), Reply::json(500, json!({}))]);
    bench
        .server
        .on("GET /rest/v1/todos", [Reply::json(200, json!([]))]);
    let client = bench.client();

    let requests = (0..200).map(|_| client.from("todos").select("*").execute());
    let responses = join_all(requests).await;

    assert!(responses.iter().all(Result::is_ok));
    let asked = bench.server.asked();
    assert_eq!(asked.iter().filter(|asked| asked.route == TOKEN).count(), 1);
    let token = format!(
        "Bearer {}",
        bench.stored_session().await.unwrap().access_token()
    );
    let reads: Vec<_> = asked.iter().filter(|asked| asked.route != TOKEN).collect();
    assert_eq!(reads.len(), 200);
    assert!(
        reads
            .iter()
            .all(|asked| asked.header("authorization") == Some(&token))
    );
}

#[tokio::test]
async fn s35_nothing_printable_shows_a_token() {
    let bench = Bench::new();
    bench.store_session(10).await;
    bench
        .server
        .on(TOKEN, [rejected(400, "refresh_token_not_found")]);
    let client = bench.client();

    let error = client
        .auth()
        .refresh_with("refresh-stored")
        .await
        .unwrap_err();

    for printed in [
        format!("{client:?}"),
        format!("{error:?}"),
        format!("{:?}", client.auth()),
    ] {
        assert!(
            !printed.contains("refresh-stored") && !printed.contains("anon-key"),
            "{printed}"
        );
    }
}

#[tokio::test]
async fn k5_a_session_that_came_meanwhile_is_no_failure_to_remember() {
    let bench = Bench::new();
    bench.store_session(10).await;
    let gate = Arc::new(Semaphore::new(0));
    bench
        .server
        .on(TOKEN, [fresh("late").behind(&gate), fresh("new")]);
    let client = bench.client();
    client.auth().ready().await;

    let (discarded, ()) = tokio::join!(client.auth().refresh_with("refresh-stored"), async {
        settle().await;
        let other = session("other", NOW_S + 3000);
        bench.store.set(KEY, other.to_json()).await.unwrap();
        gate.add_permits(1);
    });
    assert!(matches!(discarded, Err(AuthError::RefreshDiscarded)));
    let again = client.auth().refresh_with("refresh-stored").await.unwrap();

    assert_eq!(again.refresh_token(), "refresh-new");
    assert_eq!(bench.server.asked().len(), 2);
}

#[tokio::test]
async fn k5_a_store_that_fails_once_stops_no_refresh_after_that() {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use plinth_client::{BoxFuture, MemoryStore, StoreError};

    /// Serves the first so many reads, fails once, and then recovers.
    #[derive(Clone)]
    struct FailsOnce {
        inner: MemoryStore,
        reads_left: Arc<AtomicUsize>,
    }

    impl SessionStore for FailsOnce {
        fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<String>, StoreError>> {
            Box::pin(async move {
                if self.reads_left.fetch_sub(1, Ordering::SeqCst) == 1 {
                    return Err(StoreError::new("busy"));
                }
                self.inner.get(key).await
            })
        }

        fn set<'a>(&'a self, key: &'a str, text: String) -> BoxFuture<'a, Result<(), StoreError>> {
            self.inner.set(key, text)
        }

        fn remove<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
            self.inner.remove(key)
        }
    }

    let bench = Bench::new();
    bench.store_session(10).await;
    bench.server.on(TOKEN, [fresh("new")]);
    let store = FailsOnce {
        inner: bench.store.clone(),
        reads_left: Arc::new(AtomicUsize::new(usize::MAX)),
    };
    let client = bench
        .builder()
        .session_store(store.clone())
        .auto_refresh(false)
        .build()
        .unwrap();
    client.auth().ready().await;

    store.reads_left.store(1, Ordering::SeqCst);
    let failed = client.auth().refresh_with("refresh-stored").await;
    let loaded = client.auth().session().await.unwrap();

    assert!(matches!(failed, Err(AuthError::Store(_))), "{failed:?}");
    assert_eq!(loaded.unwrap().refresh_token(), "refresh-new");
    assert_eq!(bench.server.routes(), [TOKEN]);
}
