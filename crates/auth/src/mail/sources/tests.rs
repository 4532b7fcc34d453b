//! Templates that are fetched, from a server of this machine.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::Relaxed},
};

use axum::{Router, http::StatusCode};
use serde_json::json;
use tokio::net::TcpListener;

use super::*;

type Answer = (StatusCode, String);

/// A server that answers every path with what is put here; how often it was asked is counted.
#[derive(Clone, Default)]
struct Site {
    answer: Arc<Mutex<Answer>>,
    times_asked: Arc<AtomicUsize>,
}

impl Site {
    async fn start() -> (Self, String) {
        let site = Self::default();
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let answering = site.clone();
        let router = Router::new().fallback(move || {
            answering.times_asked.fetch_add(1, Relaxed);
            let answer = answering.answer.lock().expect("no panics").clone();
            async move { answer }
        });
        tokio::spawn(async move { axum::serve(listener, router).await });
        (site, url)
    }

    fn put(&self, status: u16, text: &str) {
        let status = StatusCode::from_u16(status).expect("a status");
        *self.answer.lock().expect("no panics") = (status, text.to_owned());
    }

    fn times_asked(&self) -> usize {
        self.times_asked.load(Relaxed)
    }
}

struct Reader {
    fetched: Fetched,
    client: reqwest::Client,
    now: OffsetDateTime,
}

impl Reader {
    fn new() -> Self {
        Self {
            fetched: Fetched::default(),
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
    let (site, url) = Site::start().await;
    let mut reader = Reader::new();

    site.put(200, "first {{ .Token }}");
    assert_eq!(reader.read(&url).await.as_deref(), Some("first 1"));
    site.put(200, "second {{ .Token }}");
    reader.now += Duration::seconds(599);
    assert_eq!(reader.read(&url).await.as_deref(), Some("first 1"));
    reader.now += Duration::seconds(2);
    assert_eq!(reader.read(&url).await.as_deref(), Some("second 1"));

    assert_eq!(site.times_asked(), 2);
}

#[tokio::test]
async fn the_last_good_one_is_used_while_there_is_no_better() {
    let (site, url) = Site::start().await;
    let mut reader = Reader::new();

    site.put(404, "");
    assert_eq!(reader.read(&url).await, None, "so the default is used");
    site.put(200, "good");
    assert_eq!(
        reader.read(&url).await,
        None,
        "it is not asked at once again"
    );
    reader.now += Duration::seconds(11);
    assert_eq!(reader.read(&url).await.as_deref(), Some("good"));
    for (status, text) in [(500, "down"), (200, "{{ broken"), (302, "")] {
        site.put(status, text);
        reader.now += Duration::minutes(11);
        assert_eq!(reader.read(&url).await.as_deref(), Some("good"));
    }
}

#[tokio::test]
async fn a_template_of_more_than_a_megabyte_is_none() {
    let (site, url) = Site::start().await;
    site.put(200, &"x".repeat(MAX_BYTES + 1));

    assert_eq!(Reader::new().read(&url).await, None);
}
