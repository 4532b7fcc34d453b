//! Just enough HTTP/1.1 to read responses as fast as they arrive: the status, the length of the body, and
//! where the next response begins.

use anyhow::{Context as _, bail, ensure};
use tokio::{io::AsyncReadExt as _, net::TcpStream};

/// Longer than any header block; a long body passes through in chunks of this size.
const BUFFER: usize = 128 * 1024;

/// Status and body length of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HttpResponse {
    pub(crate) status: u16,
    pub(crate) body_length: usize,
}

/// How the end of a body is found.
#[derive(Debug, PartialEq, Eq)]
enum Framing {
    Length(usize),
    Chunked,
}

/// Reads consecutive responses.
pub(crate) struct ResponseReader {
    buffer: Box<[u8]>,
    /// The part of the buffer that was received and not yet used.
    begin: usize,
    end: usize,
}

impl ResponseReader {
    pub(crate) fn new() -> Self {
        Self {
            buffer: vec![0; BUFFER].into(),
            begin: 0,
            end: 0,
        }
    }

    /// The next response. Its body is passed on in chunks.
    pub(crate) async fn read(
        &mut self,
        stream: &mut TcpStream,
        mut body: impl FnMut(&[u8]),
    ) -> anyhow::Result<HttpResponse> {
        let head_length = self.line_end(stream, b"\r\n\r\n").await?;
        let (status, framing) = parse(&self.buffer[self.begin..self.begin + head_length])?;
        self.begin += head_length;
        let body_length = match framing {
            Framing::Length(length) => {
                self.pass(stream, length, &mut body).await?;
                length
            }
            Framing::Chunked => self.chunks(stream, &mut body).await?,
        };
        Ok(HttpResponse {
            status,
            body_length,
        })
    }

    async fn chunks(
        &mut self,
        stream: &mut TcpStream,
        body: &mut impl FnMut(&[u8]),
    ) -> anyhow::Result<usize> {
        let mut total = 0;
        loop {
            let line_length = self.line_end(stream, b"\r\n").await?;
            let line = &self.buffer[self.begin..self.begin + line_length];
            let length = chunk_length(line).context("a chunk without a length")?;
            self.begin += line_length;
            self.pass(stream, length, body).await?;
            self.pass(stream, b"\r\n".len(), &mut |_| ()).await?;
            total += length;
            if length == 0 {
                return Ok(total);
            }
        }
    }

    /// Consumes this many bytes.
    async fn pass(
        &mut self,
        stream: &mut TcpStream,
        mut length: usize,
        body: &mut impl FnMut(&[u8]),
    ) -> anyhow::Result<()> {
        while length > 0 {
            if self.begin == self.end {
                self.receive(stream).await?;
            }
            let piece = length.min(self.end - self.begin);
            body(&self.buffer[self.begin..self.begin + piece]);
            self.begin += piece;
            length -= piece;
        }
        Ok(())
    }

    /// The number of bytes up to and including the delimiter.
    async fn line_end(&mut self, stream: &mut TcpStream, mark: &[u8]) -> anyhow::Result<usize> {
        loop {
            let received = &self.buffer[self.begin..self.end];
            if let Some(at) = received.windows(mark.len()).position(|w| w == mark) {
                return Ok(at + mark.len());
            }
            self.receive(stream).await?;
        }
    }

    async fn receive(&mut self, stream: &mut TcpStream) -> anyhow::Result<()> {
        if self.begin > 0 {
            self.buffer.copy_within(self.begin..self.end, 0);
            self.end -= self.begin;
            self.begin = 0;
        }
        ensure!(self.end < self.buffer.len(), "a header block without end");
        let count = stream.read(&mut self.buffer[self.end..]).await?;
        ensure!(count > 0, "the server closed the connection");
        self.end += count;
        Ok(())
    }
}

fn parse(head: &[u8]) -> anyhow::Result<(u16, Framing)> {
    let head = std::str::from_utf8(head).context("a header that is no text")?;
    let mut lines = head.split("\r\n");
    let status_line = lines.next().unwrap_or_default();
    let status = status_line
        .strip_prefix("HTTP/1.1 ")
        .and_then(|rest| rest.get(..3)?.parse().ok())
        .with_context(|| format!("no status in {status_line:?}"))?;
    for line in lines {
        let Some((name, value)) = line.split_once(':') else {
            continue;
        };
        if name.eq_ignore_ascii_case("content-length") {
            return Ok((status, Framing::Length(value.trim().parse()?)));
        }
        if name.eq_ignore_ascii_case("transfer-encoding") {
            return Ok((status, Framing::Chunked));
        }
    }
    match status {
        204 | 304 => Ok((status, Framing::Length(0))),
        _ => bail!("a response whose end cannot be found:\n{head}"),
    }
}

fn chunk_length(line: &[u8]) -> Option<usize> {
    let line = std::str::from_utf8(line).ok()?;
    let digits = line.split(';').next()?.trim();
    usize::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use tokio::{io::AsyncWriteExt as _, net::TcpListener};

    use super::*;

    /// Sends the bytes one by one and reads as many responses.
    async fn responses(bytes: &'static [u8], count: usize) -> Vec<(HttpResponse, String)> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            for byte in bytes {
                stream.write_all(&[*byte]).await.unwrap();
            }
        });
        let mut stream = TcpStream::connect(address).await.unwrap();
        let mut reading = ResponseReader::new();
        let mut read = Vec::new();
        for _ in 0..count {
            let mut body = Vec::new();
            let keep = |piece: &[u8]| body.extend_from_slice(piece);
            let http_response = reading.read(&mut stream, keep).await.unwrap();
            read.push((http_response, String::from_utf8(body).unwrap()));
        }
        server.await.unwrap();
        read
    }

    #[tokio::test]
    async fn responses_end_where_their_framing_says() {
        let bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]\
                      HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\n[1,\r\nA\r\n234567890]\r\n0\r\n\r\n\
                      HTTP/1.1 204 No Content\r\n\r\n\
                      HTTP/1.1 404 Not Found\r\ncontent-length: 1\r\n\r\nx";
        let read = responses(bytes, 4).await;
        let read: Vec<_> = read
            .iter()
            .map(|(http_response, body)| {
                (
                    http_response.status,
                    http_response.body_length,
                    body.as_str(),
                )
            })
            .collect();
        let expected = [
            (200, 2, "[]"),
            (200, 13, "[1,234567890]"),
            (204, 0, ""),
            (404, 1, "x"),
        ];
        assert_eq!(read, expected);
    }

    #[test]
    fn malformed_responses_are_rejected() {
        assert!(parse(b"220 mail.example\r\n\r\n").is_err());
        assert!(parse(b"HTTP/1.1 200 OK\r\n\r\n").is_err());
        assert_eq!(chunk_length(b"1f;x=y\r\n"), Some(31));
        assert_eq!(chunk_length(b"\r\n"), None);
    }
}
