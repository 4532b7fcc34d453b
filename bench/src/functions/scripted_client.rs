//! A client that repeats one request.

use anyhow::ensure;

use crate::load::LoadClient;

/// A webhook event and its signature.
const EVENT: &str = include_str!("webhook.json");
const SIGNATURE: &str = "eb4a75a1957e429a979d4080ed81a0514f08c9d8a4c59e037a4f2cc766ce3310";

#[derive(Clone)]
pub(super) struct ScriptedClient(Vec<u8>);

impl ScriptedClient {
    pub(super) fn get(path: &str, key: Option<&str>) -> Self {
        Self(format!("GET {path} HTTP/1.1\r\n{}\r\n", head(key)).into_bytes())
    }

    /// Sends a webhook event.
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

impl LoadClient for ScriptedClient {
    fn next_request(&mut self) -> &[u8] {
        &self.0
    }

    fn handle_response(&mut self, body: &[u8]) -> anyhow::Result<()> {
        ensure!(body.starts_with(b"{"), "an unexpected response");
        Ok(())
    }
}
