//! A small HTTP/1.1 client that shows everything: one request per connection.

use std::{
    io::{Read, Write},
    net::TcpStream,
    time::Duration,
};

use serde_json::Value;

const TIMEOUT: Duration = Duration::from_secs(30);

/// A server's address, and headers that go with every request.
#[derive(Clone)]
pub(crate) struct Http {
    authority: String,
    headers: String,
}

/// A whole response.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: String,
}

impl Http {
    pub(crate) fn new(url: &str) -> Self {
        let authority = url.strip_prefix("http://").expect("a plain URL").to_owned();
        Self {
            authority,
            headers: String::new(),
        }
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push_str(&format!("{name}: {value}\r\n"));
        self
    }

    pub(crate) fn token(self, token: &str) -> Self {
        self.header("Authorization", &format!("Bearer {token}"))
    }

    pub(crate) fn get(&self, path: &str) -> Response {
        self.send("GET", path, "").expect("a response")
    }

    pub(crate) fn post(&self, path: &str, body: &str) -> Response {
        self.send("POST", path, body).expect("a response")
    }

    /// As `get`, where the connection itself may fail.
    pub(crate) fn send(&self, method: &str, path: &str, body: &str) -> std::io::Result<Response> {
        self.send_as(method, path, "application/json", body)
    }

    /// A body of another type.
    pub(crate) fn send_as(
        &self,
        method: &str,
        path: &str,
        kind: &str,
        body: &str,
    ) -> std::io::Result<Response> {
        let Self { authority, headers } = self;
        let host = if headers.contains("Host: ") {
            ""
        } else {
            &format!("Host: {authority}\r\n")
        };
        let length = body.len();
        let kind = if body.is_empty() {
            ""
        } else {
            &format!("Content-Type: {kind}\r\n")
        };
        self.exchange(
            &format!(
                "{method} {path} HTTP/1.1\r\n{host}{headers}{kind}Content-Length: {length}\r\n\
             Connection: close\r\n\r\n{body}"
            ),
            TIMEOUT,
        )
    }

    /// Sends bytes as they are, which may leave the server waiting for more.
    pub(crate) fn exchange(&self, request: &str, timeout: Duration) -> std::io::Result<Response> {
        let mut stream = TcpStream::connect(&self.authority)?;
        stream.set_read_timeout(Some(timeout))?;
        // A server that rejects early closes before everything is written.
        _ = stream.write_all(request.as_bytes());
        let mut bytes = Vec::new();
        let read = stream.read_to_end(&mut bytes);
        if bytes.is_empty() {
            read?;
        }
        Response::parse(&bytes)
            .ok_or_else(|| std::io::Error::other(format!("no HTTP in {} bytes", bytes.len())))
    }
}

impl Response {
    fn parse(bytes: &[u8]) -> Option<Self> {
        let text = String::from_utf8_lossy(bytes);
        let (head, body) = text.split_once("\r\n\r\n")?;
        let status = head.split(' ').nth(1)?.parse().ok()?;
        let mut response = Self {
            status,
            head: head.to_owned(),
            body: body.to_owned(),
        };
        if response.header("transfer-encoding") == Some("chunked") {
            response.body = joined(body)?;
        }
        Some(response)
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then_some(value.trim())
        })
    }

    /// Every value of a header.
    pub(crate) fn all_headers(&self, name: &str) -> Vec<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines
            .filter(|(found, _)| found.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
            .collect()
    }

    #[track_caller]
    pub(crate) fn expect_status(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{self:?}");
        self
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The member that names an error.
    #[track_caller]
    pub(crate) fn code(&self) -> String {
        self.json()["code"].as_str().unwrap_or_default().to_owned()
    }
}

/// The chunks of a body without their lengths.
fn joined(mut chunks: &str) -> Option<String> {
    let mut body = String::new();
    loop {
        let (length, rest) = chunks.split_once("\r\n")?;
        let length = usize::from_str_radix(length.trim(), 16).ok()?;
        if length == 0 {
            return Some(body);
        }
        body.push_str(rest.get(..length)?);
        chunks = rest.get(length..)?.strip_prefix("\r\n")?;
    }
}
