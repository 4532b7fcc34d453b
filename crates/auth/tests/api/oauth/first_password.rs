//! The first password of a user who signed up through a provider (auth contract §12,
//! `creates_email_identity`).

use serde_json::json;

use super::{CONFIRM, providers, sign_in, start};
use crate::support::Requests;

const MAKES_IDENTITY: (&str, &str) = ("plinth.auth.password.creates_email_identity", "true");
const PASSWORD: &str = "correct horse";

#[tokio::test]
async fn it_adds_the_identity_that_belongs_to_it_where_the_project_wants_that() {
    let (api, idp) = start("github", &[CONFIRM, MAKES_IDENTITY]).await;
    idp.github(7, "ann@mail.dev", true);
    let (token, user) = sign_in(&api, "github").await;
    assert_eq!(providers(&user), json!(["github"]));

    let put = |password: &str| {
        let body = json!({ "password": password });
        api.put("/user", body).bearer(&token)
    };
    let user = put(PASSWORD).await.ok();

    assert_eq!(providers(&user), json!(["github", "email"]));
    assert_eq!(
        user["app_metadata"],
        json!({ "provider": "github", "providers": ["github", "email"] })
    );
    let identity = super::identity(&user, "email");
    assert_eq!(identity["id"], user["id"]);
    assert_eq!(identity["identity_data"]["email"], "ann@mail.dev");
    assert_eq!(identity["identity_data"]["email_verified"], true);
    let body = json!({ "email": "ann@mail.dev", "password": PASSWORD });
    api.post("/token?grant_type=password", body).await.ok();
    let user = put("battery staple").await.ok();
    assert_eq!(providers(&user), json!(["github", "email"]), "once");
}

#[tokio::test]
async fn elsewhere_it_adds_none() {
    let (api, idp) = start("github", &[CONFIRM]).await;
    idp.github(7, "ann@mail.dev", true);
    let (token, _) = sign_in(&api, "github").await;

    let body = json!({ "password": PASSWORD });
    let user = api.put("/user", body).bearer(&token).await.ok();

    assert_eq!(providers(&user), json!(["github"]));
    let body = json!({ "email": "ann@mail.dev", "password": PASSWORD });
    api.post("/token?grant_type=password", body).await.ok();
}
