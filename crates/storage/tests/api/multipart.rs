//! Uploads as forms (storage contract §3.1).

use http::Method;
use serde_json::{Value, json};

use crate::support::{
    ANN, Call, ErrorBody, Form, Requests, Sql, StorageCall, StorageReply, TestApi,
};

fn post(api: &TestApi) -> Call {
    api.call(Method::POST, "/object/b/a")
        .service_role()
        .upsert()
}

/// Type, cache control and user metadata of the only object.
async fn about(api: &TestApi) -> Value {
    let sql = "select jsonb_build_array(
            metadata->'mimetype', metadata->'cacheControl', user_metadata
        ) from storage.objects";
    api.query_one(sql).await.get(0)
}

#[tokio::test]
async fn fields_stand_before_or_behind_the_file() {
    let api = TestApi::start().await;
    api.has_bucket("b", true).await;
    let large = "0123456789".repeat(100_000);
    let before = Form::default()
        .field("cacheControl", "3600")
        .field("metadata", r#"{"a":1}"#)
        .file("image/png", &large);
    let behind = Form::default()
        .file("image/png", &large)
        .field("cacheControl", "3600")
        .field("userMetadata", r#"{"a":1}"#);

    for form in [before, behind] {
        post(&api).form(&form).await.expect_ok();
        let expected = json!(["image/png", "max-age=3600", { "a": 1 }]);
        assert_eq!(about(&api).await, expected);
        let reply = api.get("/object/public/b/a").await;
        assert!(reply.text() == large, "{} bytes", reply.body.len());
    }
}

#[tokio::test]
async fn a_bare_file_has_defaults() {
    let api = TestApi::start().await;
    api.has_bucket("b", true).await;

    let form = Form::default().file("text/plain;charset=utf-8", "x");
    post(&api).form(&form).await.expect_ok();

    let expected = json!(["text/plain;charset=utf-8", "no-cache", {}]);
    assert_eq!(about(&api).await, expected);
}

#[tokio::test]
async fn the_file_is_the_first_part_with_a_file_name_or_with_plain_bytes() {
    let api = TestApi::start().await;
    api.has_bucket("b", true).await;
    let serves = async |form: Form, content: &str| {
        post(&api).form(&form).await.expect_ok();
        api.get("/object/public/b/a")
            .await
            .expect_text(200, content);
    };

    serves(
        Form::default()
            .field("note", "no file")
            .bare("x", "application/octet-stream", "bytes"),
        "bytes",
    )
    .await;
    serves(
        Form::default()
            .named_file("first", "a/b", "one")
            .named_file("second", "c/d", "two"),
        "one",
    )
    .await;
    assert_eq!(about(&api).await[0], "a/b");
}

#[tokio::test]
async fn a_type_of_its_own_wins_wherever_it_stands() {
    let api = TestApi::start().await;
    let body = json!({ "name": "b", "public": true, "allowed_mime_types": ["image/png"] });
    api.post("/bucket", body).service_role().await.expect_ok();
    let before = |kind: &str| Form::default().field("contentType", kind).file("a/b", "x");
    let behind = |kind: &str| {
        Form::default()
            .file("image/png", "x")
            .field("contentType", kind)
    };

    post(&api).form(&before("image/png")).await.expect_ok();
    assert_eq!(about(&api).await[0], "image/png");
    post(&api)
        .form(&behind("text/html"))
        .await
        .fails_with_code(415, "InvalidMimeType");
    assert_eq!(about(&api).await[0], "image/png", "what was there stays");
    assert_eq!(api.files(), (0, 1), "and the new bytes are gone");
    assert_eq!(api.ledger().await.0, 0);
}

#[tokio::test]
async fn what_no_header_can_carry_is_rejected_at_once() {
    let api = TestApi::start().await;
    api.has_bucket("b", true).await;
    for text in ["text/plain\u{1}", "text/plain\r\nx: y", "text/\u{4e2d}"] {
        let form = Form::default().field("contentType", text).file("a/b", "x");
        let reply = post(&api).form(&form).await;
        reply.fails_with_code(415, "InvalidMimeType");
    }
    for text in ["1\u{1}", "1\r\nSet-Cookie: x", "\u{4e2d}"] {
        let form = Form::default().file("a/b", "x").field("cacheControl", text);
        let reply = post(&api).form(&form).await;
        reply.fails_with_code(400, "InvalidRequest");
        assert_eq!(reply.json()["error"], "invalid_header_char");
    }
    assert_eq!(api.count("select count(*) from storage.objects").await, 0);
    assert_eq!(api.files(), (0, 0));
}

#[tokio::test]
async fn policies_see_fields_that_stand_behind_the_file() {
    let api = TestApi::start().await;
    api.has_bucket("b", true).await;
    api.execute(
        "create policy modest on storage.objects for insert to authenticated
         with check (user_metadata->>'rank' is distinct from 'king'
                     and metadata->>'mimetype' <> 'text/html')",
    )
    .await;
    let upload = async |form: Form| {
        let call = api.call(Method::POST, "/object/b/a").user(ANN);
        call.form(&form).await
    };
    let file = || Form::default().file("text/plain", "x");

    upload(file().field("metadata", r#"{"rank":"king"}"#))
        .await
        .fails_with(ErrorBody::RLS);
    upload(file().field("contentType", "text/html"))
        .await
        .fails_with(ErrorBody::RLS);
    assert_eq!(api.files(), (0, 0));
    assert_eq!(api.ledger().await.0, 0);
    upload(file().field("metadata", r#"{"rank":"page"}"#))
        .await
        .expect_ok();
}

#[tokio::test]
async fn metadata_that_is_no_object_counts_as_none_and_has_its_size() {
    let api = TestApi::start().await;
    api.has_bucket("b", true).await;
    for text in ["", "{", "[1]", "null", "7"] {
        let form = Form::default().field("metadata", text).file("a/b", "x");
        post(&api).form(&form).await.expect_ok();
        assert_eq!(about(&api).await[2], json!({}), "{text}");
    }
    let large = format!("{{\"a\":\"{}\"}}", "x".repeat(1024 * 1024));
    let form = Form::default().file("a/b", "x").field("metadata", &large);
    let reply = post(&api).form(&form).await;
    reply.fails_with(ErrorBody(
        413,
        "EntityTooLarge",
        "Payload too large",
        "The user_metadata exceeded the maximum allowed size",
    ));
    api.collect_garbage_later().await;
    assert_eq!(api.files(), (0, 1));
}

#[tokio::test]
async fn the_limit_is_one_of_the_file_and_not_of_the_form() {
    let api = TestApi::with(&[("storage.file_size_limit", "1000")]).await;
    api.has_bucket("b", true).await;
    let upload = async |bytes: usize| {
        let form = Form::default()
            .field("metadata", r#"{"a":"some more bytes"}"#)
            .file("a/b", &"x".repeat(bytes));
        post(&api).form(&form).await
    };

    upload(1000).await.expect_ok();
    upload(1001)
        .await
        .fails_with(ErrorBody::TOO_LARGE)
        .expect_header("connection", "close");
}

#[tokio::test]
async fn a_form_that_is_none_is_rejected() {
    let api = TestApi::start().await;
    api.has_bucket("b", true).await;
    let no_file = Form::default().field("cacheControl", "3600");
    let reply = post(&api).form(&no_file).await;
    reply.fails_with(ErrorBody(
        400,
        "InvalidRequest",
        "InvalidRequest",
        "No content provided",
    ));

    for kind in ["multipart/form-data", "multipart/form-data; boundary="] {
        let reply = post(&api).body(kind, "x").await;
        reply.fails_with_code(400, "InvalidRequest");
    }
    let (kind, body) = Form::default().file("a/b", "cut").cut_off();
    let reply = post(&api).body(&kind, &body).await;
    reply.fails_with_code(400, "InvalidRequest");
    let many = (0..11).fold(Form::default(), |form, i| form.field(&format!("f{i}"), "x"));
    let reply = post(&api).form(&many.file("a/b", "x")).await;
    reply.fails_with_code(400, "InvalidRequest");
    assert_eq!(api.files(), (0, 0));
    assert_eq!(api.count("select count(*) from storage.objects").await, 0);
    assert_eq!(api.ledger().await.0, 0);
}
