//! Attacks without a key: forged algorithms, tampered parts, garbage.

#![allow(clippy::unwrap_used)] // A test whose set-up fails should say where.

use aws_lc_rs::hmac;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use plinth_token::{
    Algorithm, ClaimRules, KeySet, KeyStatus, SigningKey, TokenCache, TokenError, TokenHeader,
};
use proptest::prelude::*;
use serde_json::{Value, json};

const SECRET: &[u8] = b"a secret of 32 bytes, at least..";

fn key(algorithm: Algorithm) -> SigningKey {
    SigningKey::generate(algorithm).unwrap()
}

fn base64url(text: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(text)
}

/// A token made by hand: any header, signed with HMAC over any bytes.
fn forged(header: Value, secret: &[u8]) -> String {
    signed_with(hmac::HMAC_SHA256, header, secret)
}

fn signed_with(hash: hmac::Algorithm, header: Value, secret: &[u8]) -> String {
    let message = format!(
        "{}.{}",
        base64url(header.to_string()),
        base64url(r#"{"role":"service_role"}"#)
    );
    let secret = hmac::Key::new(hash, secret);
    format!(
        "{message}.{}",
        base64url(hmac::sign(&secret, message.as_bytes()))
    )
}

/// Everything an attacker might use as the secret of a key whose public half is known.
fn public_texts(key: &SigningKey) -> Vec<Vec<u8>> {
    let jwk = key.public_jwk().unwrap();
    let member = |name: &str| {
        URL_SAFE_NO_PAD
            .decode(jwk[name].as_str().unwrap_or_default())
            .unwrap_or_default()
    };
    let mut texts = vec![
        jwk.to_string().into_bytes(),
        json!({ "keys": [jwk] }).to_string().into_bytes(),
        Vec::new(),
    ];
    for name in ["x", "y", "n"] {
        texts.push(member(name));
        texts.push(jwk[name].as_str().unwrap_or_default().as_bytes().to_vec());
    }
    if key.algorithm() == Algorithm::Es256 {
        let mut der = b"\x30\x59\x30\x13\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x08\x2a\x86\x48\
                        \xce\x3d\x03\x01\x07\x03\x42\x00\x04"
            .to_vec();
        der.extend([member("x"), member("y")].concat());
        let base64 = STANDARD.encode(&der);
        let (first, second) = base64.split_at(64);
        let pem =
            format!("-----BEGIN PUBLIC KEY-----\n{first}\n{second}\n-----END PUBLIC KEY-----");
        texts.extend([
            der[26..].to_vec(),
            der,
            format!("{pem}\n").into_bytes(),
            pem.into_bytes(),
        ]);
    }
    texts
}

#[test]
fn a_public_key_is_never_taken_for_a_shared_secret() {
    for algorithm in [Algorithm::Es256, Algorithm::Rs256, Algorithm::EdDsa] {
        let key = key(algorithm);
        let asymmetric = KeySet::builder().signing_key(key.clone(), KeyStatus::InUse);
        let asymmetric = asymmetric.build().unwrap();
        let mixed = KeySet::builder()
            .legacy_secret(SECRET)
            .signing_key(key.clone(), KeyStatus::InUse)
            .build()
            .unwrap();
        let wrong = |name: &str| TokenError::WrongAlgorithm(name.to_owned());

        for secret in public_texts(&key) {
            let named = forged(json!({ "alg": "HS256", "kid": key.kid() }), &secret);
            let nameless = forged(json!({ "alg": "HS256" }), &secret);
            let disguised = forged(json!({ "alg": algorithm.name() }), &secret);

            assert_eq!(asymmetric.verify(&named).unwrap_err(), wrong("HS256"));
            assert_eq!(asymmetric.verify(&nameless).unwrap_err(), wrong("HS256"));
            assert_eq!(mixed.verify(&named).unwrap_err(), wrong("HS256"));
            let bad = TokenError::BadSignature {
                algorithm: Algorithm::Hs256,
            };
            assert_eq!(mixed.verify(&nameless).unwrap_err(), bad);
            let bad = TokenError::BadSignature { algorithm };
            assert_eq!(mixed.verify(&disguised).unwrap_err(), bad);
        }
    }
}

#[test]
fn no_spelling_of_none_passes() {
    let keys = KeySet::builder()
        .legacy_secret(SECRET)
        .signing_key(key(Algorithm::Es256), KeyStatus::InUse)
        .build()
        .unwrap();
    let payload = base64url(r#"{"role":"service_role"}"#);

    for alg in [
        "none",
        "None",
        "NONE",
        "nOnE",
        "",
        " none",
        "none\u{0}",
        "hs256",
        "HS256 ",
    ] {
        let header = base64url(json!({ "alg": alg, "typ": "JWT" }).to_string());
        for signature in ["", "AAAA"] {
            let error = keys
                .verify(&format!("{header}.{payload}.{signature}"))
                .unwrap_err();
            assert_eq!(error, TokenError::WrongAlgorithm(alg.to_owned()));
        }
        let two_parts = keys.verify(&format!("{header}.{payload}")).unwrap_err();
        assert_eq!(two_parts, TokenError::NotThreeParts(2));
    }
}

#[test]
fn an_algorithm_that_no_key_uses_is_rejected_even_with_the_right_secret() {
    let keys = KeySet::builder().legacy_secret(SECRET).build().unwrap();

    for alg in ["HS384", "HS512", "ES256", "RS256", "EdDSA"] {
        let error = keys
            .verify(&forged(json!({ "alg": alg }), SECRET))
            .unwrap_err();
        assert_eq!(error, TokenError::WrongAlgorithm(alg.to_owned()));
    }
}

#[test]
fn longer_hashes_of_the_secret_count_only_where_they_are_asked_for() {
    let keys = KeySet::builder()
        .legacy_secret(SECRET)
        .legacy_key_id("secret")
        .signing_key(key(Algorithm::Es256), KeyStatus::InUse)
        .build()
        .unwrap();
    let cache = TokenCache::default();

    for (alg, hash) in [("HS384", hmac::HMAC_SHA384), ("HS512", hmac::HMAC_SHA512)] {
        for kid in [json!(null), json!("secret"), json!("unknown")] {
            let token = signed_with(hash, json!({ "alg": alg, "kid": kid }), SECRET);
            let longer = cache.verify(keys.with_longer_hashes(), &token).unwrap();
            assert_eq!(longer.algorithm().name(), alg);
            let rejected = TokenError::WrongAlgorithm(alg.to_owned());
            assert_eq!(cache.verify(&keys, &token).unwrap_err(), rejected);
        }
        let token = signed_with(hash, json!({ "alg": alg }), b"another secret");
        assert!(keys.with_longer_hashes().verify(&token).is_err());
    }
    let usual = forged(json!({ "alg": "HS256" }), SECRET);
    assert!(keys.with_longer_hashes().verify(&usual).is_ok());
}

#[test]
fn keys_that_a_token_brings_along_are_not_looked_at() {
    let (ours, theirs) = (key(Algorithm::Es256), key(Algorithm::Es256));
    let keys = KeySet::builder()
        .signing_key(ours, KeyStatus::InUse)
        .build()
        .unwrap();

    let token = theirs.sign(&json!({})).unwrap();
    let (_, rest) = token.split_once('.').unwrap();
    let header = json!({
        "alg": "ES256",
        "jwk": theirs.public_jwk(),
        "jku": "https://attacker.example/jwks.json",
        "x5u": "https://attacker.example/cert",
    });

    let error = keys
        .verify(&format!("{}.{rest}", base64url(header.to_string())))
        .unwrap_err();
    assert_eq!(
        error,
        TokenError::BadSignature {
            algorithm: Algorithm::Es256
        }
    );
}

#[test]
fn an_empty_or_zero_signature_is_rejected() {
    for algorithm in [
        Algorithm::Es256,
        Algorithm::Rs256,
        Algorithm::EdDsa,
        Algorithm::Hs256,
    ] {
        let key = key(algorithm);
        let keys = KeySet::builder()
            .signing_key(key.clone(), KeyStatus::InUse)
            .build()
            .unwrap();
        let token = key.sign(&json!({})).unwrap();
        let (message, _) = token.rsplit_once('.').unwrap();

        for signature in [Vec::new(), vec![0; 32], vec![0; 64], vec![0; 256]] {
            let error = keys
                .verify(&format!("{message}.{}", base64url(signature)))
                .unwrap_err();
            assert_eq!(error, TokenError::BadSignature { algorithm });
        }
    }
}

#[test]
fn parts_of_two_genuine_tokens_do_not_mix() {
    let key = key(Algorithm::Es256);
    let keys = KeySet::builder()
        .signing_key(key.clone(), KeyStatus::InUse)
        .build()
        .unwrap();
    let user = key.sign(&json!({ "role": "authenticated" })).unwrap();
    let admin = key.sign(&json!({ "role": "service_role" })).unwrap();
    let user: Vec<&str> = user.split('.').collect();
    let admin: Vec<&str> = admin.split('.').collect();

    let mixed = [user[0], admin[1], user[2]].join(".");

    assert!(matches!(
        keys.verify(&mixed),
        Err(TokenError::BadSignature { .. })
    ));
}

#[test]
fn names_that_clients_choose_do_not_inflate_errors() {
    let keys = KeySet::builder().legacy_secret(SECRET).build().unwrap();

    let error = keys
        .verify(&forged(json!({ "alg": "é".repeat(100_000) }), SECRET))
        .unwrap_err();

    assert!(error.to_string().len() < 1000);
}

#[test]
fn deeply_nested_claims_are_rejected_instead_of_overflowing() {
    let depth = 100_000;
    let payload = format!("{{\"a\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
    let message = format!("{}.{}", base64url(r#"{"alg":"HS256"}"#), base64url(payload));
    let secret = hmac::Key::new(hmac::HMAC_SHA256, SECRET);
    let token = format!(
        "{message}.{}",
        base64url(hmac::sign(&secret, message.as_bytes()))
    );
    let keys = KeySet::builder().legacy_secret(SECRET).build().unwrap();

    assert_eq!(
        keys.verify(&token).unwrap_err(),
        TokenError::ClaimsNotAnObject
    );
}

/// A token and a key set that accepts it; made once, because proptest asks often.
fn genuine() -> &'static (KeySet, String) {
    static GENUINE: std::sync::OnceLock<(KeySet, String)> = std::sync::OnceLock::new();
    GENUINE.get_or_init(|| {
        let keys = KeySet::builder()
            .legacy_secret(SECRET)
            .signing_key(key(Algorithm::Es256), KeyStatus::InUse)
            .build()
            .unwrap();
        let token = keys
            .sign(&json!({ "sub": "u1", "role": "authenticated" }))
            .unwrap();
        (keys, token)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_single_changed_character_is_noticed(position: usize, replacement in "[ -~]") {
        let (keys, token) = genuine();
        let position = position % token.len();
        prop_assume!(token[position..=position] != replacement);

        let mut changed = token.clone();
        changed.replace_range(position..=position, &replacement);

        prop_assert!(keys.verify(token).is_ok());
        prop_assert!(keys.verify(&changed).is_err());
    }

    #[test]
    fn no_text_makes_verification_panic(text in any::<String>()) {
        let (keys, _) = genuine();
        prop_assert!(keys.verify(&text).is_err());
        prop_assert!(TokenCache::default().verify(keys, &text).is_err());
        let _ = TokenHeader::peek(&text);
    }

    #[test]
    fn no_bytes_behind_a_valid_shape_make_verification_panic(
        header: Vec<u8>,
        payload: Vec<u8>,
        signature: Vec<u8>,
    ) {
        let (keys, _) = genuine();
        let token = [header, payload, signature].map(base64url).join(".");
        prop_assert!(keys.verify(&token).is_err());
    }

    #[test]
    fn no_genuinely_signed_payload_makes_reading_panic(payload: Vec<u8>, now: i64) {
        let message = format!("{}.{}", base64url(r#"{"alg":"HS256"}"#), base64url(payload));
        let secret = hmac::Key::new(hmac::HMAC_SHA256, SECRET);
        let token = format!("{message}.{}", base64url(hmac::sign(&secret, message.as_bytes())));
        if let Ok(verified) = genuine().0.verify(&token) {
            let _ = verified.check(&ClaimRules::rest(now));
        }
    }

    #[test]
    fn no_time_makes_a_check_panic(exp: i64, nbf: f64, iat: u64, now: i64, leeway: i64) {
        let (keys, _) = genuine();
        let token = keys.verify(&keys.sign(&json!({ "exp": exp, "nbf": nbf, "iat": iat })).unwrap());
        let rules = ClaimRules { now, leeway, reject_issued_in_future: true, audience: None };
        let _ = token.unwrap().check(&rules);
    }
}
