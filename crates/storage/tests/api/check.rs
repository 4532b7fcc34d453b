//! Checks: rows and blobs are compared, and orphans found (storage contract §10.3, §14.4).

use std::{fs, path::PathBuf, time::Duration};

use plinth_project::FileCheck;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::support::{Requests, Sql, StorageCall, TestApi};

const GRACE_PERIOD: Duration = Duration::from_millis(10);
const REPAIRING: FileCheck = FileCheck {
    repairs: true,
    verifies_digests: false,
};
const READING: FileCheck = FileCheck {
    repairs: false,
    verifies_digests: true,
};

/// Orphans count as such after [`GRACE_PERIOD`].
async fn api() -> TestApi {
    let api = TestApi::with(&[("plinth.storage.gc.grace", "10ms")]).await;
    api.has_bucket("b", true).await;
    api
}

/// The state of an orphan.
#[derive(Clone, Copy)]
enum Left {
    Whole,
    Growing,
    Unfinished,
}

impl Left {
    const ALL: [Self; 3] = [Self::Whole, Self::Growing, Self::Unfinished];
}

/// Writes a blob that no row and no ledger references.
fn leave_behind(api: &TestApi, left: Left) -> (Uuid, PathBuf) {
    let version = Uuid::new_v4();
    let name = version.to_string();
    let path = match (left, api.is_on_disk()) {
        (Left::Whole, _) => ["blobs", &name[..2], &name[2..4], &name].iter().collect(),
        (Left::Growing, true) => PathBuf::from("resumable").join(name),
        (Left::Unfinished, true) => PathBuf::from("tmp").join(name),
        // The parts of an upload are in no list; its record is.
        (Left::Growing, false) => PathBuf::from("unfinished")
            .join(name)
            .join(format!("at.{:020}", 11)),
        (Left::Unfinished, false) => PathBuf::from("unfinished")
            .join(name)
            .join(format!("upload.{}", Uuid::new_v4())),
    };
    let path = api.store().join(path);
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(&path, "left behind").expect("a file");
    (version, path)
}

async fn grace_period_over() {
    // The clocks of this process, the database and the file system differ a little.
    tokio::time::sleep(GRACE_PERIOD * 3).await;
}

fn select(findings: &[Value], members: &[&str]) -> Vec<Value> {
    let pick =
        |finding: &Value| Value::from_iter(members.iter().map(|name| finding[*name].clone()));
    findings.iter().map(pick).collect()
}

#[tokio::test]
async fn a_project_in_use_is_clean() {
    let api = api().await;
    api.is_clean().await;
    api.has_object("b/a", "one").await;
    api.has_object("b/empty", "").await;
    api.has_object("b/c", "three").await;
    let copy = json!({ "bucketId": "b", "sourceKey": "a", "destinationKey": "copy" });
    api.post("/object/copy", copy)
        .service_role()
        .await
        .expect_ok();
    api.delete("/object/b/c").service_role().await.expect_ok();
    grace_period_over().await;

    let summary = api.is_clean().await;

    assert_eq!(summary["objects"], 3);
    assert_eq!(summary["files"], 3, "what was deleted went first");
    assert_eq!(summary["bytes"], 6);
    assert_eq!(summary["collected"], 1);
    assert_eq!(summary["leaving"], 0);
}

#[tokio::test]
async fn rows_without_their_blobs_are_reported() {
    let api = api().await;
    api.has_object("b/gone", "one").await;
    api.has_object("b/short", "two").await;
    api.has_object("b/other", "xyz").await;
    let version = async |name: &str| -> String {
        let sql = format!("select version from storage.objects where name = '{name}'");
        api.query_one(&sql).await.get(0)
    };
    let path = async |name: &str| {
        let version = version(name).await;
        let mut blobs = api.blobs().into_iter();
        let is_it = |path: &PathBuf| path.ends_with(&version);
        blobs.find(is_it).expect("a file")
    };
    fs::remove_file(path("gone").await).expect("behind its back");
    fs::write(path("short").await, "t").expect("behind its back");
    fs::write(path("other").await, "abc").expect("behind its back");
    api.execute(
        "insert into storage.objects (bucket_id, name, version) values
            ('b', 'never', null), ('b', 'nonsense', 'no uuid')",
    )
    .await;

    let (mut findings, summary) = api.check(READING).await;

    findings.sort_by_key(|finding| finding["name"].to_string());
    assert_eq!(
        select(&findings, &["finding", "of", "bucket", "name", "size"]),
        [
            json!(["missing", "object", "b", "gone", 3]),
            json!(["missing", "object", "b", "never", null]),
            json!(["missing", "object", "b", "nonsense", null]),
            json!(["wrong_digest", "object", "b", "other", 3]),
            json!(["wrong_size", "object", "b", "short", 3]),
        ]
    );
    assert_eq!(findings[4]["stored"], 1);
    assert_eq!(summary["findings"], 5);
    let (findings, _) = api.check(REPAIRING).await;
    assert_eq!(findings.len(), 4, "rows stay, and digests cost reading");
    // Clients get 404, without delay.
    for name in ["gone", "short", "never", "nonsense"] {
        let reply = api.get(&format!("/object/public/b/{name}")).await;
        assert_eq!(reply.status, 400, "{reply:#?}");
        assert_eq!(reply.json()["code"], "NoSuchKey", "{reply:#?}");
        assert_eq!(reply.json()["statusCode"], "404", "{reply:#?}");
    }
}

#[tokio::test]
async fn a_blob_that_cannot_be_read_does_not_hide_the_others() {
    let api = api().await;
    for name in ["a", "b", "c"] {
        api.has_object(&format!("b/{name}"), name).await;
    }
    let sql = "select version from storage.objects where name = 'b'";
    let version: String = api.query_one(sql).await.get(0);
    api.hide_blob(&version);
    api.execute("insert into storage.objects (bucket_id, name) values ('b', 'never')")
        .await;

    let (mut findings, summary) = api.check(READING).await;

    findings.sort_by_key(|finding| finding["name"].to_string());
    assert_eq!(
        select(&findings, &["finding", "of", "name", "version"]),
        [
            json!(["unreadable", "object", "b", version]),
            json!(["missing", "object", "never", null]),
        ]
    );
    assert_ne!(findings[0]["reason"], "");
    assert_eq!(summary["objects"], 4);
}

#[tokio::test]
async fn a_store_that_cannot_be_listed_is_reported() {
    let api = api().await;
    api.has_object("b/a", "one").await;
    api.hide_list();

    let (findings, summary) = api.check(FileCheck::default()).await;

    let kinds = select(&findings, &["finding"]);
    assert!(kinds.contains(&json!(["unlisted"])), "{findings:#?}");
    assert!(!kinds.contains(&json!(["missing"])), "{findings:#?}");
    assert_eq!(summary["objects"], 1);
    api.collect_orphans().await;
    assert_eq!(api.ledger().await, (0, 0));
}

#[tokio::test]
async fn a_store_in_which_nothing_can_be_read_ends_the_check() {
    let api = api().await;
    api.has_object("b/a", "one").await;
    api.execute(
        "insert into storage.objects (bucket_id, name, version, metadata)
         select bucket_id, 'copy ' || i, version, metadata
         from storage.objects, generate_series(1, 1200) as i",
    )
    .await;
    let sql = "select version from storage.objects limit 1";
    api.hide_blob(&api.query_one(sql).await.get::<_, String>(0));

    let (findings, last) = api.check_to_its_end(FileCheck::default()).await;

    let error = last["error"].as_str().unwrap_or_default();
    assert!(error.starts_with("the file store cannot be read"), "{last}");
    assert_eq!(findings.len(), 16);
}

#[tokio::test]
async fn parts_and_uploads_without_their_blobs_are_reported() {
    let api = api().await;
    api.execute(
        "insert into storage.s3_multipart_uploads (id, upload_signature, bucket_id, key, version)
         values ('u', 's', 'b', 'k', 'v');
         insert into storage.s3_multipart_uploads_parts
             (upload_id, part_number, bucket_id, key, etag, version, size)
         values ('u', 1, 'b', 'k', 'e', gen_random_uuid(), 7);
         with pending as (
            insert into plinth.pending_blob (version)
            select gen_random_uuid() from generate_series(1, 2) returning version
         )
         insert into plinth.resumable_upload
            (version, bucket_id, name, received, metadata, expires_at)
         select version, 'b', 'begun', (row_number() over () - 1) * 5, '', now() + interval '1 h'
         from pending",
    )
    .await;

    let (findings, summary) = api.check(FileCheck::default()).await;

    assert_eq!(
        select(&findings, &["finding", "of", "name", "size"]),
        [
            json!(["missing", "part", "k", 7]),
            json!(["missing", "upload", "begun", 5]),
        ],
        "an upload of which nothing came needs no bytes"
    );
    assert_eq!(summary["pending"], 2);
    assert_eq!(
        (&summary["parts"], &summary["uploads"]),
        (&json!(1), &json!(2))
    );
}

#[tokio::test]
async fn orphans_are_reported_and_removed_after_a_grace_period_on_request() {
    let api = api().await;
    api.has_object("b/a", "one").await;
    let left = Left::ALL.map(|left| leave_behind(&api, left));
    grace_period_over().await;

    let (mut findings, summary) = api.check(FileCheck::default()).await;
    let places = ["whole", "growing", "unfinished"];
    findings.sort_by_key(|finding| places.iter().position(|place| finding["place"] == *place));
    // An S3 store does not report the size of an unfinished upload.
    let unfinished = if api.is_on_disk() { 11 } else { 0 };
    assert_eq!(
        select(
            &findings,
            &["finding", "version", "place", "size", "repaired"]
        ),
        [
            json!(["orphan", left[0].0, "whole", 11, false]),
            json!(["orphan", left[1].0, "growing", 11, false]),
            json!(["orphan", left[2].0, "unfinished", unfinished, false]),
        ]
    );
    assert_eq!(summary["repaired"], 0);
    assert_eq!(api.ledger().await, (0, 0), "looking changes nothing");

    let (findings, summary) = api.check(REPAIRING).await;
    assert_eq!(
        select(&findings, &["repaired"]),
        [json!([true]), json!([true]), json!([true])]
    );
    assert_eq!(summary["repaired"], 3);
    assert!(left.iter().all(|(_, path)| path.exists()), "not at once");
    assert_eq!(api.ledger().await, (0, 3));

    api.collect_garbage_later().await;
    assert!(!left.iter().any(|(_, path)| path.exists()));
    api.is_clean().await;
    api.get("/object/public/b/a").await.expect_text(200, "one");
}

#[tokio::test]
async fn recently_modified_blobs_are_left_alone() {
    let api = TestApi::start().await;
    for left in Left::ALL {
        leave_behind(&api, left);
    }
    api.is_clean().await;
    assert_eq!(api.collect_orphans().await, 0);
    assert_eq!(api.ledger().await, (0, 0));
}

#[tokio::test]
async fn the_collector_finds_orphans_by_itself() {
    let api = api().await;
    api.has_object("b/a", "one").await;
    // As after a crash of PostgreSQL that lost the registration.
    let left = Left::ALL.map(|left| leave_behind(&api, left));
    grace_period_over().await;

    if !api.is_on_disk() {
        // Other installations may use that store: an operator must ask for the removal.
        assert_eq!(api.collect_orphans().await, 0);
        assert_eq!(api.ledger().await, (0, 0));
        api.check(REPAIRING).await;
    } else {
        assert_eq!(api.collect_orphans().await, 3);
        let sql = "select min(extract(epoch from not_before - now()))::bigint from plinth.blob_gc";
        let stay = api.count(sql).await;
        assert!(stay > 24 * 3600, "it was not requested: {stay} s");
        assert_eq!(api.collect_garbage().await, 0);
    }
    assert_eq!(api.collect_orphans().await, 0, "the ledger names them now");
    assert_eq!(api.collect_garbage_later().await, 3);

    assert!(!left.iter().any(|(_, path)| path.exists()));
    assert_eq!(api.files(), (0, 1));
    api.is_clean().await;
}

#[tokio::test]
async fn an_orphan_that_gets_an_owner_after_all_stays() {
    let api = api().await;
    let (version, path) = leave_behind(&api, Left::Whole);
    grace_period_over().await;
    // In a store that others may use orphans are only reported, unless an operator asks for more.
    assert_eq!(api.collect_orphans().await, u64::from(api.is_on_disk()));
    let (_, summary) = api.check(REPAIRING).await;
    assert_eq!(summary["repaired"], u64::from(!api.is_on_disk()));
    assert_eq!(api.ledger().await, (0, 1));
    api.execute(&format!(
        "insert into storage.objects (bucket_id, name, version, metadata)
         values ('b', 'late', '{version}', '{{\"size\": 11}}')"
    ))
    .await;

    api.collect_garbage_later().await;

    assert!(path.exists());
    api.get("/object/public/b/late")
        .await
        .expect_text(200, "left behind");
    api.is_clean().await;
}

#[tokio::test]
async fn blobs_that_cannot_be_removed_are_reported() {
    let api = api().await;
    api.has_object("b/a", "one").await;
    let version: String = api
        .query_one("select version from storage.objects")
        .await
        .get(0);
    api.delete("/object/b/a").service_role().await.expect_ok();
    api.fail_removals(&version);
    grace_period_over().await;

    let (findings, _) = api.check(FileCheck::default()).await;

    assert_eq!(
        select(&findings, &["finding", "version", "attempts"]),
        [json!(["stuck", version, 1])]
    );
}

#[tokio::test]
async fn traffic_makes_no_false_findings() {
    let api = api().await;
    let writers = async {
        for round in 0..40 {
            let name = round % 4;
            let text = format!("text {round}");
            api.upload(&format!("b/{name}"), &text)
                .service_role()
                .upsert()
                .await
                .expect_ok();
            if round % 3 == 0 {
                api.delete(&format!("/object/b/{name}"))
                    .service_role()
                    .await;
            }
        }
    };
    let checks = async {
        for _ in 0..15 {
            api.is_clean().await;
            api.collect_orphans().await;
        }
    };
    tokio::join!(writers, checks);

    grace_period_over().await;
    api.is_clean().await;
    let objects = api.count("select count(*) from storage.objects").await;
    assert_eq!(api.files(), (0, objects as usize));
}

#[tokio::test]
async fn more_rows_and_bytes_than_a_page_are_all_looked_at() {
    let api = api().await;
    api.has_object("b/a", "one").await;
    // Rows may share a blob: a user's SQL can copy them.
    api.execute(
        "insert into storage.objects (bucket_id, name, version, metadata)
         select bucket_id, 'copy ' || i, version, metadata
         from storage.objects, generate_series(1, 1200) as i;
         insert into storage.objects (id, bucket_id, name, version)
         values ('00000000-0000-0000-0000-000000000000', 'b', 'first', null),
            ('ffffffff-ffff-ffff-ffff-ffffffffffff', 'b', 'last', null)",
    )
    .await;
    for _ in 0..600 {
        leave_behind(&api, Left::Whole);
    }
    grace_period_over().await;

    let (findings, summary) = api.check(FileCheck::default()).await;

    assert_eq!(summary["objects"], 1203);
    assert_eq!(summary["files"], 601);
    assert_eq!(findings.len(), 602);
    let names: Vec<_> = select(&findings[..2], &["name"]);
    assert_eq!(names, [json!(["first"]), json!(["last"])]);
}
