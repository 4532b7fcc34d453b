//! Signed, public and upload URLs.

use std::time::Duration;

use plinth_client::StorageError;
use plinth_client::storage::{Files, StorageErrorCode, Transform};
use plinth_testkit::until;

use crate::support::Live;

const MINUTE: Duration = Duration::from_secs(60);

async fn ada(live: &Live) -> Files {
    live.bucket("b").await;
    live.signed_up("ada@example.com").await.storage().from("b")
}

/// What anybody gets there: status, body, and the name under which it is saved.
async fn fetch(url: &str) -> (u16, String, Option<String>) {
    let response = reqwest::get(url).await.expect("a response");
    let saved = response.headers().get("content-disposition");
    let saved = saved.map(|saved| saved.to_str().expect("text").to_owned());
    (
        response.status().as_u16(),
        response.text().await.expect("text"),
        saved,
    )
}

#[track_caller]
fn code<T: std::fmt::Debug>(result: Result<T, StorageError>) -> StorageErrorCode {
    let error = result.expect_err("an error");
    error.code().unwrap_or_else(|| panic!("{error:?}")).clone()
}

#[tokio::test]
async fn anyone_can_read_a_signed_url_until_it_expires() {
    let live = Live::start().await;
    let files = ada(&live).await;

    for path in ["a.txt", "a b/c?+&.txt", "x?token=y"] {
        files.upload(path, path).send().await.unwrap();
        let url = files.signed_url(path, MINUTE).send().await.unwrap();
        assert!(url.starts_with(live.url()), "{url}");
        let (status, body, saved) = fetch(&url).await;
        assert_eq!((status, body.as_str(), saved), (200, path, None), "{url}");
    }
    let url = files
        .signed_url("a.txt", MINUTE)
        .download("my ü.txt")
        .cache_nonce("1");
    let (status, _, saved) = fetch(&url.send().await.unwrap()).await;
    assert_eq!(status, 200);
    assert!(saved.unwrap().contains("my%20%C3%BC.txt"));
    let url = files.signed_url("a.txt", MINUTE).download("");
    let (_, _, saved) = fetch(&url.send().await.unwrap()).await;
    assert_eq!(saved.as_deref(), Some("attachment;"));

    let short = files.signed_url("a.txt", Duration::from_millis(1));
    let short = short.send().await.unwrap();
    until(async || fetch(&short).await.0 == 400).await;
    let missing = files.signed_url("nothing", MINUTE).send().await;
    assert_eq!(code(missing), StorageErrorCode::NoSuchKey);
}

#[tokio::test]
async fn a_signed_address_may_be_that_of_a_smaller_image() {
    let live = Live::start().await;
    let files = ada(&live).await;
    files.upload("a.png", "x").send().await.unwrap();

    let url = files
        .signed_url("a.png", MINUTE)
        .transform(Transform::new().width(9));
    let url = url.send().await.unwrap();

    assert!(
        url.contains("/storage/v1/render/image/sign/b/a.png?token="),
        "{url}"
    );
}

#[tokio::test]
async fn many_addresses_are_signed_at_once() {
    let live = Live::start().await;
    let files = ada(&live).await;
    for path in ["a", "b c?"] {
        files.upload(path, path).send().await.unwrap();
    }

    let urls = files
        .signed_urls(["a", "nothing", "b c?"], MINUTE)
        .download("x.txt");
    let urls = urls.send().await.unwrap();

    let paths: Vec<&str> = urls.iter().map(|url| url.path.as_str()).collect();
    assert_eq!(paths, ["a", "nothing", "b c?"]);
    assert!(urls[1].url.as_ref().unwrap_err().contains("does not exist"));
    let (status, body, saved) = fetch(urls[2].url.as_ref().unwrap()).await;
    assert_eq!((status, body.as_str()), (200, "b c?"));
    assert!(saved.unwrap().contains("x.txt"));
    let nothing: [&str; 0] = [];
    let none = files.signed_urls(nothing, MINUTE).send().await;
    assert_eq!(code(none), StorageErrorCode::InvalidRequest);
}

#[tokio::test]
async fn a_signed_upload_token_allows_exactly_its_file() {
    let live = Live::start().await;
    let files = ada(&live).await;
    let anonymous = live.client().storage().from("b");

    let allowed = files.signed_upload_url("up/a b?.txt").send().await.unwrap();
    assert_eq!(allowed.path, "up/a b?.txt");
    assert!(
        allowed
            .url
            .contains("/object/upload/sign/b/up/a%20b%3F.txt?token=")
    );
    assert!(!format!("{allowed:?}").contains(&allowed.token));
    let upload = anonymous.upload_to_signed_url("up/a b?.txt", &allowed.token, "hello");
    let uploaded = upload.content_type("text/x-a").send().await.unwrap();
    assert_eq!(
        (uploaded.id, uploaded.full_path.as_str()),
        (None, "b/up/a b?.txt")
    );
    let info = files.info("up/a b?.txt").send().await.unwrap();
    assert_eq!(
        (info.size, info.content_type.as_deref()),
        (Some(5), Some("text/x-a"))
    );

    let again = anonymous
        .upload_to_signed_url("up/a b?.txt", &allowed.token, "2")
        .send()
        .await;
    assert_eq!(code(again), StorageErrorCode::KeyAlreadyExists);
    let other = anonymous
        .upload_to_signed_url("up/b", &allowed.token, "2")
        .send()
        .await;
    assert_eq!(code(other), StorageErrorCode::InvalidSignature);
    let forged = anonymous
        .upload_to_signed_url("up/b", "x.y.z", "2")
        .send()
        .await;
    assert_eq!(code(forged), StorageErrorCode::InvalidJWT);
    let exists = files.signed_upload_url("up/a b?.txt").send().await;
    assert_eq!(code(exists), StorageErrorCode::KeyAlreadyExists);
    let allowed = files
        .signed_upload_url("up/a b?.txt")
        .upsert(true)
        .send()
        .await
        .unwrap();
    let upload = anonymous.upload_to_signed_url(&allowed.path, &allowed.token, "22");
    upload.send().await.unwrap();
    assert_eq!(files.download("up/a b?.txt").send().await.unwrap(), "22");
    assert_eq!(
        code(anonymous.signed_upload_url("x").send().await),
        StorageErrorCode::AccessDenied
    );
}

#[tokio::test]
async fn a_public_address_is_good_where_the_bucket_is_public() {
    let live = Live::start().await;
    let files = ada(&live).await;
    files.upload("a b/c?.txt", "hello").send().await.unwrap();
    let url = files.public_url("a b/c?.txt").build().unwrap();

    assert_eq!(fetch(&url).await.0, 400);
    let storage = live.with_secret_key().storage();
    storage
        .update_bucket("b")
        .public(true)
        .send()
        .await
        .unwrap();
    let (status, body, _) = fetch(&url).await;
    assert_eq!((status, body.as_str()), (200, "hello"));
    let url = files
        .public_url("a b/c?.txt")
        .download("d.txt")
        .build()
        .unwrap();
    assert!(fetch(&url).await.2.unwrap().contains("d.txt"));
}
