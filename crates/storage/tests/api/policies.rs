//! Which policies each endpoint needs, row by row (storage contract §10.2).
//!
//! Every case has the permissions that suffice, and fails without any one of them.

use http::Method;
use serde_json::json;

use crate::support::{
    ANN, Call, ErrorBody, Reply, Requests, Sql, StorageCall, StorageReply, TestApi,
};

/// A private bucket with one object of another user, and the policies of a test.
async fn with_rights(rights: &[&str]) -> TestApi {
    let api = TestApi::start().await;
    api.has_bucket("b", false).await;
    api.has_bucket("empty", false).await;
    api.has_object("b/there", "old").await;
    for right in rights {
        let (table, command) = right.split_once(' ').expect("a table and a command");
        let clause = match command {
            "insert" => "with check (true)",
            _ => "using (true)",
        };
        api.execute(&format!(
            "create policy p_{command} on storage.{table} for {command} to authenticated {clause}"
        ))
        .await;
    }
    api
}

/// With all of `needed` the call succeeds; without any one of them it is rejected.
async fn check(
    needed: &[&str],
    call: impl AsyncFn(&TestApi) -> Reply,
    denied: impl Fn(&str) -> Option<ErrorBody>,
) {
    let api = with_rights(needed).await;
    call(&api).await.expect_ok();
    for missing in needed {
        let rest: Vec<_> = needed.iter().filter(|right| *right != missing).collect();
        let rest: Vec<&str> = rest.into_iter().copied().collect();
        let api = with_rights(&rest).await;
        let reply = call(&api).await;
        match denied(missing) {
            Some(error) => _ = reply.fails_with(error),
            None => _ = reply.expect_json(200, json!([])),
        }
        assert_eq!(api.files(), (0, 1), "without {missing}");
        assert_eq!(api.ledger().await, (0, 0), "without {missing}");
    }
}

fn upload(api: &TestApi, method: Method, key: &str) -> Call {
    let call = api.call(method, &format!("/object/b/{key}"));
    call.user(ANN).body("text/plain", "new")
}

fn rls(_: &str) -> Option<ErrorBody> {
    Some(ErrorBody::RLS)
}

fn no_key(_: &str) -> Option<ErrorBody> {
    Some(ErrorBody::NO_SUCH_KEY)
}

fn no_bucket(_: &str) -> Option<ErrorBody> {
    Some(ErrorBody::NO_SUCH_BUCKET)
}

#[tokio::test]
async fn buckets() {
    let create = async |api: &TestApi| {
        let body = json!({ "name": "new" });
        api.post("/bucket", body).user(ANN).await
    };
    check(&["buckets insert"], create, rls).await;
    let get = async |api: &TestApi| api.get("/bucket/b").user(ANN).await;
    check(&["buckets select"], get, no_bucket).await;
    let list = async |api: &TestApi| api.get("/bucket").user(ANN).await;
    check(&["buckets select"], list, |_| None).await;
    let update = async |api: &TestApi| {
        let body = json!({ "public": true });
        api.put("/bucket/b", body).user(ANN).await
    };
    check(&["buckets select", "buckets update"], update, no_bucket).await;
    let delete = async |api: &TestApi| api.delete("/bucket/empty").user(ANN).await;
    check(&["buckets select", "buckets delete"], delete, no_bucket).await;
}

#[tokio::test]
async fn whether_a_bucket_is_empty_is_not_a_matter_of_policies() {
    let api = with_rights(&["buckets select", "buckets delete"]).await;
    let reply = api.delete("/bucket/b").user(ANN).await;
    reply.fails_with_code(409, "ResourceNotEmpty");
}

#[tokio::test]
async fn uploads() {
    let create = async |api: &TestApi| upload(api, Method::POST, "new").await;
    check(&["objects insert"], create, rls).await;
    let sign = async |api: &TestApi| {
        let path = "/object/upload/sign/b/new";
        api.post(path, json!({})).user(ANN).await
    };
    check(&["objects insert"], sign, rls).await;
}

#[tokio::test]
async fn upserts() {
    for method in [Method::POST, Method::PUT] {
        let upsert = async |api: &TestApi| upload(api, method.clone(), "new").upsert().await;
        check(&["objects insert", "objects select"], upsert, rls).await;
        let replace = async |api: &TestApi| upload(api, method.clone(), "there").upsert().await;
        let needed = ["objects insert", "objects select", "objects update"];
        let api = with_rights(&needed).await;
        replace(&api).await.expect_ok();
        for missing in needed {
            let rest: Vec<_> = needed
                .into_iter()
                .filter(|right| *right != missing)
                .collect();
            let api = with_rights(&rest).await;
            replace(&api).await.fails_with(ErrorBody::RLS);
            assert_eq!(api.files(), (0, 1), "without {missing}");
            assert_eq!(api.ledger().await, (0, 0), "a probe leaves nothing");
            let get = api.get("/object/b/there").service_role().await;
            get.expect_text(200, "old");
        }
    }
}

#[tokio::test]
async fn reads() {
    for path in [
        "/object/b/there",
        "/object/authenticated/b/there",
        "/object/info/b/there",
        "/object/info/authenticated/b/there",
    ] {
        let get = async |api: &TestApi| api.get(path).user(ANN).await;
        check(&["objects select"], get, no_key).await;
    }
    let sign = async |api: &TestApi| {
        let body = json!({ "expiresIn": 60 });
        api.post("/object/sign/b/there", body).user(ANN).await
    };
    check(&["objects select"], sign, no_key).await;
    let list = async |api: &TestApi| {
        let body = json!({ "prefix": "" });
        api.post("/object/list/b", body).user(ANN).await
    };
    check(&["objects select"], list, |_| None).await;
    let api = with_rights(&["objects insert"]).await;
    let reply = api.post("/object/list-v2/b", json!({})).user(ANN).await;
    reply.expect_json(
        200,
        json!({ "hasNext": false, "folders": [], "objects": [] }),
    );
    assert_eq!(api.head("/object/b/there").user(ANN).await.status, 400);
}

#[tokio::test]
async fn deletes() {
    let needed = ["objects select", "objects delete"];
    for missing in needed {
        let rest: Vec<_> = needed
            .into_iter()
            .filter(|right| *right != missing)
            .collect();
        let api = with_rights(&rest).await;
        let one = api.delete("/object/b/there").user(ANN).await;
        one.fails_with(ErrorBody(
            403,
            "AccessDenied",
            "Unauthorized",
            "Access denied",
        ));
        let many = api
            .delete("/object/b")
            .json(&json!({ "prefixes": ["there"] }));
        many.user(ANN).await.expect_json(200, json!([]));
        assert_eq!(api.count("select count(*) from storage.objects").await, 1);
    }
    let api = with_rights(&needed).await;
    let one = api.delete("/object/b/there").user(ANN).await;
    one.expect_json(200, json!({ "message": "Successfully deleted" }));
}

#[tokio::test]
async fn moves() {
    let go = async |api: &TestApi| {
        let body = json!({ "bucketId": "b", "sourceKey": "there", "destinationKey": "new" });
        api.post("/object/move", body).user(ANN).await
    };
    check(&["objects select", "objects update"], go, no_key).await;

    let api = with_rights(&["objects select"]).await;
    api.execute(
        "create policy inside on storage.objects for update to authenticated
         using (true) with check (name like 'mine/%')",
    )
    .await;
    go(&api).await.fails_with(ErrorBody::RLS);
    let body = json!({ "bucketId": "b", "sourceKey": "there", "destinationKey": "mine/new" });
    api.post("/object/move", body).user(ANN).await.expect_ok();
}

#[tokio::test]
async fn copies() {
    let go = async |api: &TestApi| {
        let body = json!({ "bucketId": "b", "sourceKey": "there", "destinationKey": "new" });
        api.post("/object/copy", body).user(ANN).await
    };
    let denied = |missing: &str| match missing {
        "objects select" => Some(ErrorBody::NO_SUCH_KEY),
        _ => Some(ErrorBody::RLS),
    };
    check(&["objects select", "objects insert"], go, denied).await;
    let onto = async |api: &TestApi| {
        let body = json!({ "bucketId": "b", "sourceKey": "there", "destinationKey": "there" });
        api.post("/object/copy", body).user(ANN).upsert().await
    };
    let needed = ["objects select", "objects insert", "objects update"];
    check(&needed, onto, denied).await;
}

#[tokio::test]
async fn public_and_signed_ways_ask_no_policy() {
    let api = with_rights(&[]).await;
    api.put("/bucket/b", json!({ "public": true }))
        .service_role()
        .await
        .expect_ok();
    api.get("/object/public/b/there")
        .await
        .expect_text(200, "old");
    api.get("/object/b/there")
        .user(ANN)
        .await
        .expect_text(200, "old");
    let body = json!({ "expiresIn": 60 });
    let signed = api
        .post("/object/sign/b/there", body)
        .service_role()
        .await
        .json();
    let url = signed["signedURL"].as_str().expect("a URL");
    api.get(url).await.expect_text(200, "old");
    let signed = api
        .post("/object/upload/sign/b/new", json!({}))
        .service_role();
    let signed = signed.await.json();
    let url = signed["url"].as_str().expect("a URL");
    let put = api.call(Method::PUT, url).body("text/plain", "new");
    put.await.expect_json(200, json!({ "Key": "b/new" }));
}

#[tokio::test]
async fn policies_see_what_is_about_to_be_written() {
    let api = with_rights(&[]).await;
    api.execute(
        "create policy picky on storage.objects for insert to authenticated with check (
            owner_id = auth.uid()::text and owner = auth.uid()
            and (storage.foldername(name))[1] = auth.uid()::text
            and metadata->>'mimetype' = 'text/plain'
            and (metadata->>'contentLength')::int <= 3
            and user_metadata->>'colour' = 'red'
            and version = '1'
        )",
    )
    .await;
    let good = || {
        use base64::{Engine, engine::general_purpose::STANDARD};
        let call = api.upload(&format!("b/{ANN}/a"), "abc").user(ANN);
        call.header("x-metadata", &STANDARD.encode(r#"{"colour":"red"}"#))
    };
    let long = good().body("text/plain", "abcd").await;
    long.fails_with(ErrorBody::RLS);
    let other_type = good().header("content-type", "text/csv").await;
    other_type.fails_with(ErrorBody::RLS);
    let colourless = good().header("x-metadata", "").await;
    colourless.fails_with(ErrorBody::RLS);
    let elsewhere = api.upload("b/elsewhere/a", "abc").user(ANN).await;
    elsewhere.fails_with(ErrorBody::RLS);
    assert_eq!(api.files(), (0, 1));
    good().await.expect_ok();
}
