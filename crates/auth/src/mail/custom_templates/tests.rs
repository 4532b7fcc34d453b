//! Fetched templates, from a local server.

use plinth_testkit::Remote;
use serde_json::json;

use super::*;

struct Reader {
    fetched: TemplateCache,
    client: reqwest::Client,
    now: OffsetDateTime,
}

impl Reader {
    fn new() -> Self {
        Self {
            fetched: TemplateCache::default(),
            client: crate::outgoing::client(),
            now: OffsetDateTime::UNIX_EPOCH,
        }
    }

    async fn read(&self, address: &str) -> Option<String> {
        let fetch = Fetch {
            client: &self.client,
            timeout: std::time::Duration::from_secs(5),
            now: self.now,
        };
        let template = self.fetched.get(&fetch, Kind::Invite, address).await?;
        Some(
            template
                .render_html(&json!({ "Token": "1" }))
                .expect("rendered"),
        )
    }
}

#[tokio::test]
async fn a_template_is_fetched_again_after_ten_minutes() {
    let site = Remote::start(200, "").await;
    let url = site.url.clone();
    let mut reader = Reader::new();

    site.set_response(200, "text/html", "first {{ .Token }}");
    assert_eq!(reader.read(&url).await.as_deref(), Some("first 1"));
    site.set_response(200, "text/html", "second {{ .Token }}");
    reader.now += Duration::seconds(599);
    assert_eq!(reader.read(&url).await.as_deref(), Some("first 1"));
    reader.now += Duration::seconds(2);
    assert_eq!(reader.read(&url).await.as_deref(), Some("second 1"));

    assert_eq!(site.received().len(), 2);
}

#[tokio::test]
async fn the_last_good_one_is_used_while_there_is_no_better() {
    let site = Remote::start(200, "").await;
    let url = site.url.clone();
    let mut reader = Reader::new();

    site.set_response(404, "text/html", "");
    assert_eq!(reader.read(&url).await, None, "so the default is used");
    site.set_response(200, "text/html", "good");
    assert_eq!(
        reader.read(&url).await,
        None,
        "it is not asked at once again"
    );
    reader.now += Duration::seconds(11);
    assert_eq!(reader.read(&url).await.as_deref(), Some("good"));
    for (status, text) in [(500, "down"), (200, "{{ broken"), (302, "")] {
        site.set_response(status, "text/html", text);
        reader.now += Duration::minutes(11);
        assert_eq!(reader.read(&url).await.as_deref(), Some("good"));
    }
}

#[tokio::test]
async fn a_template_of_more_than_a_megabyte_is_none() {
    let site = Remote::start(200, "").await;
    let url = site.url.clone();
    site.set_response(200, "text/html", &"x".repeat(MAX_BYTES + 1));

    assert_eq!(Reader::new().read(&url).await, None);
}
