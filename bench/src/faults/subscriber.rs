//! A subscriber to all new rows. It does not reconnect by itself.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use anyhow::Context as _;
use serde_json::Value;
use tokio::{net::TcpStream, runtime::Runtime, time::timeout};
use tokio_util::task::AbortOnDropHandle;

use super::load::Server;
use crate::realtime::client;

const TOPIC: &str = "realtime:faults";
const JOIN_CONFIG: &str =
    r#"{"config":{"postgres_changes":[{"event":"INSERT","schema":"public","table":"faults"}]}}"#;

/// How long it may take until rows will be received, and how soon the next attempt follows.
const SUBSCRIBE_TIMEOUT: Duration = Duration::from_secs(60);
const RETRY_DELAY: Duration = Duration::from_millis(50);

pub(super) struct Subscriber {
    /// Rows that are inserted from then on are expected.
    pub(super) subscribed_at: Instant,
    received: Arc<Mutex<HashSet<i64>>>,
    _reader: AbortOnDropHandle<()>,
}

impl Subscriber {
    /// Returns once rows will be received.
    pub(super) fn start(runtime: &Runtime, server: &Server) -> anyhow::Result<Self> {
        runtime.block_on(async {
            let stream = timeout(SUBSCRIBE_TIMEOUT, until_subscribed(server)).await;
            let stream = stream.context("row changes are not streamed")?;
            let subscribed_at = Instant::now();
            let received = Arc::new(Mutex::new(HashSet::new()));
            let all = Arc::clone(&received);
            let reader = client::read_all(stream, true, move |frames| {
                let ids: Vec<i64> = frames.filter_map(row_id).collect();
                all.lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .extend(ids);
            });
            Ok(Self {
                subscribed_at,
                received,
                _reader: AbortOnDropHandle::new(tokio::spawn(reader)),
            })
        })
    }

    /// How many of these have not arrived.
    pub(super) fn missing(&self, rows: &[i64]) -> usize {
        let received = self.received.lock().unwrap_or_else(PoisonError::into_inner);
        rows.iter().filter(|id| !received.contains(id)).count()
    }
}

async fn until_subscribed(server: &Server) -> TcpStream {
    loop {
        match subscribe(server).await {
            Ok(stream) => return stream,
            Err(_) => tokio::time::sleep(RETRY_DELAY).await,
        }
    }
}

async fn subscribe(server: &Server) -> anyhow::Result<TcpStream> {
    let mut stream = client::join_with(server.port, &server.key, TOPIC, JOIN_CONFIG).await?;
    // The system message says that changes are being streamed.
    while !is_subscribed(&client::read_frame(&mut stream).await?) {}
    Ok(stream)
}

fn is_subscribed(frame: &[u8]) -> bool {
    let text = String::from_utf8_lossy(frame);
    text.contains("\"system\"") && text.contains("\"ok\"")
}

/// The id of an inserted row, in a message of protocol 2.0.0.
fn row_id(frame: &[u8]) -> Option<i64> {
    let message: Value = serde_json::from_slice(frame).ok()?;
    message.get(4)?.pointer("/data/record/id")?.as_i64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_a_new_row_is_found() {
        let change = br#"[null,null,"realtime:faults","postgres_changes",{"ids":[1],"data":{"record":{"id":42}}}]"#;
        assert_eq!(row_id(change), Some(42));
        assert_eq!(
            row_id(br#"[null,"2","phoenix","phx_reply",{"status":"ok"}]"#),
            None
        );
    }
}
