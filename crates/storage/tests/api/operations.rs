//! What policies and triggers can read about a request (storage contract §10.1, §10.4).

use http::Method;
use serde_json::{Value, json};

use crate::support::{ANN, Call, Requests, Sql, TestApi, sign};

/// Policies that check what they can read.
async fn noted() -> TestApi {
    let api = TestApi::start().await;
    api.has_bucket("b", false).await;
    api.has_bucket("shelf", true).await;
    api.has_object("b/a", "x").await;
    // A policy in a read-only transaction can record nothing, so it compares the operation with the
    // one that the request itself expects.
    api.execute(
        "create function public.is_expected() returns boolean language sql stable as $$
            select storage.operation() =
                current_setting('request.headers')::jsonb->>'x-expect'
         $$;
         create policy o on storage.objects to authenticated
            using (public.is_expected()) with check (public.is_expected());
         create policy b on storage.buckets to authenticated
            using (public.is_expected()) with check (public.is_expected())",
    )
    .await;
    api
}

#[tokio::test]
async fn every_endpoint_says_what_it_does() {
    let api = noted().await;
    let post = |path: &str, body: Value| api.post(path, body);
    let file = |method: Method, path: &str| api.call(method, path).body("text/plain", "x");
    let ways = |to: &str| json!({ "bucketId": "b", "sourceKey": "a", "destinationKey": to });
    let cases: Vec<(Call, &str)> = vec![
        (api.get("/bucket/b"), "storage.bucket.get"),
        (
            post("/bucket", json!({ "name": "new" })),
            "storage.bucket.create",
        ),
        (
            api.put("/bucket/new", json!({ "public": true })),
            "storage.bucket.update",
        ),
        (api.delete("/bucket/new"), "storage.bucket.delete"),
        (file(Method::POST, "/object/b/new"), "storage.object.upload"),
        (
            file(Method::PUT, "/object/b/new"),
            "storage.object.upload_update",
        ),
        (
            post("/object/upload/sign/b/later", json!({})),
            "storage.object.sign_upload_url",
        ),
        (api.get("/object/b/a"), "storage.object.get_authenticated"),
        (
            api.get("/object/authenticated/b/a"),
            "storage.object.get_authenticated",
        ),
        (api.get("/object/info/b/a"), "object.get_authenticated_info"),
        (
            api.get("/object/info/authenticated/b/a"),
            "object.get_authenticated_info",
        ),
        (api.head("/object/b/a"), "object.head_authenticated_info"),
        (
            post("/object/sign/b/a", json!({ "expiresIn": 9 })),
            "storage.object.sign",
        ),
        (post("/object/copy", ways("copied")), "storage.object.copy"),
        (post("/object/move", ways("moved")), "storage.object.move"),
        (api.delete("/object/b/moved"), "storage.object.delete"),
    ];
    for (call, operation) in cases {
        let reply = call.user(ANN).header("x-expect", operation).await;
        assert_eq!(reply.status, 200, "{operation}: {reply:#?}");
    }
}

#[tokio::test]
async fn lists_say_what_they_do_too() {
    let api = noted().await;
    let with = |call: Call, operation: &str| call.user(ANN).header("x-expect", operation);
    let list = |operation: &str| {
        let call = api.post("/object/list/b", json!({ "prefix": "" }));
        with(call, operation)
    };
    assert_eq!(list("storage.object.list").await.json()[0]["name"], "a");
    list("storage.object.list_v2")
        .await
        .expect_json(200, json!([]));
    let call = api.post("/object/list-v2/b", json!({}));
    let found = with(call, "storage.object.list_v2").await;
    assert_eq!(found.json()["objects"][0]["name"], "a");
    let buckets = with(api.get("/bucket"), "storage.bucket.list").await;
    assert_eq!(buckets.json().as_array().map(Vec::len), Some(2));
    let body = json!({ "expiresIn": 9, "paths": ["a"] });
    let signed = with(api.post("/object/sign/b", body), "storage.object.sign_many").await;
    assert_eq!(signed.json()[0]["error"], Value::Null);
    let call = api.delete("/object/b").json(&json!({ "prefixes": ["a"] }));
    let gone = with(call, "storage.object.delete_many").await;
    assert_eq!(gone.json()[0]["name"], "a");
}

#[tokio::test]
async fn triggers_at_the_commit_see_the_operation_of_the_service() {
    let api = TestApi::start().await;
    api.has_bucket("b", false).await;
    api.execute(
        "create table public.seen (operation text, role text, version text);
         create function public.see() returns trigger language plpgsql security definer as $$
         begin
            insert into public.seen values (
                storage.operation(), current_setting('role'), new.version);
            return new;
         end $$;
         create trigger see before insert on storage.objects
            for each row execute function public.see();
         create policy o on storage.objects to authenticated using (true) with check (true)",
    )
    .await;
    api.upload("b/a", "x").user(ANN).await.expect_ok();
    let signed = api.post("/object/upload/sign/b/s", json!({})).user(ANN);
    let signed = signed.await.json();
    let url = signed["url"].as_str().expect("a URL");
    let put = api.call(Method::PUT, url).body("text/plain", "x");
    put.await.expect_ok();

    let rows = api
        .query("select operation, role, version from public.seen")
        .await;
    let seen: Vec<(String, String, bool)> = rows
        .iter()
        .map(|row| (row.get(0), row.get(1), row.get::<_, &str>(2) == "1"))
        .collect();
    // Dry runs ran as the caller and left nothing, not even in a user's table.
    let service = |operation: &str| (operation.to_owned(), "service_role".to_owned(), false);
    assert_eq!(
        seen,
        [
            service("storage.object.upload"),
            service("storage.object.upload_signed"),
        ]
    );
}

#[tokio::test]
async fn every_setting_of_a_request_can_be_read() {
    let api = TestApi::start().await;
    api.has_bucket("b", false).await;
    api.execute(
        "create table public.seen (settings jsonb);
         grant all on public.seen to authenticated;
         create function public.see() returns trigger language plpgsql as $$
         declare
            names text[] := array['role', 'request.jwt', 'request.jwt.claim.role',
                'request.jwt.claim.sub', 'request.jwt.claims', 'request.method',
                'request.path', 'storage.operation', 'storage.allow_delete_query',
                'statement_timeout', 'search_path'];
         begin
            insert into public.seen
            select jsonb_object_agg(name, current_setting(name, true)) from unnest(names) name;
            return old;
         end $$;
         create trigger see after delete on storage.objects
            for each row execute function public.see();
         create policy o on storage.objects to authenticated using (true)",
    )
    .await;
    api.has_object("b/a", "x").await;
    let token = sign(&json!({ "role": "authenticated", "sub": ANN }));
    let delete = api.delete("/object/b/a").header("x-mark", "here");
    delete.bearer(&token).await.expect_ok();

    let mut seen: Value = api
        .query_one("select settings from public.seen")
        .await
        .get(0);
    let claims = seen["request.jwt.claims"].take();
    let claims: Value = serde_json::from_str(claims.as_str().expect("text")).expect("JSON");
    assert_eq!(claims, json!({ "role": "authenticated", "sub": ANN }));
    assert_eq!(
        seen,
        json!({
            "role": "authenticated",
            "request.jwt": token,
            "request.jwt.claim.role": "authenticated",
            "request.jwt.claim.sub": ANN,
            "request.jwt.claims": null,
            "request.method": "DELETE",
            "request.path": "/object/b/a",
            "storage.operation": "storage.object.delete",
            "storage.allow_delete_query": "true",
            "statement_timeout": "30s",
            "search_path": "storage, public, extensions",
        })
    );
}
