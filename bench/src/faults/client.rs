//! An HTTP client that reconnects.

use std::{net::Ipv4Addr, time::Duration};

use anyhow::Context as _;
use tokio::{io::AsyncWriteExt as _, net::TcpStream, time::timeout};

use crate::http_response::ResponseReader;

const RESPONSE_TIMEOUT: Duration = Duration::from_secs(20);

pub(super) struct Client {
    port: u16,
    key: String,
    connection: Option<(TcpStream, ResponseReader)>,
}

/// A response.
pub(super) struct Response {
    pub(super) status: u16,
    pub(super) body: Vec<u8>,
}

impl Client {
    pub(super) fn new(port: u16, key: &str) -> Self {
        Self {
            port,
            key: key.to_owned(),
            connection: None,
        }
    }

    /// Sends a request with the secret key; an error if no response came.
    pub(super) async fn send(
        &mut self,
        method: &str,
        path: &str,
        content_type: &str,
        body: &str,
    ) -> anyhow::Result<Response> {
        let Self { port, key, .. } = self;
        let length = body.len();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\napikey: {key}\r\n\
             authorization: Bearer {key}\r\ncontent-type: {content_type}\r\n\
             content-length: {length}\r\n\r\n{body}"
        );
        let exchange = self.exchange(request.as_bytes());
        let response = timeout(RESPONSE_TIMEOUT, exchange).await;
        let response = response
            .context("no response in time")
            .and_then(|response| response);
        if response.is_err() {
            self.connection = None;
        }
        response
    }

    async fn exchange(&mut self, request: &[u8]) -> anyhow::Result<Response> {
        let (mut stream, mut reader) = match self.connection.take() {
            Some(connection) => connection,
            None => {
                let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).await?;
                stream.set_nodelay(true)?;
                (stream, ResponseReader::new())
            }
        };
        stream.write_all(request).await?;
        let mut body = Vec::new();
        let head = reader
            .read(&mut stream, |piece| body.extend_from_slice(piece))
            .await?;
        self.connection = Some((stream, reader));
        Ok(Response {
            status: head.status,
            body,
        })
    }
}
