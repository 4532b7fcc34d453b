//! Unverified addresses must not block other users.

use serde_json::json;

use crate::support::{Api, AuthCall, Requests, Sql, noise};

const PHONE: [(&str, &str); 2] = [
    ("auth.sms.enable_signup", "true"),
    ("auth.sms.enable_confirmations", "false"),
];

async fn with_claim(email: &str) -> (Api, serde_json::Value) {
    let api = Api::start(&PHONE).await;
    let body = json!({
        "phone": "15551234567", "password": "correct horse", "data": { "email": email },
    });
    let tokens = api.post("/signup", body).await.ok();
    (api, tokens)
}

#[tokio::test]
async fn an_address_in_ones_data_is_not_ones_identitys() {
    let (_, tokens) = with_claim("ann@mail.dev").await;

    let user = &tokens["user"];
    assert_eq!(user["user_metadata"]["email"], "ann@mail.dev");
    let identity = &user["identities"][0];
    assert!(identity["identity_data"].get("email").is_none());
    assert!(identity.get("email").is_none());
}

/// Also with existing rows, e.g. of GoTrue, in which they do.
#[tokio::test]
async fn its_owner_can_still_sign_up_and_move_there() {
    let (api, _) = with_claim("ann@mail.dev").await;
    api.execute(
        "update auth.identities
         set identity_data = identity_data || '{\"email\": \"ann@mail.dev\"}'",
    )
    .await;
    let eve = api.sign_up("eve@mail.dev", "correct horse").await;

    let body = json!({ "email": "ann@mail.dev" });
    api.put("/user", body).session(&eve).await.ok();
    let ann = api.sign_up("ann@mail.dev", "correct horse").await;
    assert_eq!(ann["user"]["email"], "ann@mail.dev");
}

#[tokio::test]
async fn an_address_of_any_length_is_only_data() {
    let long = noise(9000);

    let (_, tokens) = with_claim(&long).await;

    assert_eq!(tokens["user"]["user_metadata"]["email"], long);
}

/// Users are found by their own address only, not by one of their identities, which no other user
/// can take either.
#[tokio::test]
async fn no_code_goes_to_another_address_than_was_typed() {
    let api = Api::start(&[]).await;
    let ann = api.sign_up("ann@mail.dev", "correct horse").await;
    let id = ann["user"]["id"].as_str().expect("an id");
    api.execute(&format!(
        "insert into auth.identities (id, provider_id, user_id, provider, identity_data)
         values (gen_random_uuid(), '7', '{id}', 'github',
           '{{\"sub\": \"7\", \"email\": \"work@mail.dev\", \"email_verified\": true}}')"
    ))
    .await;

    let response = api.post("/otp", json!({ "email": "work@mail.dev" })).await;

    assert_eq!(response.ok(), json!({}));
    assert!(api.mails().await.is_empty());
    assert_eq!(api.count("select count(*) from auth.users").await, 1);
}
