//! Organizations over the Management API (console contract §2.4.1).

mod support;

use http::Method;
use serde_json::{Value, json};
use support::{TestPlatform, functions::json_body};

#[tokio::test]
async fn projects_are_made_in_organizations_that_exist() {
    let app = TestPlatform::start().await;
    let create =
        async |uri: &str, body: Value| app.request(Method::POST, uri, json_body(body)).await;

    let made = create("/v1/organizations", json!({ "name": "Shop" })).await;

    let made = made.expect_status(201).json();
    let slug = made["slug"].as_str().expect("a slug");
    assert_eq!(made, json!({ "id": slug, "slug": slug, "name": "Shop" }));
    let listed = app
        .request(Method::GET, "/v1/organizations", None)
        .await
        .ok();
    let default = json!({ "id": "default", "slug": "default", "name": "Default" });
    assert_eq!(listed, json!([default, made]));
    let shown = app
        .request(Method::GET, &format!("/v1/organizations/{slug}"), None)
        .await;
    assert_eq!(shown.ok()["plan"], "free");

    let project = json!({ "name": "Till", "organization_slug": slug, "organization_id": slug });
    let project = create("/v1/projects", project)
        .await
        .expect_status(201)
        .json();
    assert_eq!(project["organization_slug"], slug);
    let project = create("/v1/projects", json!({ "name": "Other" }))
        .await
        .expect_status(201)
        .json();
    assert_eq!(project["organization_slug"], "default");

    let nowhere = json!({ "name": "Till", "organization_slug": "none" });
    create("/v1/projects", nowhere).await.expect_status(404);
    for name in [
        json!(""),
        json!("a\0b"),
        json!("n".repeat(257)),
        json!(1),
        Value::Null,
    ] {
        create("/v1/organizations", json!({ "name": name }))
            .await
            .expect_status(400);
    }
    for uri in ["", "/entitlements", "/members"] {
        let uri = format!("/v1/organizations/none{uri}");
        app.request(Method::GET, &uri, None)
            .await
            .expect_status(404);
    }
}

#[tokio::test]
async fn nothing_is_behind_a_plan_and_the_owner_is_a_member() {
    let app = TestPlatform::start().await;
    let ask = async |rest: &str| {
        let uri = format!("/v1/organizations/default/{rest}");
        app.request(Method::GET, &uri, None).await.ok()
    };

    let entitlements = ask("entitlements").await;
    let entitlements = entitlements["entitlements"].as_array().expect("a list");
    assert!(entitlements.len() > 50);
    for feature in entitlements {
        assert_eq!(feature["hasAccess"], true, "{feature}");
        assert_eq!(feature["type"], feature["feature"]["type"], "{feature}");
        assert_eq!(feature["config"]["enabled"], true, "{feature}");
    }
    let members = ask("members").await;
    assert_eq!(members[0]["role_name"], "Owner");
}
