//! An HTTP hook that responds late or rejects.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use axum::{
    Json, Router,
    response::{IntoResponse, Response},
};
use plinth_testkit::Listener;
use tokio::sync::Barrier;

use super::*;
use crate::support::{AuthReply, Sql};

/// The number of concurrent calls to wait for before responding.
const CONCURRENT_CALLS: usize = 8;

/// How the hook behaves.
struct HookBehaviour {
    rejects: AtomicBool,
    waits: AtomicBool,
    hangs: AtomicBool,
    sends_garbage: AtomicBool,
    barrier: Barrier,
}

impl HookBehaviour {
    fn is(behaviour: &AtomicBool) -> bool {
        behaviour.load(Ordering::SeqCst)
    }

    async fn handle(&self, input: Value) -> Response {
        if Self::is(&self.hangs) {
            std::future::pending::<()>().await;
        }
        if Self::is(&self.waits) {
            self.barrier.wait().await;
        }
        if Self::is(&self.sends_garbage) {
            return "the gateway's own page".into_response();
        }
        let body = if Self::is(&self.rejects) {
            json!({ "error": { "http_code": 403, "message": "not now" } })
        } else {
            json!({ "claims": input["claims"] })
        };
        Json(body).into_response()
    }
}

/// Starts a hook that returns the claims unchanged, or rejects.
async fn start() -> (String, Arc<HookBehaviour>) {
    let behaviour = Arc::new(HookBehaviour {
        rejects: AtomicBool::new(false),
        waits: AtomicBool::new(false),
        hangs: AtomicBool::new(false),
        sends_garbage: AtomicBool::new(false),
        barrier: Barrier::new(CONCURRENT_CALLS),
    });
    let of_hook = behaviour.clone();
    let router = Router::new().fallback(move |Json(input): Json<Value>| {
        let behaviour = of_hook.clone();
        async move { behaviour.handle(input).await }
    });
    (Listener::start(router).await.keep(), behaviour)
}

async fn hooked(more: &[(&str, &str)]) -> (Api, Value, Arc<HookBehaviour>) {
    let (url, behaviour) = start().await;
    let mut settings = vec![
        ("auth.hook.custom_access_token.enabled", "true"),
        ("auth.hook.custom_access_token.uri", url.as_str()),
        (
            "auth.hook.custom_access_token.secrets",
            "v1,whsec_c2VjcmV0LW9uZQ==",
        ),
    ];
    settings.extend_from_slice(more);
    let (api, tokens) = signed_in(&settings).await;
    (api, tokens, behaviour)
}

/// If calls were serialized, the first would wait forever.
#[tokio::test]
async fn no_request_waits_for_anothers_hook() {
    for kind in [&[][..], &[COUNTED][..]] {
        let (api, first, behaviour) = hooked(kind).await;
        behaviour.waits.store(true, Ordering::SeqCst);

        let shown = token(&first);
        let calls = (0..3 * CONCURRENT_CALLS).map(|_| refresh(&api, &shown));
        let replies = futures_util::future::join_all(calls).await;

        let tokens: HashSet<String> = replies.iter().map(|reply| token(&reply.ok())).collect();
        assert_eq!(tokens.len(), 1);
    }
}

#[tokio::test]
async fn a_hook_that_rejects_ends_no_session() {
    for kind in [&[][..], &[COUNTED][..]] {
        let (api, first, behaviour) = hooked(kind).await;
        behaviour.rejects.store(true, Ordering::SeqCst);
        for _ in 0..2 {
            let reply = refresh(&api, &token(&first)).await;
            reply.expect_error_text(403, "unknown", "not now");
            api.advance(Duration::from_secs(60));
        }

        behaviour.rejects.store(false, Ordering::SeqCst);
        let second = refresh(&api, &token(&first)).await.ok();

        assert_ne!(token(&second), token(&first));
        refresh(&api, &token(&second)).await.ok();
    }
}

/// Clients take a status below 500 for the end of their session.
#[tokio::test]
async fn a_hook_that_is_out_of_order_may_be_asked_again() {
    let (api, first, behaviour) = hooked(&[]).await;

    behaviour.sends_garbage.store(true, Ordering::SeqCst);
    let reply = refresh(&api, &token(&first)).await;
    reply.expect_error(503, "hook_payload_invalid_content_type");
    assert_eq!(reply.header("retry-after"), Some("1"));

    behaviour.hangs.store(true, Ordering::SeqCst);
    let reply = refresh(&api, &token(&first)).await;
    reply.expect_error(503, "hook_timeout");

    behaviour.sends_garbage.store(false, Ordering::SeqCst);
    behaviour.hangs.store(false, Ordering::SeqCst);
    refresh(&api, &token(&first)).await.ok();
}

/// Clients take a status below 500 for the end of their session.
#[tokio::test]
async fn who_waits_in_vain_may_try_again() {
    let (api, first) = signed_in(&[]).await;
    let mut other = api.admin().await;
    let held = other.transaction().await.expect("a transaction");
    let sql = "select 1 from auth.sessions for update";
    held.execute(sql, &[]).await.expect("locked rows");

    let reply = refresh(&api, &token(&first)).await;

    reply.expect_error(503, "conflict");
    assert_eq!(reply.header("retry-after"), Some("1"));
    held.rollback().await.expect("let go");
    refresh(&api, &token(&first)).await.ok();
}
