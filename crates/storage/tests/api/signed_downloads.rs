//! Downloads from signed URLs (storage contract §3.7).

use serde_json::{Value, json};

use crate::support::{
    ANN, ErrorBody, Requests, StorageCall, StorageReply, TestApi, claims, now, sign,
};

const HIDDEN: &str = "Either the object does not exist or you do not have access to it";

async fn api() -> TestApi {
    let api = TestApi::start().await;
    api.has_bucket("b", false).await;
    let upload = api.upload("b/a file.txt", "hello").service_role();
    upload
        .header("cache-control", "max-age=60")
        .await
        .expect_ok();
    api
}

async fn link(api: &TestApi, key: &str, seconds: i64) -> String {
    let path = format!("/object/sign/b/{key}");
    let reply = api
        .post(&path, json!({ "expiresIn": seconds }))
        .service_role()
        .await;
    let url = reply.expect_ok().json()["signedURL"].clone();
    url.as_str().expect("a URL").to_owned()
}

#[tokio::test]
async fn a_signed_url_serves_its_object_to_anyone_until_it_expires() {
    let api = api().await;

    let url = link(&api, "a file.txt", 60).await;

    assert!(url.starts_with("/object/sign/b/a file.txt?token="), "{url}");
    let (_, token) = url.split_once("?token=").expect("a token");
    let claims = claims(token);
    assert_eq!(claims["url"], "b/a file.txt");
    assert_eq!(claims["scope"], "download");
    let times = [&claims["iat"], &claims["exp"]].map(|time| time.as_i64().expect("a time"));
    assert_eq!(times[1] - times[0], 60);
    assert_eq!(claims.as_object().map(|claims| claims.len()), Some(4));
    let reply = api.get(&url).await;
    reply
        .expect_text(200, "hello")
        .expect_no_header("cache-control");
    let ends = reply.header("expires").expect("an end");
    let ends = httpdate::parse_http_date(ends).expect("a date");
    let ends = ends
        .duration_since(std::time::UNIX_EPOCH)
        .expect("after 1970");
    assert_eq!(i64::try_from(ends.as_secs()).expect("soon"), times[1]);
    let more = format!("{url}&download=x.txt&cacheNonce=7");
    api.get(&more).await.expect_header(
        "content-disposition",
        "attachment; filename=x.txt; filename*=UTF-8''x.txt",
    );
    let head = api.head(&url).await;
    head.expect_ok()
        .expect_header("content-length", "5")
        .expect_no_header("cache-control");
    let part = api.get(&url).header("range", "bytes=1-2").await;
    part.expect_text(206, "el");
}

#[tokio::test]
async fn any_sign_of_a_key_survives_being_signed() {
    let api = TestApi::start().await;
    api.has_bucket("b", false).await;
    let key = "a+b&c=d,e;f@g:h$i!j*k'(l)";
    let path = "/object/b/a%2Bb%26c%3Dd%2Ce%3Bf%40g%3Ah%24i%21j%2Ak%27%28l%29";
    let upload = api.call(http::Method::POST, path).service_role();
    upload.body("text/plain", "x").await.expect_ok();

    let sign = path.replace("/object/b/", "/object/sign/b/");
    let signed = api
        .post(&sign, json!({ "expiresIn": 60 }))
        .service_role()
        .await;

    let url = signed.json()["signedURL"]
        .as_str()
        .expect("a URL")
        .to_owned();
    let (_, token) = url.split_once("?token=").expect("a token");
    assert_eq!(claims(token)["url"], format!("b/{key}"));
    api.get(&format!("{sign}?token={token}"))
        .await
        .expect_text(200, "x");
    api.get(&url).await.expect_text(200, "x");
}

#[tokio::test]
async fn overwriting_keeps_a_link_and_deleting_ends_it() {
    let api = api().await;
    let url = link(&api, "a file.txt", 60).await;
    let upload = api.upload("b/a file.txt", "new").service_role().upsert();
    upload.await.expect_ok();
    api.get(&url).await.expect_text(200, "new");
    api.delete("/object/b/a file.txt")
        .service_role()
        .await
        .expect_ok();
    api.get(&url).await.fails_with(ErrorBody::NO_SUCH_KEY);
}

#[tokio::test]
async fn a_link_is_good_for_one_thing() {
    let api = api().await;
    api.has_object("b/other", "other").await;
    let url = link(&api, "a file.txt", 60).await;
    let (_, token) = url.split_once("?token=").expect("a token");
    let with = async |token: &str| {
        api.get(&format!("/object/sign/b/a file.txt?token={token}"))
            .await
    };

    let other = api
        .get(&format!("/object/sign/b/other?token={token}"))
        .await;
    other.fails_with(ErrorBody(
        400,
        "InvalidSignature",
        "InvalidSignature",
        "Invalid signature",
    ));
    let (signed, _) = token.rsplit_once('.').expect("three parts");
    with(&format!("{signed}.AAAA")).await.fails_with(ErrorBody(
        400,
        "InvalidJWT",
        "InvalidJWT",
        "signature verification failed",
    ));
    with("nonsense").await.fails_with(ErrorBody(
        400,
        "InvalidJWT",
        "InvalidJWT",
        "Invalid Compact JWS",
    ));
    with("").await.fails_with_code(400, "InvalidJWT");
    let bare = api.get("/object/sign/b/a file.txt").await;
    bare.rejects_field("querystring must have required property 'token'");
    let upload = api
        .post("/object/upload/sign/b/a file.txt", json!({}))
        .service_role()
        .upsert();
    let upload = upload.await.json();
    with(upload["token"].as_str().expect("a token"))
        .await
        .fails_with(ErrorBody(
            400,
            "InvalidSignature",
            "InvalidSignature",
            "Token is not scoped for download",
        ));
    let put = api.call(
        http::Method::PUT,
        &format!("/object/upload/sign/b/a file.txt?token={token}"),
    );
    put.body("text/plain", "x")
        .await
        .fails_with_code(400, "InvalidSignature");
    let bearer = api.get("/bucket").bearer(token).await;
    assert_eq!(bearer.status, 400);
}

#[tokio::test]
async fn links_of_older_servers_stay_good() {
    let api = api().await;
    let with = async |claims: Value| {
        let token = sign(&claims);
        api.get(&format!("/object/sign/b/a file.txt?token={token}"))
            .await
    };
    with(json!({ "url": "b/a file.txt", "exp": now() + 60 }))
        .await
        .expect_text(200, "hello");
    with(json!({ "url": "b/a file.txt", "exp": now() - 60 }))
        .await
        .fails_with(ErrorBody(
            400,
            "InvalidJWT",
            "InvalidJWT",
            "\"exp\" claim timestamp check failed",
        ));
    with(json!({ "url": "b/a file.txt", "upsert": false, "exp": now() + 60 }))
        .await
        .fails_with_code(400, "InvalidSignature");
    with(json!({ "role": "service_role", "exp": now() + 60 }))
        .await
        .fails_with_code(400, "InvalidSignature");
}

#[tokio::test]
async fn what_cannot_be_seen_is_not_signed() {
    let api = api().await;
    let sign = async |path: &str, body: Value| api.post(path, body).user(ANN).await;
    let body = || json!({ "expiresIn": 60 });
    for path in [
        "/object/sign/b/a file.txt",
        "/object/sign/b/none",
        "/object/sign/none/a",
    ] {
        sign(path, body()).await.fails_with(ErrorBody::NO_SUCH_KEY);
    }
    let path = "/object/sign/b/a";
    sign(path, json!({}))
        .await
        .rejects_field("body must have required property 'expiresIn'");
    sign(path, json!({ "expiresIn": 0 }))
        .await
        .rejects_field("body/expiresIn must be >= 1");
    sign(path, json!({ "expiresIn": "soon" }))
        .await
        .rejects_field("body/expiresIn must be integer");
    sign("/object/sign/b/a~b", body())
        .await
        .fails_with_code(400, "InvalidKey");
    let far = json!({ "expiresIn": 9_007_199_254_740_991_i64 });
    let far = api
        .post("/object/sign/b/a file.txt", far)
        .service_role()
        .await;
    far.fails_with(ErrorBody(
        400,
        "InvalidParameter",
        "InvalidParameter",
        "Invalid Parameter expiresIn",
    ));
    let text = api.post("/object/sign/b/a file.txt", json!({ "expiresIn": "60" }));
    text.service_role().await.expect_ok();
}

#[tokio::test]
async fn many_are_signed_at_once_in_their_order() {
    let api = api().await;
    api.has_object("b/z", "z").await;
    let sign = async |body: Value| api.post("/object/sign/b", body).service_role().await;
    let paths = ["z", "none", "a file.txt", "bad~key", "nul\0", "z"];

    let reply = sign(json!({ "expiresIn": 60, "paths": paths })).await;

    let entries = reply.expect_ok().json();
    let entries = entries.as_array().expect("a list");
    assert_eq!(entries.len(), paths.len());
    for (entry, path) in entries.iter().zip(paths) {
        assert_eq!(entry["path"], path);
        match path {
            "z" | "a file.txt" => {
                assert_eq!(entry["error"], Value::Null);
                let url = entry["signedURL"].as_str().expect("a URL");
                api.get(url).await.expect_ok();
            }
            _ => {
                assert_eq!(entry["error"], HIDDEN);
                assert_eq!(entry["signedURL"], Value::Null);
            }
        }
    }
    sign(json!({ "expiresIn": 60, "paths": [] }))
        .await
        .rejects_field("body/paths must NOT have fewer than 1 items");
    sign(json!({ "expiresIn": 60, "paths": vec!["a"; 1001] }))
        .await
        .rejects_field("body/paths must NOT have more than 1000 items");
    sign(json!({ "paths": ["a"] }))
        .await
        .rejects_field("body must have required property 'expiresIn'");
    sign(json!({ "expiresIn": 60 }))
        .await
        .rejects_field("body must have required property 'paths'");
    let body = json!({ "expiresIn": 60, "paths": ["a"] });
    let missing = api.post("/object/sign/none", body).service_role().await;
    assert_eq!(missing.expect_ok().json()[0]["error"], HIDDEN);
}
