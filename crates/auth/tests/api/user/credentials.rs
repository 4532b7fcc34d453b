//! Requirements for changing address, number and password.

use super::*;
use crate::support::{AuthReply, Requests, Sql};

#[tokio::test]
async fn accounts_of_an_organisation_are_changed_there() {
    let (api, tokens) = ann(&[]).await;
    api.execute("update auth.users set is_sso_user = true")
        .await;

    for body in [
        json!({ "email": "new@mail.dev" }),
        json!({ "phone": "15551234567" }),
        json!({ "password": "battery staple" }),
        json!({ "nonce": "123456" }),
    ] {
        put(&api, &tokens, body)
            .await
            .expect_error(422, "user_sso_managed");
    }
    put(&api, &tokens, json!({ "data": { "nick": "a" } }))
        .await
        .ok();
}

#[tokio::test]
async fn who_came_by_a_message_need_not_know_the_present_password() {
    let (api, _) = ann(&[OFTEN, ("auth.email.require_current_password", "true")]).await;
    for (path, kind, new) in [
        ("/otp", "magiclink", "by a magic link"),
        ("/recover", "recovery", "by a recovery"),
    ] {
        api.post(path, json!({ "email": "ann@mail.dev" }))
            .await
            .ok();
        let code = api.mail_to("ann@mail.dev").await.otp();
        let body = json!({ "type": kind, "email": "ann@mail.dev", "token": code });
        let tokens = api.post("/verify", body).await.ok();

        put(&api, &tokens, json!({ "password": new })).await.ok();
    }

    let tokens = sign_in(&api, "ann@mail.dev", "by a recovery").await.ok();
    put(&api, &tokens, json!({ "password": "battery staple" }))
        .await
        .expect_error(400, "current_password_required");
}
