//! One client that asks for the same again and again.

use anyhow::ensure;

use crate::load::Conversation;

#[derive(Clone)]
pub(super) struct Talk(Vec<u8>);

impl Talk {
    pub(super) fn new(path: &str, key: Option<&str>) -> Self {
        let key = key
            .map(|key| format!("apikey: {key}\r\n"))
            .unwrap_or_default();
        let request = format!("GET {path} HTTP/1.1\r\nhost: 127.0.0.1\r\n{key}\r\n");
        Self(request.into_bytes())
    }
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
