//! Signing up, in and out; recovery and changes through the development mailbox.

use plinth_client::auth::{
    AuthEvent, EmailOtp, ErrorCode, FromRedirect, Otp, RedirectType, Scope, SignUp,
};
use plinth_client::{AuthError, MemoryStore};
use serde_json::json;

use crate::support::{Live, PASSWORD};

#[tokio::test]
async fn a_user_signs_up_out_and_in_again() {
    let live = Live::start().await;
    let client = live.client();

    let sign_up = client
        .auth()
        .sign_up()
        .email("ada@example.com")
        .password(PASSWORD);
    let signed_up = sign_up
        .data(&json!({ "name": "Ada" }))
        .send()
        .await
        .unwrap();
    let SignUp::Session(signed_in) = signed_up else {
        panic!("confirmations are off");
    };
    assert_eq!(signed_in.user.email(), Some("ada@example.com"));
    assert_eq!(signed_in.user.user_metadata().unwrap()["name"], "Ada");
    assert_eq!(
        client.auth().user().await.unwrap().id(),
        signed_in.user.id()
    );

    client.auth().sign_out(Scope::Global).await.unwrap();
    assert_eq!(client.auth().session().await.unwrap(), None);
    // The server has ended it, too.
    let old = client
        .auth()
        .user_for(signed_in.session.access_token())
        .await;
    assert!(matches!(old, Err(AuthError::SessionMissing)), "{old:?}");

    let sign_in = client.auth().sign_in_with_password();
    let again = sign_in
        .email("ada@example.com")
        .password(PASSWORD)
        .send()
        .await
        .unwrap();
    assert_eq!(again.user.id(), signed_in.user.id());
}

#[tokio::test]
async fn errors_carry_their_codes() {
    let live = Live::start().await;
    live.signed_up("ada@example.com").await;
    let client = live.client();
    let sign_in = |password: &str| {
        client
            .auth()
            .sign_in_with_password()
            .email("ada@example.com")
            .password(password)
            .send()
    };

    let error = sign_in("wrong").await.unwrap_err();
    assert_eq!(
        (error.code(), error.status()),
        (Some(ErrorCode::InvalidCredentials), Some(400))
    );

    let weak = client
        .auth()
        .sign_up()
        .email("b@example.com")
        .password("x")
        .send()
        .await;
    let Err(AuthError::WeakPassword {
        reasons, status, ..
    }) = weak
    else {
        panic!("{weak:?}");
    };
    assert_eq!((reasons, status), (vec!["length".to_owned()], 422));
}

#[tokio::test]
async fn an_address_is_confirmed_by_the_code_of_the_mail() {
    let live = Live::with(&[("auth.email.enable_confirmations", "true")]).await;
    let client = live.client();

    let sign_up = client
        .auth()
        .sign_up()
        .email("ada@example.com")
        .password(PASSWORD);
    assert!(matches!(
        sign_up.send().await.unwrap(),
        SignUp::ConfirmationSent(_)
    ));
    let mail = live.mail_to("ada@example.com").await;
    let otp = Otp::Email {
        email: "ada@example.com".to_owned(),
        token: mail["otp"].as_str().unwrap().to_owned(),
        kind: EmailOtp::Signup,
    };
    let verified = client.auth().verify_otp(otp).send().await.unwrap();

    assert!(verified.user.unwrap().email_confirmed_at().is_some());
    assert_eq!(
        client.auth().session().await.expect("a redirect"),
        verified.session
    );
}

/// Follows a link of a mail as a browser would, up to where it leads back.
async fn follow(link: &str) -> String {
    let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none());
    let response = client
        .build()
        .expect("a redirect")
        .get(link)
        .send()
        .await
        .expect("a redirect");
    response.headers()["location"]
        .to_str()
        .expect("a redirect")
        .to_owned()
}

#[tokio::test]
async fn a_magic_link_comes_back_with_a_code_that_only_its_starter_can_use() {
    let live = Live::start().await;
    let (client, stranger) = (live.client(), live.client());

    let otp = client.auth().sign_in_with_otp().email("ada@example.com");
    otp.redirect_to("http://localhost:3000")
        .send()
        .await
        .unwrap();
    let mail = live.mail_to("ada@example.com").await;
    let back = follow(mail["links"][0].as_str().unwrap()).await;
    assert!(
        back.starts_with("http://localhost:3000") && back.contains("code="),
        "{back}"
    );

    let stolen = stranger.auth().session_from_redirect(&back).await;
    assert!(matches!(stolen, Err(AuthError::VerifierMissing)));
    let FromRedirect::SignedIn(exchanged) =
        client.auth().session_from_redirect(&back).await.unwrap()
    else {
        panic!("not signed in");
    };
    assert_eq!(exchanged.user.email(), Some("ada@example.com"));
    assert_eq!(exchanged.redirect_type, RedirectType::SignIn);
}

#[tokio::test]
async fn a_lost_password_is_replaced() {
    let live = Live::start().await;
    live.signed_up("ada@example.com").await;
    let client = live.client();

    client
        .auth()
        .reset_password_for_email("ada@example.com")
        .send()
        .await
        .unwrap();
    let mail = live.mail_to("ada@example.com").await;
    let back = follow(mail["links"][0].as_str().unwrap()).await;
    let FromRedirect::SignedIn(exchanged) =
        client.auth().session_from_redirect(&back).await.unwrap()
    else {
        panic!("not signed in");
    };
    assert_eq!(exchanged.redirect_type, RedirectType::Recovery);
    client
        .auth()
        .update_user()
        .password("another good password")
        .send()
        .await
        .unwrap();

    let sign_in = live.client().auth().sign_in_with_password();
    sign_in
        .email("ada@example.com")
        .password("another good password")
        .send()
        .await
        .unwrap();
}

#[tokio::test]
async fn an_expired_link_is_an_error_from_the_redirect() {
    let live = Live::start().await;
    let client = live.client();
    client
        .auth()
        .sign_in_with_otp()
        .email("ada@example.com")
        .send()
        .await
        .unwrap();
    let mail = live.mail_to("ada@example.com").await;
    let link = mail["links"][0].as_str().unwrap();
    follow(link).await;

    let back = follow(link).await;
    let error = client
        .auth()
        .session_from_redirect(&back)
        .await
        .unwrap_err();

    let AuthError::Redirect { code, .. } = error else {
        panic!("{error:?}");
    };
    assert_eq!(code, "otp_expired");
}

#[tokio::test]
async fn the_users_data_changes_in_the_stored_session_too() {
    use futures_util::StreamExt;

    let live = Live::start().await;
    let client = live.signed_up("ada@example.com").await;
    let mut events = client.auth().events();
    assert_eq!(events.next().await.unwrap().0, AuthEvent::InitialSession);

    client
        .auth()
        .update_user()
        .data(&json!({ "name": "Ada" }))
        .send()
        .await
        .unwrap();

    let (event, session) = events.next().await.unwrap();
    assert_eq!(event, AuthEvent::UserUpdated);
    let user = session.unwrap().user().unwrap();
    assert_eq!(user.user_metadata().unwrap()["name"], "Ada");
}

#[tokio::test]
async fn a_user_signs_in_without_an_address() {
    let live = Live::with(&[("auth.enable_anonymous_sign_ins", "true")]).await;
    let client = live.client();

    let signed_in = client.auth().sign_in_anonymously().send().await.unwrap();

    assert!(signed_in.user.is_anonymous());
}

#[tokio::test]
async fn the_providers_of_an_account_are_listed() {
    let live = Live::start().await;
    let client = live.signed_up("ada@example.com").await;

    let identities = client.auth().identities().await.unwrap();

    let providers: Vec<&str> = identities.iter().map(|one| one.provider.as_str()).collect();
    assert_eq!(providers, ["email"]);
    let error = client
        .auth()
        .unlink_identity(&identities[0].identity_id)
        .await
        .unwrap_err();
    assert!(error.code().is_some(), "{error:?}");
}

#[tokio::test]
async fn other_devices_can_be_signed_out() {
    let live = Live::start().await;
    let laptop = live.signed_up("ada@example.com").await;
    let phone = live.client_with(&MemoryStore::new());
    let sign_in = phone.auth().sign_in_with_password();
    sign_in
        .email("ada@example.com")
        .password(PASSWORD)
        .send()
        .await
        .unwrap();

    laptop.auth().sign_out(Scope::Others).await.unwrap();

    assert!(matches!(
        phone.auth().user().await,
        Err(AuthError::SessionMissing)
    ));
    assert_eq!(phone.auth().session().await.unwrap(), None);
    laptop.auth().user().await.unwrap();
}
