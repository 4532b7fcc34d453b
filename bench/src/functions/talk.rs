//! One client that asks for the same again and again.

use anyhow::ensure;

use crate::load::Conversation;

/// An event, and how its sender signed it.
const EVENT: &str = include_str!("webhook.json");
const SIGNATURE: &str = "eb4a75a1957e429a979d4080ed81a0514f08c9d8a4c59e037a4f2cc766ce3310";

#[derive(Clone)]
pub(super) struct Talk(Vec<u8>);

impl Talk {
    pub(super) fn get(path: &str, key: Option<&str>) -> Self {
        Self(format!("GET {path} HTTP/1.1\r\n{}\r\n", head(key)).into_bytes())
    }

    /// Tells of an event.
    pub(super) fn webhook(path: &str, key: Option<&str>) -> Self {
        let (head, length) = (head(key), EVENT.len());
        let request = format!(
            "POST {path} HTTP/1.1\r\n{head}content-type: application/json\r\n\
             content-length: {length}\r\nx-signature: {SIGNATURE}\r\n\r\n{EVENT}"
        );
        Self(request.into_bytes())
    }
}

fn head(key: Option<&str>) -> String {
    let key = key.map(|key| format!("apikey: {key}\r\n"));
    format!("host: 127.0.0.1\r\n{}", key.unwrap_or_default())
}

impl Conversation for Talk {
    fn say(&mut self) -> &[u8] {
        &self.0
    }

    fn hear(&mut self, body: &[u8]) -> anyhow::Result<()> {
        ensure!(body.starts_with(b"{"), "an odd answer");
        Ok(())
    }
}
