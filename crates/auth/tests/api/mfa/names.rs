//! Names of factors: unique per user, and limited in length.

use super::*;
use crate::support::{AuthCall, AuthReply, Requests, noise};

#[tokio::test]
async fn a_factor_name_has_a_maximum_length() {
    let (api, session) = ann(&[]).await;
    let enrol = |name: String| {
        let body = json!({ "factor_type": "totp", "friendly_name": name });
        api.post("/factors", body).session(&session)
    };

    enrol(noise(9000))
        .await
        .expect_error(400, "validation_failed");
    enrol(noise(256))
        .await
        .expect_error(400, "validation_failed");
    let factor = enrol(noise(255)).await.ok();

    let (user, id) = (&session["user"]["id"], &factor["id"]);
    let path = format!(
        "/admin/users/{}/factors/{}",
        user.as_str().expect("an id"),
        id.as_str().expect("an id")
    );
    let rename = |name: String| {
        let call = api.put(&path, json!({ "friendly_name": name }));
        call.service_role()
    };
    rename(noise(9000))
        .await
        .expect_error(400, "validation_failed");
    rename("short".to_owned()).await.ok();
}
