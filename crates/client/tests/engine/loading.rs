//! Client contract §1.1 to §1.3.

use std::sync::Arc;
use std::time::Duration;

use plinth_client::{MemoryStore, SessionStore};
use serde_json::json;
use tokio::sync::Semaphore;

use crate::support::{Bench, KEY, NOW_S, Reply, jwt, received_events, rejected, token_response};

const TOKEN: &str = "POST /auth/v1/token";

fn fresh() -> Reply {
    Reply::json(200, token_response("new", NOW_S + 3600))
}

#[tokio::test]
async fn s11_ninety_one_seconds_are_enough_and_less_than_ninety_are_not() {
    let bench = Bench::new();
    let stored = bench.store_session(91).await;
    bench.server.on(TOKEN, [fresh()]);
    let client = bench.client();

    assert_eq!(client.auth().session().await.unwrap(), Some(stored));
    assert!(bench.server.asked().is_empty());

    bench.clock.advance(std::time::Duration::from_millis(1001));
    let session = client.auth().session().await.unwrap().unwrap();
    assert_eq!(session.refresh_token(), "refresh-new");
    assert_eq!(bench.stored_session().await, Some(session));
}

#[tokio::test]
async fn s12_a_session_without_an_end_is_never_refreshed_by_loading() {
    for expires_at in ["null", "0"] {
        let bench = Bench::new();
        let text = format!(
            r#"{{"access_token":"a","refresh_token":"r","expires_at":{expires_at},"user":{{"id":"u"}}}}"#
        );
        bench.store.set(KEY, text.clone()).await.unwrap();

        let session = bench.client().auth().session().await.unwrap().unwrap();

        assert_eq!(session.to_json(), text);
    }
}

#[tokio::test]
async fn s12_at_start_zero_is_long_past_and_null_far_away() {
    for (expires_at, expected) in [
        ("null", vec!["SIGNED_IN", "INITIAL_SESSION"]),
        ("0", vec!["TOKEN_REFRESHED", "INITIAL_SESSION"]),
    ] {
        let bench = Bench::new();
        let text = format!(
            r#"{{"access_token":"a","refresh_token":"r","expires_at":{expires_at},"user":{{"id":"u"}}}}"#
        );
        bench.store.set(KEY, text).await.unwrap();
        bench.server.on(TOKEN, [fresh()]);
        let client = bench.ticking_client();

        assert_eq!(
            received_events(&mut client.auth().events()).await,
            expected,
            "{expires_at}"
        );
    }
}

#[tokio::test]
async fn s3_what_is_json_but_no_session_is_removed() {
    for text in ["{}", "[]", "7", r#""text""#, r#"{"access_token":"a"}"#] {
        let bench = Bench::new();
        bench.store.set(KEY, text.to_owned()).await.unwrap();
        let client = bench.client();
        let mut events = client.auth().events();

        assert_eq!(client.auth().session().await.unwrap(), None, "{text}");

        assert_eq!(
            received_events(&mut events).await,
            ["SIGNED_OUT", "INITIAL_SESSION"],
            "{text}"
        );
        assert_eq!(bench.stored().await, None, "{text}");
    }
}

#[tokio::test]
async fn s3_what_is_not_json_is_left_alone() {
    for text in ["not json", "", "{", "null"] {
        let bench = Bench::new();
        bench.store.set(KEY, text.to_owned()).await.unwrap();
        let client = bench.client();

        assert_eq!(client.auth().session().await.unwrap(), None, "{text}");

        assert_eq!(
            received_events(&mut client.auth().events()).await,
            ["INITIAL_SESSION"],
            "{text}"
        );
        assert_eq!(bench.stored().await.as_deref(), Some(text));
    }
}

#[tokio::test]
async fn s16_without_auto_refresh_the_start_refreshes_nothing_and_says_nothing() {
    let bench = Bench::new();
    bench.store_session(10).await;
    let client = bench.client();

    client.auth().ready().await;

    assert!(bench.server.asked().is_empty());
}

#[tokio::test]
async fn s16_a_stored_session_without_its_user_is_completed() {
    let bench = Bench::new();
    let token = jwt(json!({ "exp": NOW_S + 3600 }));
    let text = json!({ "access_token": token, "refresh_token": "r", "expires_at": NOW_S + 3600 });
    bench.store.set(KEY, text.to_string()).await.unwrap();
    bench.server.on(
        "GET /auth/v1/user",
        [Reply::json(200, json!({ "id": "u" }))],
    );
    let client = bench.client();

    let received_events = received_events(&mut client.auth().events()).await;

    assert_eq!(received_events, ["SIGNED_IN", "INITIAL_SESSION"]);
    assert_eq!(
        bench.stored_session().await.unwrap().user().unwrap().id(),
        "u"
    );
    let asked = bench.server.last();
    assert_eq!(
        asked.header("authorization"),
        Some(format!("Bearer {token}").as_str())
    );
}

#[tokio::test]
async fn s16_if_the_user_cannot_be_fetched_nothing_is_said() {
    let bench = Bench::new();
    let text = json!({ "access_token": "a", "refresh_token": "r", "expires_at": NOW_S + 3600 });
    bench.store.set(KEY, text.to_string()).await.unwrap();
    bench
        .server
        .on("GET /auth/v1/user", [rejected(403, "bad_jwt")]);
    let client = bench.client();

    assert_eq!(
        received_events(&mut client.auth().events()).await,
        ["INITIAL_SESSION"]
    );
}

#[tokio::test]
async fn s16_a_server_that_hangs_does_not_hold_up_the_start() {
    let bench = Bench::auto_advancing();
    let tokens = json!({ "access_token": "a", "refresh_token": "r", "expires_at": NOW_S + 3600 });
    bench.store.set(KEY, tokens.to_string()).await.unwrap();
    let never = Arc::new(Semaphore::new(0));
    let user = Reply::json(200, json!({ "id": "u" }));
    bench.server.on("GET /auth/v1/user", [user.behind(&never)]);
    let client = bench.client();

    let loaded = tokio::time::timeout(Duration::from_secs(5), client.auth().session()).await;

    let session = loaded.expect("the start is over").unwrap().unwrap();
    assert_eq!(session.to_json(), tokens.to_string());
}

#[tokio::test]
async fn s17_a_failed_refresh_gives_what_is_stored_while_it_is_valid() {
    let bench = Bench::auto_advancing();
    let stored = bench.store_session(80).await;
    bench.server.on(TOKEN, [Reply::text(503, "")]);
    let client = bench.client();

    // The attempts take 25.4 s of the 80.
    assert_eq!(client.auth().session().await.unwrap(), Some(stored));
}

#[tokio::test]
async fn s9_a_user_store_keeps_users_apart() {
    let bench = Bench::new();
    let users = MemoryStore::new();
    bench.server.on(TOKEN, [fresh()]);
    let builder = || {
        bench
            .builder()
            .auto_refresh(false)
            .user_store(users.clone())
    };
    let client = builder().build().unwrap();

    let sign_in = client
        .auth()
        .sign_in_with_password()
        .email("a@b.c")
        .password("p");
    sign_in.send().await.unwrap();

    assert!(bench.stored_session().await.unwrap().user().is_none());
    let user = users.get(&format!("{KEY}-user")).await.unwrap().unwrap();
    assert_eq!(user, r#"{"user":{"email":"ada@example.com","id":"u"}}"#);
    let loaded = builder()
        .build()
        .unwrap()
        .auth()
        .session()
        .await
        .unwrap()
        .unwrap();
    assert_eq!(loaded.user().unwrap().id(), "u");
}

#[tokio::test]
async fn s9_a_user_comes_back_when_the_user_store_is_given_up() {
    let bench = Bench::new();
    let text = json!({ "access_token": "a", "refresh_token": "r", "expires_at": NOW_S + 3600 });
    bench.store.set(KEY, text.to_string()).await.unwrap();
    let user_key = format!("{KEY}-user");
    bench
        .store
        .set(&user_key, r#"{"user":{"id":"u"}}"#.to_owned())
        .await
        .unwrap();

    let session = bench.client().auth().session().await.unwrap().unwrap();

    assert_eq!(session.user().unwrap().id(), "u");
    assert_eq!(bench.store.keys(), [KEY]);
    assert_eq!(bench.stored_session().await, Some(session));
}

#[tokio::test]
async fn s9_a_missing_user_is_none_and_no_panic() {
    let bench = Bench::new();
    let text = json!({ "access_token": "a", "refresh_token": "r", "expires_at": NOW_S + 3600 });
    bench.store.set(KEY, text.to_string()).await.unwrap();
    bench
        .server
        .on("GET /auth/v1/user", [rejected(403, "bad_jwt")]);
    let client = bench
        .builder()
        .user_store(MemoryStore::new())
        .auto_refresh(false)
        .build();

    let session = client.unwrap().auth().session().await.unwrap().unwrap();

    assert!(session.user().is_none());
}

#[tokio::test]
async fn unknown_members_survive_loading_and_saving() {
    let bench = Bench::new();
    let response = r#"{"access_token":"a","refresh_token":"r","expires_in":3600,"z_later":{"b":1,"a":1.50},"user":{"id":"u"}}"#;
    bench.server.on(TOKEN, [Reply::text(200, response)]);
    let client = bench.client();

    let sign_in = client
        .auth()
        .sign_in_with_password()
        .email("a@b.c")
        .password("p");
    sign_in.send().await.unwrap();

    let expected = response.strip_suffix('}').unwrap().to_owned()
        + &format!(r#","expires_at":{}}}"#, NOW_S + 3600);
    assert_eq!(bench.stored().await.unwrap(), expected);
}

#[tokio::test]
async fn s14_the_servers_clock_is_known_but_not_used() {
    let bench = Bench::new();
    bench.store_session(3600).await;
    let user = Reply::json(200, json!({ "id": "u" }));
    bench.server.on(
        "GET /auth/v1/user",
        [user.header("date", "Tue, 14 Nov 2023 22:15:20 GMT")],
    );
    let client = bench.client();
    assert_eq!(client.auth().clock_skew_ms(), None);

    client.auth().user().await.unwrap();

    assert_eq!(client.auth().clock_skew_ms(), Some(120_000));
    client.auth().session().await.unwrap();
    assert_eq!(bench.server.asked().len(), 1);
}

#[tokio::test]
async fn a_store_that_fails_is_an_error_and_not_a_signed_out_user() {
    use plinth_client::{AuthError, BoxFuture, StoreError};

    struct Broken;

    impl SessionStore for Broken {
        fn get<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Option<String>, StoreError>> {
            Box::pin(async { Err(StoreError::new("disk on fire")) })
        }

        fn set<'a>(&'a self, _: &'a str, _: String) -> BoxFuture<'a, Result<(), StoreError>> {
            Box::pin(async { Err(StoreError::new("disk on fire")) })
        }

        fn remove<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
            Box::pin(async { Err(StoreError::new("disk on fire")) })
        }
    }

    let bench = Bench::new();
    let client = bench.builder().session_store(Broken).build().unwrap();

    let error = client.auth().session().await.unwrap_err();

    assert!(matches!(error, AuthError::Store(_)), "{error:?}");
}
