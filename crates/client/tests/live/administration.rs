//! The service key against the real service.

use plinth_client::AuthError;
use plinth_client::auth::{EmailOtp, ErrorCode, LinkType, Otp, ProviderType};
use serde_json::json;

use crate::support::{Live, PASSWORD};

#[tokio::test]
async fn accounts_are_made_found_changed_and_removed() {
    let live = Live::start().await;
    let users = live.admin().users();

    let create = users
        .create()
        .email("ada@example.com")
        .password(PASSWORD)
        .email_confirmed();
    let user = create
        .app_metadata(&json!({ "plan": "pro" }))
        .send()
        .await
        .unwrap();
    assert_eq!(
        users.get(user.id()).await.unwrap().app_metadata().unwrap()["plan"],
        "pro"
    );
    for number in 0..3 {
        users
            .create()
            .email(format!("user{number}@example.com"))
            .send()
            .await
            .unwrap();
    }
    let page = users.list().page(1).per_page(2).send().await.unwrap();
    assert_eq!((page.users.len(), page.total), (2, Some(4)));
    assert_eq!((page.next_page, page.last_page), (Some(2), Some(2)));

    users
        .update(user.id())
        .ban_duration("1h")
        .send()
        .await
        .unwrap();
    let sign_in = live
        .client()
        .auth()
        .sign_in_with_password()
        .email("ada@example.com");
    let error = sign_in.password(PASSWORD).send().await.unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::UserBanned));

    users.delete(user.id()).send().await.unwrap();
    let gone = users.get(user.id()).await.unwrap_err();
    assert_eq!(gone.code(), Some(ErrorCode::UserNotFound));
}

#[tokio::test]
async fn applications_and_providers_are_administered() {
    let live = Live::with(&[
        ("auth.oauth_server.enabled", "true"),
        ("plinth.auth.custom_providers.allow_local_urls", "true"),
    ])
    .await;
    let clients = live.admin().oauth_clients();

    let create = clients.create(["https://app.example/back"]).name("App");
    let made = create.send().await.unwrap();
    assert_eq!(made.client_type, "confidential");
    let secret = made.client_secret.expect("a secret");
    let shown = clients.get(&made.client_id).await.unwrap();
    assert_eq!(
        (shown.client_name.as_deref(), shown.client_secret),
        (Some("App"), None)
    );
    let update = clients.update(&made.client_id).name("Other");
    assert_eq!(
        update.send().await.unwrap().client_name.as_deref(),
        Some("Other")
    );
    let renewed = clients.regenerate_secret(&made.client_id).await.unwrap();
    assert!(
        renewed
            .client_secret
            .is_some_and(|renewed| renewed != secret)
    );
    let public = clients
        .create(["app://back"])
        .public()
        .send()
        .await
        .unwrap();
    assert_eq!(
        (public.client_type.as_str(), public.client_secret),
        ("public", None)
    );
    let page = clients.list().page(1).per_page(1).send().await.unwrap();
    assert_eq!(
        (page.clients.len(), page.total, page.next_page),
        (1, Some(2), Some(2))
    );
    clients.delete(&made.client_id).await.unwrap();
    let gone = clients.get(&made.client_id).await.unwrap_err();
    assert_eq!(gone.code(), Some(ErrorCode::OauthClientNotFound));

    let providers = live.admin().providers();
    let create = providers
        .create(ProviderType::Oauth2, "custom:ours")
        .name("Ours");
    let create = create
        .client_id("us")
        .client_secret("hush")
        .scopes(["email"]);
    let create = create
        .authorization_url("https://127.0.0.1:9/authorize")
        .token_url("https://127.0.0.1:9/token")
        .userinfo_url("https://127.0.0.1:9/me");
    let made = create.send().await.unwrap();
    assert_eq!(
        (made.provider_type.as_str(), made.enabled),
        ("oauth2", true)
    );
    assert_eq!(providers.list_of(ProviderType::Oidc).await.unwrap(), []);
    assert_eq!(providers.list().await.unwrap(), [made]);
    let update = providers.update("custom:ours").enabled(false);
    assert!(!update.send().await.unwrap().enabled);
    assert_eq!(
        providers.get("custom:ours").await.unwrap().scopes,
        ["email"]
    );
    providers.delete("custom:ours").await.unwrap();
    let gone = providers.get("custom:ours").await.unwrap_err();
    assert_eq!(gone.code(), Some(ErrorCode::CustomProviderNotFound));
}

#[tokio::test]
async fn links_can_be_made_without_a_mail() {
    let live = Live::start().await;
    live.signed_up("ada@example.com").await;
    let email = "ada@example.com".to_owned();

    let link = live
        .admin()
        .users()
        .generate_link(LinkType::Magiclink { email });
    let link = link.send().await.unwrap();
    assert_eq!(link.user.as_ref().unwrap().email(), Some("ada@example.com"));
    let otp = Otp::TokenHash {
        token_hash: link.hashed_token,
        kind: EmailOtp::Magiclink,
    };
    let client = live.client();
    let verified = client.auth().verify_otp(otp).send().await.unwrap();

    assert_eq!(verified.user.unwrap().id(), link.user.unwrap().id());
}

#[tokio::test]
async fn people_are_invited() {
    let live = Live::start().await;

    let user = live
        .admin()
        .users()
        .invite("ada@example.com")
        .send()
        .await
        .unwrap();

    assert_eq!(user.email(), Some("ada@example.com"));
    assert_eq!(live.mail_to("ada@example.com").await["template"], "invite");
}

#[tokio::test]
async fn a_lost_factor_is_removed_for_its_owner() {
    let live = Live::start().await;
    let client = live.signed_up("ada@example.com").await;
    let factor = client.auth().mfa().enroll_totp("lost").await.unwrap();
    let id = client.auth().user().await.unwrap().id().to_owned();
    let admin = live.admin();

    let factors = admin.user(&id).factors().list().await.unwrap();
    assert_eq!(factors[0].id, factor.id);
    admin.user(&id).factors().delete(&factor.id).await.unwrap();

    assert!(client.auth().mfa().factors().await.unwrap().all.is_empty());
    assert!(admin.user(&id).passkeys().list().await.unwrap().is_empty());
}

#[tokio::test]
async fn the_anonymous_key_administers_nothing() {
    let live = Live::start().await;
    let admin = plinth_client::AdminClient::new(live.url(), "sb_publishable_of_this_project");

    let error = admin.unwrap().users().list().send().await.unwrap_err();

    assert!(
        matches!(
            error,
            AuthError::Api {
                status: 401 | 403,
                ..
            }
        ),
        "{error:?}"
    );
}
