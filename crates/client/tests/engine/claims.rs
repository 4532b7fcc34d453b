//! Client contract §1.8 (`get_claims`): which key decides, and how often keys are fetched.

use std::sync::Arc;

use futures_util::future::join_all;
use plinth_client::AuthError;
use plinth_client::auth::{
    JwksCache, KEY_SET_LIFETIME_MS, KeySet, MAX_KEY_SET_BYTES, MAX_KEYS, REFETCH_INTERVAL_MS,
};
use plinth_token::{Algorithm, SigningKey};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::support::{Bench, NOW_S, Reply, jwt, rejected, settle};

const JWKS: &str = "GET /auth/v1/.well-known/jwks.json";
const USER: &str = "GET /auth/v1/user";

fn key(algorithm: Algorithm) -> SigningKey {
    SigningKey::generate(algorithm).expect("a key")
}

fn published(keys: &[&SigningKey]) -> Value {
    let keys: Vec<&Value> = keys
        .iter()
        .map(|key| key.public_jwk().expect("a key"))
        .collect();
    json!({ "keys": keys })
}

fn claims() -> Value {
    json!({ "sub": "u", "exp": NOW_S + 600, "role": "authenticated" })
}

#[tokio::test]
async fn s47_a_published_key_decides_without_asking_about_the_user() {
    let (es256, rs256) = (key(Algorithm::Es256), key(Algorithm::Rs256));
    let bench = Bench::new();
    bench
        .server
        .on(JWKS, [Reply::json(200, published(&[&es256, &rs256]))]);
    let auth = bench.client().auth().clone();

    for key in [&es256, &rs256] {
        let token = key.sign(&claims()).unwrap();
        let proven = auth.claims_for(&token).send().await.unwrap();
        assert_eq!((proven.sub(), proven.exp()), (Some("u"), Some(NOW_S + 600)));
        assert_eq!(proven.header()["kid"], key.kid().unwrap());
        assert!(!proven.signature().is_empty());
    }

    assert_eq!(bench.server.routes(), [JWKS]);
}

#[tokio::test]
async fn s47_a_bad_signature_is_rejected_without_a_request() {
    let signing = key(Algorithm::Es256);
    let bench = Bench::new();
    bench
        .server
        .on(JWKS, [Reply::json(200, published(&[&signing]))]);
    let auth = bench.client().auth().clone();
    let token = signing.sign(&claims()).unwrap();
    auth.claims_for(&token).send().await.unwrap();
    let (message, _) = token.rsplit_once('.').unwrap();
    let other = signing
        .sign(&json!({ "sub": "v", "exp": NOW_S + 600 }))
        .unwrap();
    let (_, signature) = other.rsplit_once('.').unwrap();

    let error = auth
        .claims_for(&format!("{message}.{signature}"))
        .send()
        .await
        .unwrap_err();

    assert!(matches!(error, AuthError::InvalidJwt(_)));
    assert_eq!(bench.server.routes(), [JWKS]);
}

#[tokio::test]
async fn s46_shared_secrets_and_tokens_without_a_key_id_are_the_servers_to_judge() {
    let bench = Bench::new();
    bench.server.on(
        USER,
        [
            Reply::json(200, json!({ "id": "u" })),
            rejected(403, "bad_jwt"),
        ],
    );
    let auth = bench.client().auth().clone();
    let token = jwt(claims());

    let proven = auth.claims_for(&token).send().await.unwrap();
    assert_eq!(proven.sub(), Some("u"));
    let error = auth.claims_for(&token).send().await.unwrap_err();
    assert_eq!(error.status(), Some(403));

    assert_eq!(bench.server.routes(), [USER, USER]);
}

#[tokio::test]
async fn s45_malformed_and_ended_tokens_cost_no_request() {
    let bench = Bench::new();
    let auth = bench.client().auth().clone();

    for token in [
        "",
        "a.b.c",
        &jwt(json!({ "sub": "u" })),
        &jwt(json!({ "exp": NOW_S })),
    ] {
        let error = auth.claims_for(token).send().await.unwrap_err();
        assert!(matches!(error, AuthError::InvalidJwt(_)), "{token}");
    }

    assert!(bench.server.asked().is_empty());
    assert_eq!(auth.claims().await.unwrap(), None);
}

#[tokio::test]
async fn an_ended_token_may_be_accepted_on_purpose() {
    let signing = key(Algorithm::Es256);
    let bench = Bench::new();
    let keys = KeySet::from_json(&published(&[&signing]).to_string()).unwrap();
    let token = signing
        .sign(&json!({ "sub": "u", "exp": NOW_S - 1 }))
        .unwrap();
    let auth = bench.client().auth().clone();

    let request = auth.claims_for(&token).jwks(keys).allow_expired();

    assert_eq!(request.send().await.unwrap().sub(), Some("u"));
    assert!(bench.server.asked().is_empty());
}

#[tokio::test]
async fn k6_keys_are_kept_for_ten_minutes() {
    assert_eq!(KEY_SET_LIFETIME_MS, 600_000);
    let signing = key(Algorithm::Es256);
    let bench = Bench::new();
    bench
        .server
        .on(JWKS, [Reply::json(200, published(&[&signing]))]);
    let auth = bench.client().auth().clone();
    let token = signing.sign(&json!({ "exp": NOW_S + 5000 })).unwrap();

    auth.claims_for(&token).send().await.unwrap();
    bench
        .clock
        .advance(std::time::Duration::from_millis(599_999));
    auth.claims_for(&token).send().await.unwrap();
    assert_eq!(bench.server.asked().len(), 1);

    bench.clock.advance(std::time::Duration::from_millis(1));
    auth.claims_for(&token).send().await.unwrap();
    assert_eq!(bench.server.asked().len(), 2);
}

#[tokio::test]
async fn a_caller_who_leaves_does_not_leave_the_keys_unfetched() {
    let signing = key(Algorithm::Es256);
    let bench = Bench::new();
    let gate = Arc::new(Semaphore::new(0));
    bench.server.on(
        JWKS,
        [Reply::json(200, published(&[&signing])).behind(&gate)],
    );
    let auth = bench.client().auth().clone();
    let token = signing.sign(&claims()).unwrap();

    let mut leaving = Box::pin(auth.claims_for(&token).send());
    assert!(futures_util::poll!(&mut leaving).is_pending());
    drop(leaving);
    gate.add_permits(1);

    // Within the 30 s in which nothing is fetched again.
    assert!(auth.claims_for(&token).send().await.is_ok());
    assert_eq!(bench.server.routes(), [JWKS]);
}

#[tokio::test]
async fn concurrent_callers_share_the_first_fetch() {
    let signing = key(Algorithm::Es256);
    let bench = Bench::new();
    let gate = Arc::new(Semaphore::new(0));
    bench.server.on(
        JWKS,
        [Reply::json(200, published(&[&signing])).behind(&gate)],
    );
    let auth = bench.client().auth().clone();
    let token = signing.sign(&claims()).unwrap();

    let requests = join_all((0..5).map(|_| auth.claims_for(&token).send()));
    let (proven, ()) = tokio::join!(requests, async {
        settle().await;
        gate.add_permits(1);
    });

    assert!(proven.iter().all(Result::is_ok));
    assert_eq!(bench.server.routes(), [JWKS]);
}

#[tokio::test]
async fn s46_an_unknown_key_refetches_at_most_once_in_thirty_seconds() {
    assert_eq!(REFETCH_INTERVAL_MS, 30_000);
    let (old, new) = (key(Algorithm::Es256), key(Algorithm::Es256));
    let bench = Bench::new();
    bench
        .server
        .on(JWKS, [Reply::json(200, published(&[&old]))]);
    bench.server.on(USER, [rejected(403, "bad_jwt")]);
    let auth = bench.client().auth().clone();
    let token = new.sign(&claims()).unwrap();

    for _ in 0..5 {
        auth.claims_for(&token).send().await.unwrap_err();
    }
    let fetches = |bench: &Bench| bench.server.routes().iter().filter(|r| *r == JWKS).count();
    assert_eq!(fetches(&bench), 1);

    bench
        .server
        .on(JWKS, [Reply::json(200, published(&[&old, &new]))]);
    bench.advance(30);
    auth.claims_for(&token).send().await.unwrap();
    assert_eq!(fetches(&bench), 2);
}

#[tokio::test]
async fn s48_many_who_miss_the_keys_make_one_request() {
    let signing = key(Algorithm::Es256);
    let bench = Bench::new();
    let gate = Arc::new(Semaphore::new(1));
    bench.server.on(
        JWKS,
        [Reply::json(200, published(&[&signing])).behind(&gate)],
    );
    let shared = Arc::new(JwksCache::new());
    let clients = [(); 2].map(|()| bench.builder().jwks(shared.clone()).build().unwrap());
    let token = signing.sign(&claims()).unwrap();

    let requests = (0..50).map(|at| clients[at % 2].auth().claims_for(&token).send());
    let proven = join_all(requests).await;

    assert!(proven.iter().all(Result::is_ok));
    assert_eq!(bench.server.routes(), [JWKS]);
}

#[tokio::test]
async fn s49_a_token_cannot_bring_its_own_key_or_another_algorithm() {
    use base64::Engine;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;

    let (ours, theirs) = (key(Algorithm::Es256), key(Algorithm::Es256));
    let bench = Bench::new();
    bench
        .server
        .on(JWKS, [Reply::json(200, published(&[&ours]))]);
    let auth = bench.client().auth().clone();
    let part = |value: Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let signed = theirs.sign(&claims()).unwrap();
    let (_, signature) = signed.rsplit_once('.').unwrap();

    for header in [
        json!({ "alg": "ES256", "kid": ours.kid(), "jwk": theirs.public_jwk() }),
        json!({ "alg": "RS256", "kid": ours.kid() }),
        json!({ "alg": "EdDSA", "kid": ours.kid() }),
        json!({ "alg": "none", "kid": ours.kid() }),
    ] {
        let token = format!("{}.{}.{signature}", part(header.clone()), part(claims()));
        let error = auth.claims_for(&token).send().await.unwrap_err();
        assert!(matches!(error, AuthError::InvalidJwt(_)), "{header}");
    }
    assert_eq!(bench.server.routes(), [JWKS]);
}

#[tokio::test]
async fn a17_when_keys_cannot_be_fetched_the_old_ones_serve_for_a_day() {
    let signing = key(Algorithm::Es256);
    let bench = Bench::new();
    let good = Reply::json(200, published(&[&signing]));
    bench.server.on(JWKS, [good, Reply::text(503, "")]);
    bench.server.on(USER, [rejected(403, "bad_jwt")]);
    let cache = Arc::new(JwksCache::new());
    let client = bench
        .builder()
        .jwks(cache.clone())
        .auto_refresh(false)
        .build()
        .unwrap();
    let token = signing.sign(&json!({ "exp": NOW_S + 200_000 })).unwrap();
    let is_good = || async { client.auth().claims_for(&token).send().await.is_ok() };

    assert!(is_good().await);
    bench.advance(601);
    assert!(is_good().await);
    assert_eq!((cache.failures(), cache.age_ms(NOW_S * 1000)), (1, Some(0)));
    bench.advance(24 * 3600);
    assert!(!is_good().await);
}

#[tokio::test]
async fn a16_a_key_set_has_limits() {
    let keys: Vec<SigningKey> = (0..MAX_KEYS + 6).map(|_| key(Algorithm::Es256)).collect();
    let set = published(&keys.iter().collect::<Vec<_>>());
    assert_eq!(KeySet::from_json(&set.to_string()).unwrap().len(), 64);

    let bench = Bench::new();
    let large = json!({ "keys": [], "padding": "x".repeat(MAX_KEY_SET_BYTES) });
    bench.server.on(JWKS, [Reply::json(200, large)]);
    assert_eq!(MAX_KEY_SET_BYTES, 256 * 1024);
    assert!(bench.client().auth().api().jwks().await.is_err());

    assert!(KeySet::from_json("[]").is_err());
    let unusable =
        json!({ "keys": [{ "kty": "oct", "k": "AA", "kid": "x" }, { "kty": "XYZ" }, 7] });
    assert!(KeySet::from_json(&unusable.to_string()).unwrap().is_empty());
}
