//! The storage servers and their requests.

use std::{env, net::Ipv4Addr};

use anyhow::{Context as _, ensure};
use tokio::{io::AsyncWriteExt as _, net::TcpStream};

use crate::http_response::ResponseReader;

pub(crate) const FULL: &str = "plinth start";
pub(crate) const REFERENCE: &str = "the reference server";

/// A server of the storage protocol on this machine.
pub(crate) struct Side {
    pub(crate) name: &'static str,
    pub(crate) port: u16,
    prefix: String,
    /// Of a user who may do everything that is requested here.
    key: String,
}

impl Side {
    /// The whole program, with the key of anonymous callers.
    pub(crate) fn full(port: u16, key: String) -> Self {
        Self {
            name: FULL,
            port,
            prefix: "/storage/v1".to_owned(),
            key,
        }
    }

    /// What `STORAGE_API_URL` and `STORAGE_API_KEY` say, if they are set.
    pub(crate) fn reference() -> anyhow::Result<Option<Self>> {
        let Ok(url) = env::var("STORAGE_API_URL") else {
            return Ok(None);
        };
        let key = env::var("STORAGE_API_KEY").context("STORAGE_API_KEY is not set")?;
        let (port, prefix) = local(&url).context("STORAGE_API_URL is no http URL of 127.0.0.1")?;
        ensure!(port != 0, "STORAGE_API_URL has no port");
        Ok(Some(Self {
            name: REFERENCE,
            port,
            prefix: prefix.to_owned(),
            key,
        }))
    }

    /// Makes a bucket that any client may read, unless it is there.
    pub(crate) fn make_bucket(&self, name: &str) -> anyhow::Result<()> {
        let body = format!(r#"{{"id":"{name}","name":"{name}","public":true}}"#);
        let headers = "content-type: application/json\r\n";
        let head = self.request("POST", "/bucket", headers, Some(body.len() as u64));
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        runtime.block_on(async {
            let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).await?;
            stream.write_all((head + &body).as_bytes()).await?;
            let mut notes = Vec::new();
            let mut responses = ResponseReader::new();
            let reading = responses.read(&mut stream, |piece| notes.extend_from_slice(piece));
            let http_response = reading.await?;
            let notes = String::from_utf8_lossy(&notes);
            ensure!(
                http_response.status == 200 || notes.contains("already exists"),
                "{} makes no bucket: {notes}",
                self.name
            );
            Ok(())
        })
    }

    /// A request with the headers that supabase-js sends.
    pub(crate) fn request(
        &self,
        method: &str,
        path: &str,
        headers: &str,
        length: Option<u64>,
    ) -> String {
        let Self {
            port, prefix, key, ..
        } = self;
        let length = length.map_or_else(String::new, |length| {
            format!("content-length: {length}\r\n")
        });
        format!(
            "{method} {prefix}{path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\n\
             connection: keep-alive\r\n{headers}apikey: {key}\r\nauthorization: Bearer {key}\r\n\
             x-client-info: supabase-js-node/2.97.0\r\naccept: */*\r\naccept-language: *\r\n\
             sec-fetch-mode: cors\r\nuser-agent: node\r\n{length}\r\n"
        )
    }
}

/// `http://127.0.0.1:5000/prefix`
fn local(url: &str) -> Option<(u16, &str)> {
    let rest = url.strip_prefix("http://")?;
    let rest = ["127.0.0.1:", "localhost:"]
        .iter()
        .find_map(|host| rest.strip_prefix(host))?;
    let end = rest.find('/').unwrap_or(rest.len());
    Some((rest[..end].parse().ok()?, rest[end..].trim_end_matches('/')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_this_machine_are_taken() {
        assert_eq!(local("http://127.0.0.1:5000"), Some((5000, "")));
        assert_eq!(local("http://localhost:5000/a/b/"), Some((5000, "/a/b")));
        assert_eq!(local("http://files.example:5000"), None);
        assert_eq!(local("https://127.0.0.1:5000"), None);
        assert_eq!(local("http://127.0.0.1"), None);
    }
}
