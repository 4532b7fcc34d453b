//! Client contract §1.8 (`get_user`), §1.10 and §1.11.

use std::sync::Arc;

use plinth_client::auth::{ErrorCode, Provider, Scope};
use plinth_client::{AuthError, BoxFuture, MemoryStore, SessionStore, StoreError};
use serde_json::json;
use tokio::sync::Semaphore;

use crate::support::{
    Bench, KEY, NOW_S, Reply, jwt, received_events, rejected, settle, token_response,
};

const USER: &str = "GET /auth/v1/user";
const TOKEN: &str = "POST /auth/v1/token";
const LOGOUT: &str = "POST /auth/v1/logout";

#[tokio::test]
async fn s43_without_a_session_no_request_is_sent() {
    let bench = Bench::new();
    let client = bench.client();
    let mut events = client.auth().events();
    received_events(&mut events).await;

    let error = client.auth().user().await.unwrap_err();

    assert!(matches!(error, AuthError::SessionMissing));
    assert!(bench.server.asked().is_empty());
    assert!(received_events(&mut events).await.is_empty());
}

#[tokio::test]
async fn s43_a_header_of_the_callers_stands_for_a_session() {
    let bench = Bench::new();
    bench
        .server
        .on(USER, [Reply::json(200, json!({ "id": "u" }))]);
    let client = bench
        .builder()
        .header("authorization", "Bearer theirs")
        .build()
        .unwrap();

    assert_eq!(client.auth().user().await.unwrap().id(), "u");

    assert_eq!(
        bench.server.last().header("authorization"),
        Some("Bearer theirs")
    );
}

#[tokio::test]
async fn s43_a_session_that_the_server_has_ended_is_removed() {
    let bench = Bench::new();
    bench.store_session(3600).await;
    bench.server.on(USER, [rejected(403, "session_not_found")]);
    let client = bench.client();
    let mut events = client.auth().events();
    received_events(&mut events).await;

    let error = client.auth().user().await.unwrap_err();

    assert!(matches!(error, AuthError::SessionMissing));
    assert_eq!(bench.stored().await, None);
    assert_eq!(received_events(&mut events).await, ["SIGNED_OUT"]);
}

#[tokio::test]
async fn s43_other_errors_leave_the_session() {
    let bench = Bench::new();
    let stored = bench.store_session(3600).await;
    bench.server.on(USER, [rejected(403, "bad_jwt")]);

    let error = bench.client().auth().user().await.unwrap_err();

    assert_eq!(error.code(), Some(ErrorCode::BadJwt));
    assert_eq!(bench.stored_session().await, Some(stored));
}

#[tokio::test]
async fn s44_another_token_is_asked_about_without_the_session() {
    let bench = Bench::new();
    bench.store_session(10).await;
    bench
        .server
        .on(USER, [Reply::json(200, json!({ "id": "other" }))]);

    let user = bench
        .client()
        .auth()
        .user_for("another-token")
        .await
        .unwrap();

    assert_eq!(user.id(), "other");
    assert_eq!(bench.server.routes(), [USER]);
    assert_eq!(
        bench.server.last().header("authorization"),
        Some("Bearer another-token")
    );
}

#[tokio::test]
async fn s59_two_tokens_become_the_session() {
    let bench = Bench::new();
    bench
        .server
        .on(USER, [Reply::json(200, json!({ "id": "u" }))]);
    let client = bench.client();
    let mut events = client.auth().events();
    received_events(&mut events).await;
    let token = jwt(json!({ "exp": NOW_S + 600 }));

    client.auth().set_session(&token, "r").await.unwrap();

    let expected = format!(
        r#"{{"access_token":"{token}","refresh_token":"r","user":{{"id":"u"}},"token_type":"bearer","expires_in":600,"expires_at":{}}}"#,
        NOW_S + 600
    );
    assert_eq!(bench.stored().await.unwrap(), expected);
    assert_eq!(received_events(&mut events).await, ["SIGNED_IN"]);
}

#[tokio::test]
async fn s59_a_token_that_has_ended_is_refreshed() {
    let bench = Bench::new();
    bench.server.on(
        TOKEN,
        [Reply::json(200, token_response("new", NOW_S + 3600))],
    );
    let client = bench.client();
    let mut events = client.auth().events();
    received_events(&mut events).await;

    let session = client
        .auth()
        .set_session(&jwt(json!({ "exp": NOW_S })), "r")
        .await
        .unwrap();

    assert_eq!(session.refresh_token(), "refresh-new");
    assert_eq!(bench.server.last().body, r#"{"refresh_token":"r"}"#);
    assert_eq!(received_events(&mut events).await, ["TOKEN_REFRESHED"]);
}

#[tokio::test]
async fn s59_bad_tokens_leave_the_store_as_it_was() {
    let bench = Bench::new();
    let stored = bench.store_session(3600).await;
    bench.server.on(USER, [rejected(403, "bad_jwt")]);
    let auth = bench.client().auth().clone();

    let missing = auth.set_session("", "r").await.unwrap_err();
    assert!(matches!(missing, AuthError::SessionMissing));
    assert!(
        auth.set_session(&jwt(json!({ "exp": NOW_S + 9 })), "")
            .await
            .is_err()
    );
    assert!(matches!(
        auth.set_session("x", "r").await,
        Err(AuthError::InvalidJwt(_))
    ));
    assert!(
        auth.set_session(&jwt(json!({ "exp": NOW_S + 9 })), "r")
            .await
            .is_err()
    );

    assert_eq!(bench.stored_session().await, Some(stored));
}

#[tokio::test]
async fn s60_refreshing_loads_first() {
    let bench = Bench::new();
    bench.store_session(10).await;
    let replies = ["one", "two"].map(|name| Reply::json(200, token_response(name, NOW_S + 3600)));
    bench.server.on(TOKEN, replies);

    let session = bench.client().auth().refresh().await.unwrap();

    assert_eq!(session.refresh_token(), "refresh-two");
    let bodies: Vec<String> = bench
        .server
        .asked()
        .into_iter()
        .map(|asked| asked.body)
        .collect();
    assert_eq!(
        bodies,
        [
            r#"{"refresh_token":"refresh-stored"}"#,
            r#"{"refresh_token":"refresh-one"}"#
        ]
    );
}

#[tokio::test]
async fn s61_a_changed_user_replaces_the_stored_one() {
    let bench = Bench::new();
    bench.store_session(3600).await;
    let user = json!({ "id": "u", "email": "new@example.com" });
    bench
        .server
        .on("PUT /auth/v1/user", [Reply::json(200, user)]);
    let client = bench.client();
    let mut events = client.auth().events();
    received_events(&mut events).await;

    let update = client
        .auth()
        .update_user()
        .email("new@example.com")
        .password("p")
        .nonce("1");
    let update = update.current_password("old").data(&json!({ "a": 1 }));
    update
        .redirect_to("https://app.test/back")
        .send()
        .await
        .unwrap();

    let asked = bench.server.last();
    assert_eq!(asked.query, "redirect_to=https%3A%2F%2Fapp.test%2Fback");
    let body = asked.json();
    for (name, value) in [
        ("email", "new@example.com"),
        ("password", "p"),
        ("nonce", "1"),
    ] {
        assert_eq!(body[name], value);
    }
    assert_eq!(
        (&body["current_password"], &body["data"]),
        (&json!("old"), &json!({ "a": 1 }))
    );
    assert_eq!(body["code_challenge_method"], "s256");
    let stored = bench.stored_session().await.unwrap();
    assert_eq!(stored.user().unwrap().email(), Some("new@example.com"));
    assert_eq!(stored.refresh_token(), "refresh-stored");
    assert_eq!(received_events(&mut events).await, ["USER_UPDATED"]);
}

#[tokio::test]
async fn s61_without_an_address_no_flow_begins_and_a_rejected_one_leaves_no_state() {
    let bench = Bench::new();
    bench.store_session(3600).await;
    let good = Reply::json(200, json!({ "id": "u" }));
    bench
        .server
        .on("PUT /auth/v1/user", [good, rejected(422, "email_exists")]);
    let client = bench.client();

    client
        .auth()
        .update_user()
        .password("p")
        .send()
        .await
        .unwrap();
    assert_eq!(bench.server.last().json(), json!({ "password": "p" }));

    let error = client
        .auth()
        .update_user()
        .email("a@b.c")
        .send()
        .await
        .unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::EmailExists));
    assert_eq!(bench.store.keys(), [KEY]);
}

#[tokio::test]
async fn s62_a_code_for_a_sensitive_change_is_asked_for() {
    let bench = Bench::new();
    let stored = bench.store_session(3600).await;
    bench
        .server
        .on("GET /auth/v1/reauthenticate", [Reply::json(200, json!({}))]);

    bench.client().auth().reauthenticate().await.unwrap();

    let bearer = format!("Bearer {}", stored.access_token());
    assert_eq!(
        bench.server.last().header("authorization"),
        Some(bearer.as_str())
    );
}

/// What a sign-out of this scope leaves, for this response of the server.
async fn sign_out(scope: Scope, reply: Reply) -> (bool, Vec<&'static str>, bool) {
    let bench = Bench::new();
    bench.store_session(3600).await;
    bench.server.on(LOGOUT, [reply]);
    let client = bench.client();
    let mut events = client.auth().events();
    received_events(&mut events).await;

    let result = client.auth().sign_out(scope).await;

    assert_eq!(bench.server.last().query, format!("scope={}", scope.name()));
    (
        bench.stored().await.is_some(),
        received_events(&mut events).await,
        result.is_ok(),
    )
}

#[tokio::test]
async fn s66_signing_out_everywhere_needs_the_server() {
    let out = (false, vec!["SIGNED_OUT"], true);
    let kept = (true, vec![], false);
    for (reply, expected) in [
        (Reply::text(204, ""), &out),
        (Reply::json(401, json!({})), &out),
        (Reply::json(403, json!({})), &out),
        (Reply::json(404, json!({})), &out),
        (rejected(403, "session_not_found"), &out),
        (Reply::json(400, json!({})), &kept),
        (Reply::json(500, json!({})), &kept),
        (Reply::broken(), &kept),
    ] {
        assert_eq!(&sign_out(Scope::Global, reply).await, expected);
    }
}

#[tokio::test]
async fn s66_signing_out_here_always_works_here() {
    for (reply, is_ok) in [
        (Reply::text(204, ""), true),
        (Reply::json(404, json!({})), true),
        (Reply::json(500, json!({})), false),
        (Reply::broken(), false),
    ] {
        let expected = (false, vec!["SIGNED_OUT"], is_ok);
        assert_eq!(sign_out(Scope::Local, reply).await, expected);
    }
}

#[tokio::test]
async fn s66_signing_out_elsewhere_changes_nothing_here() {
    assert_eq!(
        sign_out(Scope::Others, Reply::text(204, "")).await,
        (true, vec![], true)
    );
    assert_eq!(
        sign_out(Scope::Others, Reply::text(500, "")).await,
        (true, vec![], false)
    );
}

#[tokio::test]
async fn s67_a_session_that_cannot_be_loaded_is_removed_here_only() {
    for (scope, is_kept) in [
        (Scope::Local, false),
        (Scope::Global, true),
        (Scope::Others, true),
    ] {
        let bench = Bench::auto_advancing();
        bench.store_session(-10).await;
        bench.server.on(TOKEN, [Reply::text(503, "")]);

        let error = bench.client().auth().sign_out(scope).await.unwrap_err();

        assert!(error.is_retryable());
        assert_eq!(bench.stored().await.is_some(), is_kept, "{scope:?}");
        assert!(bench.server.routes().iter().all(|route| route == TOKEN));
    }
}

#[tokio::test]
async fn s67_a_session_that_ends_while_it_is_loaded_is_reported_once() {
    let bench = Bench::new();
    bench.store_session(3600).await;
    let ended = rejected(400, "refresh_token_not_found");
    bench.server.on("POST /auth/v1/token", [ended]);
    let client = bench.client();
    let mut events = client.auth().events();
    received_events(&mut events).await;
    bench.advance(3700);

    client.auth().sign_out(Scope::Local).await.unwrap_err();

    assert!(bench.store.keys().is_empty());
    assert_eq!(received_events(&mut events).await, ["SIGNED_OUT"]);
}

#[tokio::test]
async fn s67_without_a_session_signing_out_still_clears() {
    let bench = Bench::new();
    let verifier = format!("{KEY}-code-verifier");
    bench
        .store
        .set(&verifier, "\"x\"".to_owned())
        .await
        .unwrap();
    let client = bench.client();
    let mut events = client.auth().events();
    received_events(&mut events).await;

    client.auth().sign_out(Scope::Global).await.unwrap();

    assert!(bench.store.keys().is_empty());
    assert_eq!(received_events(&mut events).await, ["SIGNED_OUT"]);
    assert!(bench.server.asked().is_empty());
}

#[tokio::test]
async fn s78_after_unlinking_the_stored_user_is_current() {
    let bench = Bench::new();
    bench.store_session(3600).await;
    let identity = "0b30557a-9fc4-4e90-a335-87da2c7ec113";
    bench.server.on(
        &format!("DELETE /auth/v1/user/identities/{identity}"),
        [Reply::json(200, json!({}))],
    );
    bench.server.on(
        USER,
        [Reply::json(200, json!({ "id": "u", "identities": [] }))],
    );

    bench
        .client()
        .auth()
        .unlink_identity(identity)
        .await
        .unwrap();

    let stored = bench.stored_session().await.unwrap();
    assert!(stored.user().unwrap().get("identities").is_some());
}

/// Keeps a text of the user's new name back until the test lets it through.
#[derive(Clone)]
struct Slow {
    store: MemoryStore,
    gate: Arc<Semaphore>,
}

impl SessionStore for Slow {
    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<String>, StoreError>> {
        self.store.get(key)
    }

    fn set<'a>(&'a self, key: &'a str, text: String) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            if text.contains("Countess") {
                self.gate.acquire().await.expect("a gate").forget();
            }
            self.store.set(key, text).await
        })
    }

    fn remove<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        self.store.remove(key)
    }
}

#[tokio::test]
async fn s61_a_changed_user_does_not_bring_an_older_session_back() {
    let bench = Bench::new();
    bench.store_session(3600).await;
    let renamed = json!({ "id": "u", "user_metadata": { "name": "Countess" } });
    bench
        .server
        .on("PUT /auth/v1/user", [Reply::json(200, renamed)]);
    let fresh = Reply::json(200, token_response("new", NOW_S + 3600));
    bench.server.on(TOKEN, [fresh]);
    let slow = Slow {
        store: bench.store.clone(),
        gate: Arc::new(Semaphore::new(0)),
    };
    let builder = bench.builder().auto_refresh(false);
    let client = builder.session_store(slow.clone()).build().unwrap();

    let update = client.auth().update_user();
    let update = update.data(&json!({ "name": "Countess" })).send();
    let (updated, refreshed, ()) = tokio::join!(update, client.auth().refresh(), async {
        settle().await;
        slow.gate.add_permits(1);
    });

    updated.unwrap();
    refreshed.unwrap();
    let stored = bench.stored_session().await.unwrap();
    assert_eq!(stored.refresh_token(), "refresh-new");
}

#[tokio::test]
async fn s61_a_changed_user_is_not_put_into_another_users_session() {
    let bench = Bench::new();
    bench.store_session(3600).await;
    let gate = Arc::new(Semaphore::new(0));
    let changed = Reply::json(200, json!({ "id": "u", "email": "new@example.com" }));
    bench
        .server
        .on("PUT /auth/v1/user", [changed.behind(&gate)]);
    let client = bench.client();

    let update = client.auth().update_user().email("new@example.com").send();
    let (updated, ()) = tokio::join!(update, async {
        settle().await;
        let other = json!({
            "access_token": "b", "refresh_token": "r", "expires_at": NOW_S + 3600,
            "user": { "id": "somebody-else" },
        });
        bench.store.set(KEY, other.to_string()).await.unwrap();
        gate.add_permits(1);
    });

    assert_eq!(updated.unwrap().id(), "u");
    let stored = bench.stored_session().await.unwrap();
    assert_eq!(stored.user().unwrap().id(), "somebody-else");
}

#[tokio::test]
async fn r1_calls_of_one_word_take_headers_from_their_handle() {
    let bench = Bench::new();
    bench.store_session(3600).await;
    let user = Reply::json(200, json!({ "id": "u" }));
    bench.server.on(USER, [user]);
    let client = bench.client();
    let (auth, name) = (client.auth(), "x-request-id");

    auth.header(name, "1").user().await.unwrap();
    auth.mfa().header(name, "2").factors().await.unwrap();
    auth.user().await.unwrap();
    let error = auth.header("no name", "3").user().await.unwrap_err();

    let asked = bench.server.asked();
    let ids: Vec<_> = asked.iter().map(|asked| asked.header(name)).collect();
    assert_eq!(ids, [Some("1"), Some("2"), None]);
    assert!(matches!(error, AuthError::InvalidInput(_)), "{error:?}");
}

#[tokio::test]
async fn r1_calls_of_one_word_take_a_time_limit_from_their_handle() {
    let bench = Bench::new();
    bench.store_session(3600).await;
    let never = Arc::new(Semaphore::new(0));
    let user = Reply::json(200, json!({ "id": "u" }));
    bench.server.on(USER, [user.behind(&never)]);
    let hanging = Reply::json(200, json!({})).behind(&never);
    bench.server.on(TOKEN, [hanging]);
    let client = bench.client();
    let auth = client.auth().timeout(std::time::Duration::from_secs(2));
    let after_two_seconds = async || {
        settle().await;
        bench.advance(2);
    };

    let (asked, ()) = tokio::join!(auth.user(), after_two_seconds());
    // Also while a refresh that it shares with others hangs.
    bench.advance(3600);
    let passkeys = auth.passkeys();
    let (waited, ()) = tokio::join!(passkeys.list(), after_two_seconds());

    assert_eq!(asked.unwrap_err().to_string(), "the request timed out");
    assert_eq!(waited.unwrap_err().to_string(), "the request timed out");
    assert_eq!(bench.server.routes(), [USER, TOKEN]);
}

/// Keeps the removal of the latest verifier back until the test lets it through.
#[derive(Clone)]
struct SlowToForget {
    store: MemoryStore,
    gate: Arc<Semaphore>,
}

impl SessionStore for SlowToForget {
    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<String>, StoreError>> {
        self.store.get(key)
    }

    fn set<'a>(&'a self, key: &'a str, text: String) -> BoxFuture<'a, Result<(), StoreError>> {
        self.store.set(key, text)
    }

    fn remove<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            if key == format!("{KEY}-code-verifier") {
                self.gate.acquire().await.expect("a gate").forget();
            }
            self.store.remove(key).await
        })
    }
}

#[tokio::test]
async fn s33_removing_a_session_forgets_all_that_waits_beside_it_and_then_says_so() {
    let bench = Bench::new();
    bench.store_session(3600).await;
    bench.server.on(LOGOUT, [Reply::text(204, "")]);
    let slow = SlowToForget {
        store: bench.store.clone(),
        gate: Arc::new(Semaphore::new(0)),
    };
    let users = MemoryStore::new();
    let user = json!({ "user": { "id": "u" } }).to_string();
    let user_key = format!("{KEY}-user");
    for store in [&users, &bench.store] {
        store.set(&user_key, user.clone()).await.unwrap();
    }
    let builder = bench.builder().auto_refresh(false);
    let builder = builder
        .session_store(slow.clone())
        .user_store(users.clone());
    let client = builder.build().unwrap();
    for _ in 0..2 {
        let provider = client.auth().sign_in_with_oauth(Provider::Github);
        provider.build().await.unwrap();
    }
    assert_eq!(bench.store.keys().len(), 6, "{:?}", bench.store.keys());
    // A failure that is remembered.
    bench.server.on(TOKEN, [rejected(422, "validation_failed")]);
    client.auth().refresh().await.unwrap_err();
    let mut events = client.auth().events();
    received_events(&mut events).await;

    let auth = client.auth().clone();
    let signing_out = tokio::spawn(async move { auth.sign_out(Scope::Local).await });
    assert_eq!(received_events(&mut events).await, [""; 0]);
    // Once for this removal, and once for that of the session that is not there afterwards.
    slow.gate.add_permits(2);
    signing_out.await.unwrap().unwrap();

    assert_eq!(received_events(&mut events).await, ["SIGNED_OUT"]);
    assert_eq!((bench.store.keys().len(), users.keys().len()), (0, 0));
    let asked = bench.server.asked().len();
    client
        .auth()
        .refresh_with("refresh-stored")
        .await
        .unwrap_err();
    assert_eq!(bench.server.asked().len(), asked + 1, "asked again at once");
}
