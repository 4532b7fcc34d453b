//! An authenticator app from enrolment to `aal2` and back.

use aws_lc_rs::hmac;
use data_encoding::BASE32_NOPAD;
use plinth_client::auth::ErrorCode;

use crate::support::Live;

/// What the app shows now, or so many steps later.
fn code(secret: &str, steps: u64) -> String {
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .expect("a time");
    let step = now.as_secs() / 30 + steps;
    let secret = BASE32_NOPAD.decode(secret.as_bytes()).expect("base32");
    let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, &secret);
    let hash = hmac::sign(&key, &step.to_be_bytes());
    let hash = hash.as_ref();
    let at = usize::from(hash[19] & 0xf);
    let number = u32::from_be_bytes(hash[at..at + 4].try_into().expect("four bytes")) & 0x7fff_ffff;
    format!("{:06}", number % 1_000_000)
}

#[tokio::test]
async fn an_app_raises_the_level_and_removing_it_lowers_it() {
    let live = Live::start().await;
    let client = live.signed_up("ada@example.com").await;
    let mfa = client.auth().mfa();
    assert!(!mfa.assurance_level().await.unwrap().needs_second_factor());

    let factor = mfa.enroll_totp("phone").await.unwrap();
    let totp = factor.totp.clone().unwrap();
    assert!(
        totp.qr_code.starts_with("data:image/svg+xml;utf-8,"),
        "{}",
        totp.qr_code
    );
    let wrong = mfa
        .challenge_and_verify(&factor.id, "000000")
        .await
        .unwrap_err();
    assert_eq!(wrong.code(), Some(ErrorCode::MfaVerificationFailed));
    mfa.challenge_and_verify(&factor.id, &code(&totp.secret, 0))
        .await
        .unwrap();

    let level = mfa.assurance_level().await.unwrap();
    assert_eq!(
        (level.current.as_deref(), level.next.as_deref()),
        (Some("aal2"), Some("aal2"))
    );
    assert_eq!(level.methods.len(), 2);
    assert_eq!(mfa.factors().await.unwrap().totp.len(), 1);
    assert_eq!(
        client.auth().claims().await.unwrap().unwrap().aal(),
        Some("aal2")
    );

    mfa.unenroll(&factor.id).await.unwrap();
    assert!(mfa.factors().await.unwrap().all.is_empty());
    assert_eq!(
        client.auth().claims().await.unwrap().unwrap().aal(),
        Some("aal1")
    );
}

#[tokio::test]
async fn after_signing_in_with_a_password_the_app_is_asked_for() {
    let live = Live::start().await;
    let client = live.signed_up("ada@example.com").await;
    let factor = client.auth().mfa().enroll_totp("phone").await.unwrap();
    let secret = factor.totp.unwrap().secret;
    client
        .auth()
        .mfa()
        .challenge_and_verify(&factor.id, &code(&secret, 0))
        .await
        .unwrap();

    let other = live.client();
    let sign_in = other
        .auth()
        .sign_in_with_password()
        .email("ada@example.com");
    sign_in
        .password(crate::support::PASSWORD)
        .send()
        .await
        .unwrap();

    assert!(
        other
            .auth()
            .mfa()
            .assurance_level()
            .await
            .unwrap()
            .needs_second_factor()
    );
    let challenge = other.auth().mfa().challenge(&factor.id).await.unwrap();
    // A code counts once; the next one is good already.
    let verified = other
        .auth()
        .mfa()
        .verify(&factor.id, &challenge.id, &code(&secret, 1))
        .await;
    verified.unwrap();
    assert!(
        !other
            .auth()
            .mfa()
            .assurance_level()
            .await
            .unwrap()
            .needs_second_factor()
    );
}
