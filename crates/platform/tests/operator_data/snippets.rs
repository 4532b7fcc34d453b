//! Snippets.

use http::Method;
use plinth_platform::TokenLimits;
use plinth_project::ProjectName;
use serde_json::{Value, json};

use crate::{
    get, path, platform_with, post,
    support::{TestPlatform, functions::json_body},
    with_token,
};

async fn patch(app: &TestPlatform, id: &str, body: Value) -> plinth_testkit::Reply {
    app.request(
        Method::PATCH,
        &path(&format!("snippets/{id}")),
        json_body(body),
    )
    .await
}

#[tokio::test]
async fn snippets_are_saved_changed_and_deleted() {
    let app = platform_with("select 1").await;
    let body = json!({ "name": "Köln's \"best\" 😀", "folder": "reports/weekly", "sql": "select * from orders" });
    let reply = post(&app, "snippets", body).await;
    let made = reply
        .expect_status(201)
        .expect_header("etag", "\"1\"")
        .json();
    let id = made["id"].as_str().expect("an id");
    assert_eq!(
        (&made["visibility"], &made["favorite"]),
        (&json!("private"), &json!(false))
    );

    let changed = patch(&app, id, json!({ "sql": "select 2", "version": 1 }))
        .await
        .ok();
    assert_eq!(
        (&changed["version"], &changed["sql"]),
        (&json!(2), &json!("select 2"))
    );
    assert_eq!(changed["name"], made["name"]);
    let stale = patch(&app, id, json!({ "sql": "select 3", "version": 1 }))
        .await
        .expect_status(412)
        .json();
    assert_eq!(stale["details"]["version"], 2);
    patch(&app, id, json!({ "sql": "select 3" }))
        .await
        .expect_status(400);
    let marked = patch(&app, id, json!({ "favorite": true })).await.ok();
    assert_eq!(
        (&marked["favorite"], &marked["version"]),
        (&json!(true), &json!(2))
    );

    let target = path(&format!("snippets/{id}"));
    app.request(Method::DELETE, &target, None).await.expect_ok();
    app.request(Method::DELETE, &target, None)
        .await
        .expect_status(404);
    get(&app, "snippets/nonsense").await.expect_status(404);
    for body in [
        json!({ "name": "", "sql": "" }),
        json!({ "name": "x".repeat(257), "sql": "" }),
        json!({ "name": "a\u{0}", "sql": "" }),
        json!({ "name": "a", "sql": "", "visibility": "all" }),
    ] {
        post(&app, "snippets", body).await.expect_status(400);
    }
}

#[tokio::test]
async fn snippets_are_found_by_their_words() {
    let app = platform_with("select 1").await;
    for (name, sql) in [
        ("Sizes", "select pg_total_relation_size('orders')"),
        ("Locks", "select * from pg_locks"),
    ] {
        post(
            &app,
            "snippets",
            json!({ "name": name, "sql": sql, "favorite": name == "Locks" }),
        )
        .await
        .expect_status(201);
    }
    let names = async |query: &str| -> Vec<String> {
        let list = get(&app, &format!("snippets{query}")).await.ok();
        let list = list["snippets"].as_array().expect("a list").clone();
        assert!(list.iter().all(|item| item.get("sql").is_none()));
        list.iter()
            .map(|item| item["name"].as_str().unwrap_or_default().to_owned())
            .collect()
    };
    assert_eq!(names("").await, ["Locks", "Sizes"]);
    assert_eq!(names("?q=orders").await, ["Sizes"]);
    assert_eq!(names("?q=lock").await, ["Locks"]);
    assert_eq!(names("?favorite=true").await, ["Locks"]);
    assert_eq!(names("?favorite=false").await, ["Sizes"]);
    assert_eq!(names("?folder=x").await, [""; 0]);
    let page = get(&app, "snippets?limit=1").await.ok();
    let next = page["next"].as_str().expect("a cursor");
    assert_eq!(names(&format!("?limit=1&cursor={next}")).await, ["Sizes"]);
    get(&app, "snippets?limit=0").await.expect_status(400);
    get(&app, "snippets?cursor=x").await.expect_status(400);
}

#[tokio::test]
async fn private_snippets_are_seen_by_their_owner_only() {
    let app = platform_with("select 1").await;
    let reference = app.reference(&ProjectName::Default).await;
    let (_, token) = app.token_with("other", TokenLimits::default()).await;
    let private = post(
        &app,
        "snippets",
        json!({ "name": "mine", "sql": "select 1" }),
    )
    .await
    .expect_status(201)
    .json();
    let shared = json!({ "name": "ours", "sql": "select 2", "visibility": "project" });
    let shared = post(&app, "snippets", shared)
        .await
        .expect_status(201)
        .json();

    let list = format!("/v1/snippets?project_ref={reference}&sort_by=name&sort_order=asc");
    let seen = with_token(&app, Method::GET, &list, token.expose())
        .await
        .ok();
    assert_eq!(seen["data"].as_array().map(Vec::len), Some(1));
    assert_eq!(seen["data"][0]["name"], "ours");
    assert_eq!(seen["data"][0]["project"]["id"], reference.as_str());
    let one = |snippet: &Value| format!("/v1/snippets/{}", snippet["id"].as_str().expect("an id"));
    let content = with_token(&app, Method::GET, &one(&shared), token.expose())
        .await
        .ok();
    assert_eq!(
        content["content"],
        json!({ "schema_version": "1.0", "sql": "select 2" })
    );
    with_token(&app, Method::GET, &one(&private), token.expose())
        .await
        .expect_status(404);
    let own = app.request(Method::GET, &one(&private), None).await.ok();
    assert_eq!(own["visibility"], "user");

    // Nor may it be made private by somebody else.
    let target = path(&format!(
        "snippets/{}",
        shared["id"].as_str().expect("an id")
    ));
    let change = json!({ "visibility": "private", "version": 1 });
    with_token(&app, Method::PATCH, &target, token.expose())
        .json(&change)
        .await
        .expect_status(403);
}
