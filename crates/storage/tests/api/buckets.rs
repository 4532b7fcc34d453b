//! Buckets (storage contract §2).

use serde_json::{Value, json};

use crate::support::{ANN, ErrorBody, Requests, Sql, StorageReply, TestApi};

/// Milliseconds and a `Z`.
fn is_wire_time(value: &Value) -> bool {
    let Some(text) = value.as_str() else {
        return false;
    };
    text.len() == "2021-02-17T04:43:32.770Z".len() && text.ends_with('Z') && &text[19..20] == "."
}

#[tokio::test]
async fn a_bucket_is_made_and_read_and_listed() {
    let api = TestApi::start().await;

    let made = api.post("/bucket", json!({ "name": "photos" })).user(ANN);
    api.execute("create policy everything on storage.buckets using (true) with check (true)")
        .await;
    made.await.expect_json(200, json!({ "name": "photos" }));

    let one = api.get("/bucket/photos").user(ANN).await;
    let mut body = one.expect_ok().json();
    assert!(is_wire_time(&body["created_at"]), "{body}");
    assert!(is_wire_time(&body["updated_at"]), "{body}");
    body["created_at"] = Value::Null;
    body["updated_at"] = Value::Null;
    let mut expected = json!({
        "id": "photos",
        "name": "photos",
        "owner": ANN,
        "public": false,
        "file_size_limit": null,
        "allowed_mime_types": null,
        "created_at": null,
        "updated_at": null,
    });
    assert_eq!(body, expected, "a single bucket says nothing of its type");
    let mut listed = api.get("/bucket").user(ANN).await.expect_ok().json();
    listed[0]["created_at"] = Value::Null;
    listed[0]["updated_at"] = Value::Null;
    expected["type"] = json!("STANDARD");
    assert_eq!(listed, json!([expected]));
}

#[tokio::test]
async fn a_caller_without_a_sub_owns_nothing() {
    let api = TestApi::start().await;
    api.has_bucket("b", false).await;

    let body = api.get("/bucket/b").service_role().await.json();

    assert_eq!(body["owner"], "");
    let row = api
        .query_one("select owner_id, owner::text from storage.buckets")
        .await;
    assert_eq!(row.get::<_, Option<String>>(0), None);
    assert_eq!(row.get::<_, Option<String>>(1), None);
}

#[tokio::test]
async fn an_id_of_its_own_and_every_field_are_taken_leniently() {
    let api = TestApi::start().await;
    let body = json!({
        "id": "b",
        "name": "The bucket",
        "public": "true",
        "type": "STANDARD",
        "file_size_limit": "20mb",
        "allowed_mime_types": ["image/*", "", "text/plain"],
        "unknown": [1],
    });

    let made = api.post("/bucket", body).service_role().await;

    made.expect_json(200, json!({ "name": "The bucket" }));
    let bucket = api.get("/bucket/b").service_role().await.json();
    assert_eq!(bucket["name"], "The bucket");
    assert_eq!(bucket["public"], true);
    assert_eq!(bucket["file_size_limit"], 20_000_000);
    assert_eq!(
        bucket["allowed_mime_types"],
        json!(["image/*", "text/plain"])
    );
}

#[tokio::test]
async fn sizes_are_numbers_or_words_up_to_the_largest_file() {
    let api = TestApi::with(&[("storage.file_size_limit", "50MiB")]).await;
    let limit = async |name: &str, limit: Value| {
        let body = json!({ "name": name, "file_size_limit": limit });
        let reply = api.post("/bucket", body).service_role().await;
        if reply.status != 200 {
            return Err(reply);
        }
        let bucket = api.get(&format!("/bucket/{name}")).service_role().await;
        Ok(bucket.json()["file_size_limit"].clone())
    };

    assert_eq!(limit("a", json!(1000)).await.expect("made"), 1000);
    assert_eq!(limit("b", json!("1000")).await.expect("made"), 1000);
    assert_eq!(limit("c", json!("1.5KB")).await.expect("made"), 1500);
    assert_eq!(limit("d", json!(0)).await.expect("made"), 0);
    assert_eq!(limit("e", Value::Null).await.expect("made"), Value::Null);

    let rejected = limit("f", json!("51GB")).await.expect_err("too large");
    rejected.fails_with(ErrorBody::TOO_LARGE);
    let rejected = limit("f", json!("20 elephants"))
        .await
        .expect_err("no size");
    rejected.fails_with(ErrorBody(
        400,
        "InvalidRequest",
        "InvalidRequest",
        "Invalid file size format, hint: use 20GB / 20MB / 30KB / 3B",
    ));
    let rejected = limit("f", json!(-1)).await.expect_err("negative");
    rejected.rejects_field("body/file_size_limit must be >= 0");
    let rejected = limit("f", json!([1])).await.expect_err("a list");
    rejected.rejects_field("body/file_size_limit must be integer");
}

#[tokio::test]
async fn types_that_are_none_are_rejected() {
    let api = TestApi::start().await;
    for kind in ["nonsense", "image/", "image/pn g", "ima[ge/png"] {
        let body = json!({ "name": "b", "allowed_mime_types": [kind] });
        let reply = api.post("/bucket", body).service_role().await;
        reply.fails_with_code(415, "InvalidMimeType");
        let message = format!("mime type {kind} is not supported");
        assert_eq!(reply.json()["message"], message);
        assert_eq!(reply.json()["error"], "invalid_mime_type");
    }
    let body = json!({ "name": "b", "allowed_mime_types": { "a": 1 } });
    let reply = api.post("/bucket", body).service_role().await;
    reply.rejects_field("body/allowed_mime_types must be array");
}

#[tokio::test]
async fn a_name_is_needed_and_must_be_good() {
    let api = TestApi::start().await;
    let make = async |body: Value| api.post("/bucket", body).service_role().await;

    make(json!({}))
        .await
        .rejects_field("body must have required property 'name'");
    let long = "b".repeat(101);
    for name in [
        "",
        " b",
        "b ",
        "a/b",
        "ü",
        "a#b",
        "x--table-s3",
        &long,
        "a\\b",
        "a\nb",
    ] {
        make(json!({ "name": name }))
            .await
            .fails_with(ErrorBody::BAD_BUCKET_NAME);
        let body = json!({ "name": "good", "id": name });
        make(body).await.fails_with(ErrorBody::BAD_BUCKET_NAME);
    }
    make(json!({ "name": "b", "type": "VECTOR" }))
        .await
        .rejects_field("body/type must be equal to one of the allowed values");
    make(json!({ "name": "b", "type": "ANALYTICS" }))
        .await
        .fails_with_code(409, "FeatureNotEnabled");
    make(json!({ "name": "b", "public": "perhaps" }))
        .await
        .rejects_field("body/public must be boolean");
    assert_eq!(api.count("select count(*) from storage.buckets").await, 0);
}

#[tokio::test]
async fn a_name_is_taken_once() {
    let api = TestApi::start().await;
    api.has_bucket("b", false).await;
    let taken = || {
        ErrorBody(
            409,
            "BucketAlreadyExists",
            "Duplicate",
            "The resource already exists",
        )
    };

    let again = api
        .post("/bucket", json!({ "name": "b" }))
        .service_role()
        .await;
    again.fails_with(taken());
    let named = api.post("/bucket", json!({ "id": "other", "name": "b" }));
    named.service_role().await.fails_with(taken());
}

#[tokio::test]
async fn a_list_is_sorted_searched_and_paged() {
    let api = TestApi::start().await;
    for name in ["delta", "alpha", "100*", "Beta", "a_c", "abc"] {
        api.has_bucket(name, false).await;
    }
    let names = async |query: &str| -> Vec<String> {
        let reply = api.get(&format!("/bucket?{query}")).service_role().await;
        let body = reply.expect_ok().json();
        let buckets = body.as_array().expect("a list").iter();
        buckets
            .map(|bucket| bucket["name"].as_str().expect("a name").to_owned())
            .collect()
    };

    assert_eq!(names("").await.len(), 6);
    assert_eq!(
        names("sortColumn=created_at&limit=2").await,
        ["delta", "alpha"]
    );
    assert_eq!(
        names("sortColumn=created_at&sortOrder=desc&limit=2&offset=1").await,
        ["a_c", "Beta"]
    );
    assert_eq!(names("search=BET").await, ["Beta"]);
    assert_eq!(names("search=%25").await, Vec::<String>::new());
    assert_eq!(names("search=a_c").await, ["a_c"], "a sign, not a pattern");
    let all = names("").await;
    let pages = [names("limit=4").await, names("limit=4&offset=4").await].concat();
    assert_eq!(pages, all, "pages without an order fit together");

    let rejected = async |query: &str, message: &str| {
        let reply = api.get(&format!("/bucket?{query}")).service_role().await;
        reply.rejects_field(message);
    };
    rejected("limit=0", "querystring/limit must be >= 1").await;
    rejected("limit=many", "querystring/limit must be integer").await;
    rejected("offset=-1", "querystring/offset must be >= 0").await;
    rejected(
        "sortColumn=owner",
        "querystring/sortColumn must be equal to one of the allowed values",
    )
    .await;
    rejected(
        "sortOrder=up",
        "querystring/sortOrder must be equal to one of the allowed values",
    )
    .await;
}

#[tokio::test]
async fn old_python_clients_get_no_type() {
    let api = TestApi::start().await;
    api.has_bucket("b", false).await;
    let has_type = async |name: &str, value: &str| {
        let list = api.get("/bucket").service_role().header(name, value).await;
        list.json()[0].get("type").is_some()
    };

    assert!(!has_type("x-client-info", "supabase-py/2.17.3").await);
    assert!(has_type("x-client-info", "supabase-py/2.18.0").await);
    assert!(!has_type("user-agent", "supabase-py/storage3 v0.12.0").await);
    assert!(has_type("user-agent", "supabase-py/storage3 v0.12.1").await);
    assert!(has_type("x-client-info", "storage-js/2.119.0").await);
}

#[tokio::test]
async fn a_change_leaves_alone_what_it_does_not_name() {
    let api = TestApi::start().await;
    let body = json!({
        "name": "b", "public": true, "file_size_limit": 5, "allowed_mime_types": ["a/b"],
    });
    api.post("/bucket", body).service_role().await.expect_ok();
    let change = async |body: Value| api.put("/bucket/b", body).service_role().await;
    let bucket = async || {
        let bucket = api.get("/bucket/b").service_role().await.json();
        let field = |name: &str| bucket[name].clone();
        json!([
            field("public"),
            field("file_size_limit"),
            field("allowed_mime_types")
        ])
    };

    change(json!({ "public": false }))
        .await
        .expect_json(200, json!({ "message": "Successfully updated" }));
    assert_eq!(bucket().await, json!([false, 5, ["a/b"]]));
    change(json!({ "file_size_limit": null })).await.expect_ok();
    assert_eq!(bucket().await, json!([false, null, ["a/b"]]));
    change(json!({ "allowed_mime_types": null, "file_size_limit": "1kb" }))
        .await
        .expect_ok();
    assert_eq!(bucket().await, json!([false, 1000, null]));
    let row = api
        .query_one("select updated_at > created_at from storage.buckets")
        .await;
    assert!(row.get::<_, bool>(0), "a change has a time");

    change(json!({}))
        .await
        .fails_with_code(400, "InvalidRequest");
    change(json!({ "allowed_mime_types": ["nonsense"] }))
        .await
        .fails_with_code(415, "InvalidMimeType");
    change(json!({ "file_size_limit": "900gb" }))
        .await
        .fails_with(ErrorBody::TOO_LARGE);
    let missing = api
        .put("/bucket/none", json!({ "public": true }))
        .service_role();
    missing.await.fails_with(ErrorBody::NO_SUCH_BUCKET);
}

#[tokio::test]
async fn only_an_empty_bucket_goes() {
    let api = TestApi::start().await;
    api.has_bucket("b", false).await;
    api.has_object("b/a", "a").await;

    api.delete("/bucket/b")
        .service_role()
        .await
        .fails_with(ErrorBody(
            409,
            "ResourceNotEmpty",
            "ResourceNotEmpty",
            "The bucket you tried to delete is not empty",
        ));
    api.delete("/object/b/a").service_role().await.expect_ok();
    api.execute(
        "insert into storage.s3_multipart_uploads (id, upload_signature, bucket_id, key, version)
         values ('u', 's', 'b', 'k', 'v')",
    )
    .await;
    api.delete("/bucket/b")
        .service_role()
        .await
        .fails_with_code(409, "ResourceReferenced");
    api.execute("delete from storage.s3_multipart_uploads")
        .await;
    api.delete("/bucket/b")
        .service_role()
        .json(&json!({}))
        .await
        .expect_json(200, json!({ "message": "Successfully deleted" }));
    api.delete("/bucket/b")
        .service_role()
        .header("content-type", "application/json")
        .await
        .fails_with(ErrorBody::NO_SUCH_BUCKET);
}

#[tokio::test]
async fn emptying_takes_every_object_and_hands_on_its_bytes() {
    let api = TestApi::start().await;
    api.has_bucket("b", false).await;
    api.has_bucket("other", false).await;
    for name in ["a", "b/c", "d"] {
        api.has_object(&format!("b/{name}"), name).await;
    }
    api.has_object("other/a", "stays").await;
    api.execute(
        "insert into storage.objects (bucket_id, name, created_at) values ('b', 'timeless', null);
         insert into storage.objects (bucket_id, name)
         select 'b', 'many/' || i from generate_series(1, 1100) as i",
    )
    .await;

    let reply = api.post("/bucket/b/empty", json!({})).service_role().await;

    let message = "Empty bucket has been queued. Completion may take up to an hour.";
    reply.expect_json(200, json!({ "message": message }));
    let names = api
        .query("select bucket_id, name from storage.objects")
        .await;
    assert_eq!(names.len(), 1);
    assert_eq!(api.ledger().await, (0, 3));
    let again = api
        .call(http::Method::POST, "/bucket/b/empty")
        .service_role();
    again.await.expect_ok();
    let missing = api
        .post("/bucket/none/empty", json!({}))
        .service_role()
        .await;
    missing.fails_with(ErrorBody::NO_SUCH_BUCKET);
}

#[tokio::test]
async fn only_the_service_empties_and_only_so_much() {
    let api = TestApi::with(&[("plinth.storage.empty_bucket_max", "2")]).await;
    api.has_bucket("b", false).await;
    api.execute("create policy everything on storage.objects using (true)")
        .await;
    for name in ["a", "b", "c"] {
        api.has_object(&format!("b/{name}"), name).await;
    }

    let reply = api.post("/bucket/b/empty", json!({})).user(ANN).await;
    reply.fails_with_status(
        403,
        ErrorBody(
            403,
            "AccessDenied",
            "Unauthorized",
            "Access denied: Invalid role",
        ),
    );
    let reply = api.post("/bucket/b/empty", json!({})).service_role().await;
    reply.fails_with(ErrorBody(
        409,
        "InvalidRequest",
        "InvalidRequest",
        "Unable to empty the bucket because it contains too many objects",
    ));
    assert_eq!(api.count("select count(*) from storage.objects").await, 3);
}
