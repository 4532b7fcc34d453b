//! A hook that is asked over HTTP and answers late, or says no.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use axum::{Json, Router};
use tokio::{net::TcpListener, sync::Barrier};

use super::*;

/// How many have to ask at once before any of them is answered, if it waits for company.
const COMPANY: usize = 8;

/// What it does.
struct Mood {
    refuses: AtomicBool,
    waits: AtomicBool,
    company: Barrier,
}

/// Gives claims back as they are, or refuses.
async fn start() -> (String, Arc<Mood>) {
    let mood = Arc::new(Mood {
        refuses: AtomicBool::new(false),
        waits: AtomicBool::new(false),
        company: Barrier::new(COMPANY),
    });
    let of_hook = mood.clone();
    let router = Router::new().fallback(move |Json(input): Json<Value>| {
        let mood = of_hook.clone();
        async move {
            if mood.waits.load(Ordering::SeqCst) {
                mood.company.wait().await;
            }
            match mood.refuses.load(Ordering::SeqCst) {
                true => Json(json!({ "error": { "http_code": 403, "message": "not now" } })),
                false => Json(json!({ "claims": input["claims"] })),
            }
        }
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
