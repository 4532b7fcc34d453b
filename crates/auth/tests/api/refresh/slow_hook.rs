//! A hook that is asked over HTTP and answers late, or says no.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use axum::{
    Json, Router,
    response::{IntoResponse, Response},
};
use tokio::{net::TcpListener, sync::Barrier};

use super::*;

/// How many have to ask at once before any of them is answered, if it waits for company.
const COMPANY: usize = 8;

/// What it does.
struct Mood {
    refuses: AtomicBool,
    waits: AtomicBool,
    hangs: AtomicBool,
    mumbles: AtomicBool,
    company: Barrier,
}

impl Mood {
    fn is(mood: &AtomicBool) -> bool {
        mood.load(Ordering::SeqCst)
    }

    async fn answer(&self, input: Value) -> Response {
        if Self::is(&self.hangs) {
            std::future::pending::<()>().await;
        }
        if Self::is(&self.waits) {
            self.company.wait().await;
        }
        if Self::is(&self.mumbles) {
            return "the gateway's own page".into_response();
        }
        let body = match Self::is(&self.refuses) {
            true => json!({ "error": { "http_code": 403, "message": "not now" } }),
            false => json!({ "claims": input["claims"] }),
        };
        Json(body).into_response()
    }
}

/// Gives claims back as they are, or refuses.
async fn start() -> (String, Arc<Mood>) {
    let mood = Arc::new(Mood {
        refuses: AtomicBool::new(false),
        waits: AtomicBool::new(false),
        hangs: AtomicBool::new(false),
        mumbles: AtomicBool::new(false),
        company: Barrier::new(COMPANY),
    });
    let of_hook = mood.clone();
    let router = Router::new().fallback(move |Json(input): Json<Value>| {
        let mood = of_hook.clone();
        async move { mood.answer(input).await }
    });
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    tokio::spawn(async move { axum::serve(listener, router).await });
    (url, mood)
}

async fn hooked(more: &[(&str, &str)]) -> (Api, Value, Arc<Mood>) {
    let (url, mood) = start().await;
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
    (api, tokens, mood)
}

/// One after another, the first would wait for company in vain.
#[tokio::test]
async fn nobody_waits_for_anothers_hook() {
    for kind in [&[][..], &[COUNTED][..]] {
        let (api, first, mood) = hooked(kind).await;
        mood.waits.store(true, Ordering::SeqCst);

        let shown = token(&first);
        let calls = (0..3 * COMPANY).map(|_| refresh(&api, &shown));
        let replies = futures_util::future::join_all(calls).await;

        let tokens: HashSet<String> = replies.iter().map(|reply| token(&reply.ok())).collect();
        assert_eq!(tokens.len(), 1);
    }
}

#[tokio::test]
async fn a_hook_that_refuses_costs_nobody_their_session() {
    for kind in [&[][..], &[COUNTED][..]] {
        let (api, first, mood) = hooked(kind).await;
        mood.refuses.store(true, Ordering::SeqCst);
        for _ in 0..2 {
            let reply = refresh(&api, &token(&first)).await;
            reply.refuses_with(403, "unknown", "not now");
            api.advance(Duration::from_secs(60));
        }

        mood.refuses.store(false, Ordering::SeqCst);
        let second = refresh(&api, &token(&first)).await.ok();

        assert_ne!(token(&second), token(&first));
        refresh(&api, &token(&second)).await.ok();
    }
}

/// Clients take anything below 500 for the end of their session.
#[tokio::test]
async fn a_hook_that_is_out_of_order_may_be_asked_again() {
    let (api, first, mood) = hooked(&[]).await;

    mood.mumbles.store(true, Ordering::SeqCst);
    let reply = refresh(&api, &token(&first)).await;
    reply.refuses(503, "hook_payload_invalid_content_type");
    assert_eq!(reply.header("retry-after"), Some("1"));

    mood.hangs.store(true, Ordering::SeqCst);
    let reply = refresh(&api, &token(&first)).await;
    reply.refuses(503, "hook_timeout");

    mood.mumbles.store(false, Ordering::SeqCst);
    mood.hangs.store(false, Ordering::SeqCst);
    refresh(&api, &token(&first)).await.ok();
}

/// The same.
#[tokio::test]
async fn who_waits_in_vain_may_try_again() {
    let (api, first) = signed_in(&[]).await;
    let mut other = api.admin().await;
    let held = other.transaction().await.expect("a transaction");
    let sql = "select 1 from auth.sessions for update";
    held.execute(sql, &[]).await.expect("locked rows");

    let reply = refresh(&api, &token(&first)).await;

    reply.refuses(503, "conflict");
    assert_eq!(reply.header("retry-after"), Some("1"));
    held.rollback().await.expect("let go");
    refresh(&api, &token(&first)).await.ok();
}
