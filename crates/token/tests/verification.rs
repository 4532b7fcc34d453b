//! Which tokens a project's key set accepts, and the errors for others.

#![allow(clippy::unwrap_used)] // A test whose set-up fails should say where.

use plinth_token::{
    Algorithm, ClaimRules, KeyFile, KeySet, KeyStatus, SigningKey, TokenError,
    public_keys_from_json,
};
use serde_json::{Value, json};

const SECRET: &str = "super-secret-jwt-token-with-at-least-32-characters-long";

fn key(algorithm: Algorithm) -> SigningKey {
    SigningKey::generate(algorithm).unwrap()
}

fn set(key: &SigningKey, status: KeyStatus) -> KeySet {
    KeySet::builder()
        .legacy_secret(SECRET)
        .signing_key(key.clone(), status)
        .build()
        .unwrap()
}

/// The same private key under another id, or none.
fn renamed(key: &SigningKey, kid: Option<&str>) -> SigningKey {
    let mut jwk: Value = serde_json::from_str(key.to_private_jwk().expose()).unwrap();
    jwk["kid"] = json!(kid);
    SigningKey::from_private_jwk(&jwk.to_string()).unwrap()
}

#[test]
fn every_algorithm_signs_what_it_then_accepts() {
    for algorithm in [
        Algorithm::Es256,
        Algorithm::Rs256,
        Algorithm::EdDsa,
        Algorithm::Hs256,
    ] {
        let keys = set(&key(algorithm), KeyStatus::InUse);

        let token = keys
            .verify(&keys.sign(&json!({ "sub": "u1" })).unwrap())
            .unwrap();

        assert_eq!(token.sub(), Some("u1"));
        assert_eq!(token.algorithm(), algorithm);
        assert_eq!(token.kid(), keys.signer().unwrap().kid());
    }
}

#[test]
fn a_reader_of_the_published_keys_accepts_the_projects_tokens() {
    for algorithm in [Algorithm::Es256, Algorithm::Rs256, Algorithm::EdDsa] {
        let project = set(&key(algorithm), KeyStatus::InUse);
        let published = public_keys_from_json(&project.jwks().to_string()).unwrap();
        let reader = published
            .into_iter()
            .fold(KeySet::builder(), |b, key| b.foreign_key(key));

        let token = project.sign(&json!({ "sub": "u1" })).unwrap();

        assert_eq!(
            reader.build().unwrap().verify(&token).unwrap().sub(),
            Some("u1")
        );
    }
}

#[test]
fn the_key_known_from_local_development_is_accepted_with_its_secret() {
    let keys = KeySet::builder().legacy_secret(SECRET).build().unwrap();
    let anon = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJpc3MiOiJzdXBhYmFzZS1kZW1vIiwicm9sZSI6Im\
                Fub24iLCJleHAiOjE5ODM4MTI5OTZ9.CRXP1A7WOeoJeXxjNni43kdQwgnWNReilDMblYTn_I0";

    assert_eq!(keys.verify(anon).unwrap().role(), Some("anon"));
}

#[test]
fn the_example_tokens_of_the_standards_are_accepted() {
    // RFC 7515 A.1 and A.3.
    let hs256 = r#"{"kty":"oct","k":"AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow"}"#;
    let es256 = r#"{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0","d":"jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI"}"#;
    let payload = "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ";
    let tokens = [
        format!(
            "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.{payload}.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
        ),
        format!(
            "eyJhbGciOiJFUzI1NiJ9.{payload}.DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"
        ),
    ];
    let keys = KeySet::builder()
        .signing_key(
            SigningKey::from_private_jwk(hs256).unwrap(),
            KeyStatus::PreviouslyUsed,
        )
        .signing_key(
            SigningKey::from_private_jwk(es256).unwrap(),
            KeyStatus::InUse,
        )
        .build()
        .unwrap();

    for token in tokens {
        assert_eq!(keys.verify(&token).unwrap().exp(), Some(1_300_819_380));
    }

    // RFC 8037 A.4 signs a sentence: the signature is right, the claims are none.
    let ed25519 = r#"{"kty":"OKP","crv":"Ed25519","d":"nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#;
    let token = "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc.hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg";
    let key = SigningKey::from_private_jwk(ed25519).unwrap();
    let keys = KeySet::builder()
        .signing_key(key, KeyStatus::InUse)
        .build()
        .unwrap();
    assert_eq!(
        keys.verify(token).unwrap_err(),
        TokenError::ClaimsNotAnObject
    );
}

#[test]
fn tokens_of_a_rotated_key_stay_good_and_those_of_a_revoked_one_do_not() {
    let (old, new) = (key(Algorithm::Es256), key(Algorithm::Es256));
    let token = old.sign(&json!({ "sub": "u1" })).unwrap();
    let rotated = |old_status| {
        KeySet::builder()
            .legacy_secret(SECRET)
            .signing_key(new.clone(), KeyStatus::InUse)
            .signing_key(old.clone(), old_status)
            .build()
            .unwrap()
    };

    assert!(rotated(KeyStatus::PreviouslyUsed).verify(&token).is_ok());
    assert!(rotated(KeyStatus::Standby).verify(&token).is_ok());
    let rejected = TokenError::NoSuitableKey {
        kid: old.kid().map(str::to_owned),
        algorithm: Algorithm::Es256,
    };
    assert_eq!(
        rotated(KeyStatus::Revoked).verify(&token).unwrap_err(),
        rejected
    );
}

#[test]
fn a_revoked_shared_key_does_not_come_back_through_the_legacy_secret() {
    // The same secret once as legacy secret and once as a key that was revoked.
    let shared = SigningKey::from_shared_secret(SECRET.as_bytes(), Some("s".into())).unwrap();
    let keys = set(&shared, KeyStatus::Revoked);

    let error = keys.verify(&shared.sign(&json!({})).unwrap()).unwrap_err();

    assert!(matches!(error, TokenError::NoSuitableKey { .. }));
}

#[test]
fn legacy_keys_keep_working_after_moving_to_asymmetric_keys() {
    let keys = set(&key(Algorithm::Es256), KeyStatus::InUse);
    let without_id = SigningKey::from_shared_secret(SECRET.as_bytes(), None).unwrap();
    let unknown_id = SigningKey::from_shared_secret(SECRET.as_bytes(), Some("old".into())).unwrap();

    for legacy in [without_id, unknown_id] {
        assert!(
            keys.verify(&legacy.sign(&json!({ "role": "anon" })).unwrap())
                .is_ok()
        );
    }
}

#[test]
fn a_token_that_names_no_key_is_tried_with_every_key_of_its_algorithm() {
    let (first, second) = (key(Algorithm::Es256), key(Algorithm::Es256));
    let keys = KeySet::builder()
        .signing_key(first.clone(), KeyStatus::InUse)
        .signing_key(second.clone(), KeyStatus::PreviouslyUsed)
        .build()
        .unwrap();

    for nameless in [renamed(&first, None), renamed(&second, None)] {
        assert!(keys.verify(&nameless.sign(&json!({})).unwrap()).is_ok());
    }
    let stranger = renamed(&key(Algorithm::Es256), None)
        .sign(&json!({}))
        .unwrap();
    let rejected = TokenError::BadSignature {
        algorithm: Algorithm::Es256,
    };
    assert_eq!(keys.verify(&stranger).unwrap_err(), rejected);
}

#[test]
fn a_named_key_alone_decides() {
    let (first, second) = (key(Algorithm::Es256), key(Algorithm::Es256));
    let keys = KeySet::builder()
        .signing_key(first.clone(), KeyStatus::InUse)
        .signing_key(second.clone(), KeyStatus::PreviouslyUsed)
        .build()
        .unwrap();

    let misnamed = renamed(&second, first.kid()).sign(&json!({})).unwrap();

    let rejected = TokenError::BadSignature {
        algorithm: Algorithm::Es256,
    };
    assert_eq!(keys.verify(&misnamed).unwrap_err(), rejected);
}

#[test]
fn an_unknown_key_is_rejected_by_name() {
    let keys = set(&key(Algorithm::Es256), KeyStatus::InUse);
    let foreign = key(Algorithm::Es256);

    let error = keys.verify(&foreign.sign(&json!({})).unwrap()).unwrap_err();

    let kid = foreign.kid().map(str::to_owned);
    assert_eq!(
        error,
        TokenError::NoSuitableKey {
            kid,
            algorithm: Algorithm::Es256
        }
    );
}

#[test]
fn without_any_key_every_token_is_rejected_for_that_reason() {
    let revoked = key(Algorithm::Es256);
    let token = revoked.sign(&json!({})).unwrap();
    let none = KeySet::builder().build().unwrap();
    let only_revoked = KeySet::builder()
        .signing_key(revoked, KeyStatus::Revoked)
        .build()
        .unwrap();

    for keys in [none, only_revoked] {
        assert_eq!(keys.verify(&token).unwrap_err(), TokenError::NoKeys);
        assert_eq!(keys.verify("").unwrap_err(), TokenError::Empty);
    }
}

#[test]
fn a_genuine_token_whose_payload_is_no_object_is_rejected_for_that() {
    let keys = KeySet::builder().legacy_secret(SECRET).build().unwrap();

    for claims in [json!([]), json!("text"), json!(7), json!(null)] {
        let token = keys.sign(&claims).unwrap();
        assert_eq!(
            keys.verify(&token).unwrap_err(),
            TokenError::ClaimsNotAnObject
        );
    }
}

#[test]
fn a_genuine_but_expired_token_verifies_and_then_fails_its_check() {
    let keys = KeySet::builder().legacy_secret(SECRET).build().unwrap();
    let token = keys
        .verify(&keys.sign(&json!({ "exp": 1000 })).unwrap())
        .unwrap();

    assert_eq!(token.check(&ClaimRules::exact(999)), Ok(()));
    assert_eq!(
        token.check(&ClaimRules::exact(1000)),
        Err(TokenError::Expired)
    );
    assert_eq!(token.check(&ClaimRules::rest(1030)), Ok(()));
    assert_eq!(
        token.check(&ClaimRules::rest(1031)),
        Err(TokenError::Expired)
    );
}

#[test]
fn keys_from_a_signing_keys_file_serve_a_project() {
    let (new, old) = (key(Algorithm::Es256), key(Algorithm::Rs256));
    let file = format!(
        "[{}, {}]",
        old.to_private_jwk()
            .expose()
            .replace(r#"["sign","verify"]"#, r#"["verify"]"#),
        new.to_private_jwk().expose()
    );

    let keys = KeyFile::from_json(&file).unwrap();
    let keys = KeySet::builder().key_file(keys).build().unwrap();

    assert_eq!(keys.signer().unwrap().kid(), new.kid());
    assert!(keys.verify(&old.sign(&json!({})).unwrap()).is_ok());
}
