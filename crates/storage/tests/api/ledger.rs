//! Every blob is always referenced by an object, pending, or due for garbage collection (storage
//! contract §14.4).

use http::Method;
use serde_json::json;

use crate::support::{Requests, Sql, StorageCall, TestApi};

async fn api() -> TestApi {
    let api = TestApi::start().await;
    api.has_bucket("b", true).await;
    api
}

#[tokio::test]
async fn an_overwritten_version_goes_after_a_grace() {
    let api = api().await;
    api.has_object("b/a", "one").await;
    let old = api.query_one("select version from storage.objects").await;
    let old: String = old.get(0);
    api.upload("b/a", "two")
        .service_role()
        .upsert()
        .await
        .expect_ok();

    let row = api
        .query_one(
            "select version::text, extract(epoch from not_before - now())::int
             from plinth.blob_gc",
        )
        .await;
    assert_eq!(row.get::<_, &str>(0), old);
    assert!(
        (800..=900).contains(&row.get::<_, i32>(1)),
        "fifteen minutes"
    );
    assert_eq!(api.collect_garbage().await, 0);
    assert_eq!(api.files(), (0, 2));
    assert_eq!(api.collect_garbage_later().await, 1);
    assert_eq!(api.files(), (0, 1));
    assert_eq!(api.ledger().await, (0, 0));
    api.get("/object/public/b/a").await.expect_text(200, "two");
}

#[tokio::test]
async fn what_never_became_an_object_goes_after_a_day() {
    let api = api().await;
    api.has_object("b/a", "one").await;
    api.execute(
        "insert into plinth.pending_blob (version, created_at) values
         (gen_random_uuid(), now() - interval '23 hours'),
         (gen_random_uuid(), now() - interval '25 hours')",
    )
    .await;
    api.collect_garbage().await;
    assert_eq!(
        api.ledger().await,
        (1, 1),
        "with a grace: a row may be on its way"
    );
    api.execute("update plinth.blob_gc set not_before = now()")
        .await;
    api.collect_garbage().await;
    assert_eq!(api.ledger().await, (1, 0));
    api.get("/object/public/b/a").await.expect_text(200, "one");
}

#[tokio::test]
async fn bytes_that_a_row_names_never_go() {
    let api = api().await;
    api.has_object("b/a", "one").await;
    // A user's SQL restores the row of a blob that is due for garbage collection.
    api.execute(
        "insert into plinth.blob_gc (version, not_before)
         select version::uuid, now() - interval '1 day' from storage.objects",
    )
    .await;
    assert_eq!(api.collect_garbage().await, 0);
    assert_eq!(api.ledger().await, (0, 0));
    api.get("/object/public/b/a").await.expect_text(200, "one");
    api.execute(
        "insert into storage.objects (bucket_id, name, version, metadata)
         select bucket_id, 'again', version, metadata from storage.objects",
    )
    .await;
    api.delete("/object/b/a").service_role().await.expect_ok();
    api.collect_garbage_later().await;
    api.get("/object/public/b/again")
        .await
        .expect_text(200, "one");
    api.delete("/object/b/again")
        .service_role()
        .await
        .expect_ok();
    assert_eq!(api.collect_garbage_later().await, 1);
    assert_eq!(api.files(), (0, 0));
}

#[tokio::test]
async fn a_commit_that_fails_lets_the_new_bytes_go_and_keeps_the_old_ones() {
    let api = api().await;
    api.has_object("b/a", "one").await;
    // The dry run passes, for its version is 1; the commit does not.
    api.execute(
        "create function public.refuse() returns trigger language plpgsql as $$
         begin
            if new.version <> '1' then raise exception 'not today'; end if;
            return new;
         end $$;
         create trigger refuse before insert or update on storage.objects
            for each row execute function public.refuse()",
    )
    .await;

    let reply = api.upload("b/a", "two").service_role().upsert().await;

    assert_eq!(reply.status, 400, "{reply:#?}");
    assert_eq!(reply.json()["message"], "not today");
    api.get("/object/public/b/a").await.expect_text(200, "one");
    assert_eq!(api.ledger().await, (0, 1));
    assert_eq!(
        api.collect_garbage().await,
        1,
        "no client has seen them, so at once"
    );
    assert_eq!(api.files(), (0, 1));
}

#[tokio::test]
async fn probes_leave_nothing_behind() {
    let api = api().await;
    api.has_object("b/a", "one").await;
    let before = api
        .query_one("select to_jsonb(o) from storage.objects o")
        .await;
    let before: serde_json::Value = before.get(0);
    for _ in 0..3 {
        let call = api
            .post("/object/upload/sign/b/a", json!({}))
            .service_role();
        call.upsert().await.expect_ok();
        let call = api
            .post("/object/upload/sign/b/new", json!({}))
            .service_role();
        call.await.expect_ok();
    }
    let after = api
        .query_one("select to_jsonb(o) from storage.objects o")
        .await;
    assert_eq!(before, after.get::<_, serde_json::Value>(0));
    assert_eq!(api.ledger().await, (0, 0));
}

#[tokio::test]
async fn rows_that_users_delete_by_sql_hand_on_their_bytes() {
    let api = api().await;
    api.has_object("b/a", "one").await;
    api.execute("set storage.allow_delete_query = 'true'; delete from storage.objects")
        .await;
    assert_eq!(api.ledger().await, (0, 1));
    assert_eq!(api.collect_garbage_later().await, 1);
    assert_eq!(api.files(), (0, 0));
}

#[tokio::test]
async fn many_blobs_go_in_one_round() {
    let api = api().await;
    for i in 0..3 {
        api.has_object(&format!("b/{i}"), "x").await;
    }
    api.execute(
        "insert into plinth.blob_gc select gen_random_uuid(), now() from generate_series(1, 250)",
    )
    .await;
    assert_eq!(
        api.collect_garbage().await,
        250,
        "bytes that are gone already count as gone"
    );
    assert_eq!(api.ledger().await, (0, 0));
    assert_eq!(api.files(), (0, 3));
}

#[tokio::test]
async fn an_empty_object_has_bytes_too() {
    let api = api().await;
    let put = api.call(Method::PUT, "/object/b/empty").service_role();
    put.await.expect_ok();
    assert_eq!(api.files(), (0, 1));
    api.get("/object/public/b/empty").await.expect_text(200, "");
}
