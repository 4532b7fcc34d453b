//! Names of factors: unique among a user's, and short enough to be.

use super::*;
use crate::support::noise;

#[tokio::test]
async fn a_name_has_a_length_that_can_be_kept_apart_from_others() {
    let (api, session) = ann(&[]).await;
    let enrol = |name: String| {
        let body = json!({ "factor_type": "totp", "friendly_name": name });
        api.post("/factors", body).session(&session)
    };

    enrol(noise(9000)).await.refuses(400, "validation_failed");
    enrol(noise(256)).await.refuses(400, "validation_failed");
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
    rename(noise(9000)).await.refuses(400, "validation_failed");
    rename("short".to_owned()).await.ok();
}
