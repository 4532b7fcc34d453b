//! Refreshing against the real token endpoint.

use futures_util::future::join_all;
use plinth_client::auth::Scope;
use plinth_client::{AuthError, Client, MemoryStore, Session, SessionStore};
use serde_json::Value;

use crate::support::{Live, PASSWORD};

/// Signs a user up and lets the stored session claim that it ends in this many seconds.
async fn ending_in(live: &Live, store: &MemoryStore, seconds: i64) -> (Client, Session) {
    let client = live.client_with(store);
    let sign_up = client
        .auth()
        .sign_up()
        .email("ada@example.com")
        .password(PASSWORD);
    sign_up.send().await.expect("an account");
    let key = store.keys().remove(0);
    let text = store
        .get(&key)
        .await
        .expect("a store in memory")
        .expect("a stored session");
    let mut stored: Value = serde_json::from_str(&text).expect("a stored session");
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .expect("a time");
    stored["expires_at"] = (i64::try_from(now.as_secs()).expect("a time") + seconds).into();
    store
        .set(&key, stored.to_string())
        .await
        .expect("a store in memory");
    let session = Session::from_json(&stored.to_string()).expect("a stored session");
    (live.client_with(store), session)
}

#[tokio::test]
async fn two_hundred_requests_with_one_session_that_is_nearly_over_refresh_once() {
    let live = Live::start().await;
    let (client, old) = ending_in(&live, &MemoryStore::new(), 60).await;

    let requests = (0..200).map(|_| {
        let client = client.clone();
        tokio::spawn(async move { client.from("todos").select("*").execute().await })
    });
    let responses = join_all(requests).await;

    for response in responses {
        assert_eq!(response.unwrap().unwrap().status, 200);
    }
    assert_eq!(live.refreshes(), 1);
    let session = client.auth().session().await.unwrap().unwrap();
    assert_ne!(session.refresh_token(), old.refresh_token());
}

#[tokio::test]
async fn two_clients_with_one_store_both_stay_signed_in() {
    let live = Live::start().await;
    let store = MemoryStore::new();
    let (first, _) = ending_in(&live, &store, 60).await;
    let second = live.client_with(&store);

    let (one, two) = tokio::join!(first.auth().session(), second.auth().session());

    assert!(one.unwrap().is_some() && two.unwrap().is_some());
    first.auth().user().await.unwrap();
    second.auth().user().await.unwrap();
}

#[tokio::test]
async fn a_session_that_was_ended_elsewhere_is_dropped_when_it_needs_a_refresh() {
    let live = Live::start().await;
    let store = MemoryStore::new();
    let (client, session) = ending_in(&live, &store, -10).await;
    let admin = live.admin();
    admin
        .sign_out(session.access_token(), Scope::Global)
        .await
        .unwrap();

    let error = client.auth().session().await.unwrap_err();

    assert!(!error.is_retryable(), "{error:?}");
    assert!(store.keys().is_empty());
}

#[tokio::test]
async fn a_server_that_is_not_there_ends_no_session() {
    let live = Live::start().await;
    let store = MemoryStore::new();
    let (_, session) = ending_in(&live, &store, 3600).await;
    let away = Client::builder("http://127.0.0.1:9", "key")
        .session_store(store.clone())
        .storage_key(store.keys().remove(0))
        .auto_refresh(false)
        .build()
        .unwrap();

    let error = away.auth().user().await.unwrap_err();

    assert!(
        matches!(error, AuthError::Retryable { status: 0, .. }),
        "{error:?}"
    );
    assert_eq!(away.auth().session().await.unwrap(), Some(session));
}

#[tokio::test]
async fn tokens_from_elsewhere_become_a_session() {
    let live = Live::start().await;
    let session = live
        .signed_up("ada@example.com")
        .await
        .auth()
        .session()
        .await
        .unwrap()
        .unwrap();
    let client = live.client();

    let adopted = client
        .auth()
        .set_session(session.access_token(), session.refresh_token())
        .await
        .unwrap();

    assert_eq!(adopted.expires_at(), session.expires_at());
    let fresh = client.auth().refresh().await.unwrap();
    assert_ne!(fresh.refresh_token(), session.refresh_token());
    assert!(
        client
            .auth()
            .clock_skew_ms()
            .is_some_and(|skew| skew.abs() < 5000)
    );
}
