//! Permissions, checked anew with every request.

use http::Method;
use serde_json::Value;

use crate::support::{
    BASE, CHUNK, Process, Sql, TusCall, TusReply, metadata, service_role, user_token,
};

const ADA: &str = "11111111-1111-4111-8111-111111111111";
const BOB: &str = "22222222-2222-4222-8222-222222222222";
const REJECTED: &str = "new row violates row-level security policy";

/// Users may write below a folder of their own.
const OWN_FOLDERS: &str = "
    create policy own on storage.objects for insert to authenticated
    with check (bucket_id = 'b' and (storage.foldername(name))[1] = auth.uid()::text)
";

#[tokio::test]
async fn policies_decide_about_every_request() {
    let process = Process::start().await;
    process.execute(OWN_FOLDERS).await;
    let key = format!("{ADA}/k");
    let create = async |id: &str| {
        let pairs = metadata(&[("bucketName", "b"), ("objectName", &key)]);
        process
            .call_as(&user_token(id), Method::POST, BASE)
            .header("upload-metadata", &pairs)
            .header("upload-length", "3")
            .await
    };
    let patch = async |id: &str, upload: &str| {
        process
            .call_as(&user_token(id), Method::PATCH, upload)
            .header("upload-offset", "0")
            .header("content-type", CHUNK)
            .bytes("abc")
            .await
    };

    create(BOB).await.fails_with(403, REJECTED);
    let upload = create(ADA).await.upload();
    patch(BOB, &upload).await.fails_with(403, REJECTED);
    let terminated = process
        .call_as(&user_token(BOB), Method::DELETE, &upload)
        .await;
    terminated.fails_with(403, REJECTED);
    // The offset is no secret to a client that knows the URL.
    let head = process
        .call_as(&user_token(BOB), Method::HEAD, &upload)
        .await;
    head.is(200, "").has(&[("upload-offset", Some("0"))]);
    patch(ADA, &upload).await.is(204, "");

    let object = process.object(&key).await;
    assert_eq!(object["owner_id"], ADA);
    assert_eq!(object["owner"], ADA);
    assert_eq!(process.download(&key).await.text(), "abc");
}

#[tokio::test]
async fn a_policy_sees_what_is_uploaded_and_by_which_operation() {
    let process = Process::start().await;
    process
        .execute(
            "create policy seen on storage.objects for insert to authenticated with check (
                 metadata->>'mimetype' = 'image/png'
                 and metadata->>'contentLength' = '3'
                 and user_metadata->>'album' = 'spring'
                 and name = storage.operation()
             )",
        )
        .await;
    let create = async |key: &str| {
        let pairs = metadata(&[
            ("bucketName", "b"),
            ("objectName", key),
            ("contentType", "image/png"),
            ("metadata", r#"{"album":"spring"}"#),
        ]);
        process
            .call_as(&user_token(ADA), Method::POST, BASE)
            .header("upload-metadata", &pairs)
            .header("upload-length", "3")
            .await
    };

    let upload = create("storage.tus.upload.create").await.upload();
    create("storage.tus.upload.part")
        .await
        .fails_with(403, REJECTED);
    let terminated = process
        .call_as(&user_token(ADA), Method::DELETE, &upload)
        .await;
    terminated.fails_with(403, REJECTED);

    process
        .execute("update plinth.resumable_upload set name = 'storage.tus.upload.delete'")
        .await;
    let sql = "select 'b/' || name || '/' || version from plinth.resumable_upload";
    let id: String = process
        .admin()
        .await
        .query_one(sql, &[])
        .await
        .expect("a row")
        .get(0);
    let id = base64::Engine::encode(&base64::engine::general_purpose::URL_SAFE_NO_PAD, id);
    let upload = format!("{BASE}/{id}");
    let terminated = process
        .call_as(&user_token(ADA), Method::DELETE, &upload)
        .await;
    terminated.is(204, "");
}

#[tokio::test]
async fn a_taken_name_is_replaced_only_where_every_request_says_so() {
    let process = Process::start().await;
    let taken = "The resource already exists";
    let upload = process.begin("k", 3).await;
    let other = process.begin("k", 3).await;
    process.patch(&other, 0).bytes("abc").await.is(204, "");

    process
        .patch(&upload, 0)
        .bytes("xyz")
        .await
        .fails_with(409, taken);
    let created = process.create("k").header("upload-length", "3").await;
    created.fails_with(409, taken);
    let terminated = process.call(Method::DELETE, &other).await;
    terminated.fails_with(409, taken);

    let patched = process.patch(&upload, 0).header("x-upsert", "true");
    patched.bytes("xyz").await.is(204, "");
    assert_eq!(process.download("k").await.text(), "xyz");
}

#[tokio::test]
async fn of_two_that_finish_one_is_rejected_and_may_still_replace() {
    let process = Process::start().await;
    let upload = process.begin("k", 6).await;
    let (sender, reply) = process.patch(&upload, 0).stream();
    sender.send("abc");
    process.writers(1).await;
    let other = process.begin("k", 3).await;
    process.patch(&other, 0).bytes("xyz").await.is(204, "");

    sender.send("def");
    drop(sender);

    let reply = reply.await.expect("no panic");
    reply.fails_with(409, "The resource already exists");
    assert_eq!(process.download("k").await.text(), "xyz");
    let patched = process.patch(&upload, 0).header("x-upsert", "true");
    patched.bytes("abcdef").await.is(204, "");
    assert_eq!(process.download("k").await.text(), "abcdef");
}

#[tokio::test]
async fn an_upload_into_a_bucket_that_went_is_rejected() {
    let process = Process::start().await;
    let upload = process.begin("k", 3).await;
    process
        .execute("set storage.allow_delete_query = 'true'; delete from storage.buckets")
        .await;

    let rejected = process.patch(&upload, 0).bytes("abc").await;

    rejected.fails_with(404, "Bucket not found");
}

/// The token of a signed upload URL for `key`.
async fn signature(process: &Process, key: &str, may_replace: bool) -> String {
    let call = process
        .bare(Method::POST, &format!("/object/upload/sign/b/{key}"))
        .header("authorization", &format!("Bearer {}", service_role()))
        .header("x-upsert", if may_replace { "true" } else { "false" });
    let response: Value = serde_json::from_slice(&call.await.body).expect("JSON");
    response["token"].as_str().expect("a token").to_owned()
}

#[tokio::test]
async fn a_signature_lets_anyone_upload_one_object() {
    let process = Process::start().await;
    let token = signature(&process, "k", false).await;
    let signed = |method, path: &str, token: &str| {
        process
            .bare(method, path)
            .header("tus-resumable", "1.0.0")
            .header("x-signature", token)
    };
    let create = |key: &str, token: &str| {
        let pairs = metadata(&[("bucketName", "b"), ("objectName", key)]);
        signed(Method::POST, "/upload/resumable/sign", token)
            .header("upload-metadata", &pairs)
            .header("upload-length", "3")
    };

    let missing = create("k", &token).without("x-signature").await;
    missing.fails_with(400, "Missing x-signature header");
    let other = create("other", &token).await;
    other.fails_with(400, "Invalid signature");
    let forged = create("k", &format!("{token}x")).await;
    forged.fails_with(400, "signature verification failed");

    let upload = create("k", &token).await.upload();
    assert!(upload.starts_with("/upload/resumable/sign/"), "{upload}");
    let head = signed(Method::HEAD, &upload, &token)
        .without("x-signature")
        .await;
    head.fails_with(400, "Missing x-signature header");
    let head = signed(Method::HEAD, &upload, &token).await;
    head.is(200, "").has(&[("upload-offset", Some("0"))]);
    let patch = |token: &str| {
        signed(Method::PATCH, &upload, token)
            .header("upload-offset", "0")
            .header("content-type", CHUNK)
            .bytes("abc")
    };
    patch("nonsense")
        .await
        .fails_with(400, "Invalid Compact JWS");
    patch(&token).await.is(204, "");

    assert_eq!(process.download("k").await.text(), "abc");
    let again = create("k", &token).header("x-upsert", "true").await;
    again.fails_with(409, "The resource already exists");
    let token = signature(&process, "k", true).await;
    create("k", &token).await.upload();
}
