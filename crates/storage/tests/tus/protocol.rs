//! Methods, versions, headers and errors.

use http::Method;
use serde_json::{Value, json};

use crate::support::{BASE, Process, Sql, TusReply, metadata};

#[tokio::test]
async fn options_lists_the_capabilities_of_the_server() {
    let process = Process::with(&[("storage.file_size_limit", "1MiB")]).await;
    let offer = [
        ("tus-version", Some("1.0.0")),
        (
            "tus-extension",
            Some("creation,creation-with-upload,creation-defer-length,termination,expiration"),
        ),
        ("tus-max-size", Some("1048576")),
        ("access-control-max-age", Some("86400")),
    ];

    for path in [BASE, "/upload/resumable/anything", "/upload/resumable/sign"] {
        let response = process.bare(Method::OPTIONS, path).await;
        response.is(204, "").has(&offer);
    }

    let preflight = process
        .bare(Method::OPTIONS, BASE)
        .header("origin", "https://app.example.com")
        .header("access-control-request-method", "PATCH")
        .header(
            "access-control-request-headers",
            "authorization,tus-resumable,upload-offset,x-upsert",
        )
        .await;
    preflight.is(204, "").has(&offer).has(&[
        ("access-control-allow-origin", Some("*")),
        (
            "access-control-allow-headers",
            Some("authorization, tus-resumable, upload-offset, x-upsert"),
        ),
    ]);
    let methods = preflight.header("access-control-allow-methods");
    assert!(methods.expect("methods").contains("PATCH"));
}

#[tokio::test]
async fn scripts_of_other_origins_can_read_the_headers_of_the_protocol() {
    let process = Process::start().await;

    let created = process
        .create("k")
        .header("upload-length", "3")
        .header("origin", "https://app.example.com")
        .await;

    created.upload();
    let exposed = created.header("access-control-expose-headers");
    let exposed: Vec<_> = exposed.expect("exposed headers").split(", ").collect();
    for name in [
        "Location",
        "Upload-Offset",
        "Upload-Length",
        "Upload-Metadata",
        "Upload-Expires",
        "Upload-Defer-Length",
        "Tus-Resumable",
        "Tus-Version",
        "Tus-Extension",
        "Tus-Max-Size",
        "Tus-Complete",
    ] {
        assert!(exposed.contains(&name), "{name}");
    }
}

#[tokio::test]
async fn another_version_of_the_protocol_is_rejected() {
    let process = Process::start().await;

    for method in [Method::POST, Method::PATCH, Method::HEAD, Method::DELETE] {
        let call = || process.call(method.clone(), "/upload/resumable/x");
        let none = call().without("tus-resumable").await;
        none.fails_with(412, "Tus-Resumable Required");
        let other = call().header("tus-resumable", "0.2.2").await;
        other.fails_with(400, "Invalid tus-resumable");
    }
}

#[tokio::test]
async fn only_a_bad_token_is_rejected_in_json() {
    let process = Process::start().await;
    let check = async |token: Option<&str>, message: &str| {
        let call = process.create("k").header("upload-length", "3");
        let call = match token {
            Some(token) => call.header("authorization", token),
            None => call.without("authorization"),
        };
        let reply = call.await;
        let body: Value = serde_json::from_slice(&reply.body).expect("JSON");
        let expected = json!({
            "statusCode": "403",
            "error": "Unauthorized",
            "message": message,
            "code": "AccessDenied",
        });
        assert_eq!(body, expected);
        reply.is(400, reply.text());
    };
    check(None, "Invalid Compact JWS").await;
    check(Some("Bearer nonsense"), "Invalid Compact JWS").await;
    check(
        Some("Bearer eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJyb2xlIjoiYW5vbiJ9.c2lnbmF0dXJl"),
        "signature verification failed",
    )
    .await;
}

#[tokio::test]
async fn other_methods_and_unknown_uploads_are_not_found() {
    let process = Process::start().await;
    let upload = process.begin("k", 3).await;
    let missing = "The file for this url was not found";

    for method in [Method::GET, Method::PUT] {
        process.call(method, &upload).await.fails_with(404, missing);
    }
    for method in [Method::HEAD, Method::PATCH, Method::DELETE] {
        process.call(method, BASE).await.fails_with(404, missing);
    }

    process.execute("delete from plinth.resumable_upload").await;
    process.head(&upload).await.fails_with(404, missing);
    let patched = process.patch(&upload, 0).bytes("abc").await;
    patched.fails_with(404, missing);
    let deleted = process.call(Method::DELETE, &upload).await;
    deleted.fails_with(404, missing);

    for id in ["not-an-id", "a/b"] {
        let unreadable = format!("{BASE}/{id}");
        process.head(&unreadable).await.fails_with(404, missing);
        let patched = process.patch(&unreadable, 0).bytes("abc").await;
        patched.fails_with(400, "The upload's id cannot be read");
    }
}

#[tokio::test]
async fn an_upload_is_found_under_its_own_name_alone() {
    use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
    let process = Process::start().await;
    let upload = process.begin("mine", 3).await;
    let (_, id) = upload.rsplit_once('/').expect("an id");
    let id = String::from_utf8(URL_SAFE_NO_PAD.decode(id).expect("base64")).expect("text");
    assert!(id.starts_with("b/mine/"), "{id}");

    let forged = URL_SAFE_NO_PAD.encode(id.replace("b/mine/", "b/other/"));
    let forged = format!("{BASE}/{forged}");

    let missing = "The file for this url was not found";
    process.head(&forged).await.fails_with(404, missing);
    let patched = process.patch(&forged, 0).bytes("abc").await;
    patched.fails_with(404, missing);
    process.patch(&upload, 0).bytes("abc").await.is(204, "");
}

#[tokio::test]
async fn hostile_ids_are_rejected_and_nothing_worse() {
    use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
    let process = Process::start().await;
    let version = "9f0b6bd0-23ae-4c1c-a9d2-3a05a1f1e1a1";
    let long = "x".repeat(20_000);
    for path in [
        "b/\0",
        "b/../../etc",
        "b/ä",
        "/",
        "'; drop table x; --/k",
        &long,
        "",
    ] {
        let id = URL_SAFE_NO_PAD.encode(format!("{path}/{version}"));
        let upload = format!("{BASE}/{id}");
        for call in [
            process.head(&upload),
            process.patch(&upload, 0).bytes("abc"),
            process.call(Method::DELETE, &upload),
        ] {
            let status = call.await.status.as_u16();
            assert!((400..500).contains(&status), "{path:?}: {status}");
        }
    }
}

#[tokio::test]
async fn a_method_may_be_named_in_a_header() {
    let process = Process::start().await;
    let upload = process.begin("k", 3).await;

    let patched = process
        .call(Method::POST, &upload)
        .header("x-http-method-override", "PATCH")
        .header("upload-offset", "0")
        .header("content-type", "application/offset+octet-stream")
        .bytes("abc")
        .await;

    patched.is(204, "").has(&[("upload-offset", Some("3"))]);
}

#[tokio::test]
async fn bad_headers_of_a_new_upload_are_rejected() {
    let process = Process::start().await;
    let both = "Upload-Length or Upload-Defer-Length header required";
    let check = async |headers: &[(&str, &str)], status, message: &str| {
        let call = headers
            .iter()
            .fold(process.create("k"), |call, (name, value)| {
                call.header(name, value)
            });
        call.await.fails_with(status, message);
    };
    check(&[], 400, both).await;
    check(
        &[("upload-length", "3"), ("upload-defer-length", "1")],
        400,
        both,
    )
    .await;
    check(&[("upload-length", "-1")], 400, "Invalid upload-length").await;
    check(&[("upload-length", "")], 400, "Invalid upload-length").await;
    check(
        &[("upload-defer-length", "2")],
        400,
        "Invalid upload-defer-length",
    )
    .await;
    check(
        &[("upload-length", "3"), ("upload-metadata", "a b c")],
        400,
        "Invalid upload-metadata",
    )
    .await;
    check(
        &[("upload-length", "3"), ("upload-concat", "partial")],
        501,
        "Upload-Concat is not supported: send the file as one upload",
    )
    .await;

    let none = process.create("k").without("upload-metadata");
    let none = none.header("upload-length", "3").await;
    none.fails_with(400, "Metadata header is required");

    let named = async |pairs: &[(&str, &str)], status, message: &str| {
        let call = process.create("k").header("upload-length", "3");
        let call = call.header("upload-metadata", &metadata(pairs));
        call.await.fails_with(status, message);
    };
    named(
        &[("objectName", "k")],
        400,
        "Upload-Metadata must have bucketName",
    )
    .await;
    named(
        &[("bucketName", "b")],
        400,
        "Upload-Metadata must have objectName",
    )
    .await;
    named(
        &[("bucketName", "a/b"), ("objectName", "k")],
        400,
        "Bucket name invalid",
    )
    .await;
    named(
        &[("bucketName", "none"), ("objectName", "k")],
        404,
        "Bucket not found",
    )
    .await;
    for key in ["../k", "a/../../k", "a\\b", "ä", "a\nb", "%2e%2e"] {
        let message = format!("Invalid key: {key}");
        named(&[("bucketName", "b"), ("objectName", key)], 400, &message).await;
    }
    assert_eq!(process.count_rows("plinth.resumable_upload").await, 0);
    assert_eq!(process.count_rows("plinth.pending_blob").await, 0);
}
