//! Just enough HTTP for health checks.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    net::{Ipv4Addr, SocketAddr, TcpStream},
    time::Duration,
};

/// Longer than any healthy response takes; a lost one must not stop the benchmark.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The status of `GET path` on a loopback port, or `None` without a response.
pub(crate) fn status(port: u16, path: &str) -> Option<u16> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let mut stream = TcpStream::connect_timeout(&address, TIMEOUT).ok()?;
    stream.set_read_timeout(Some(TIMEOUT)).ok()?;
    let request =
        format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).ok()?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).ok()?;
    parse(&line)
}

fn parse(status_line: &str) -> Option<u16> {
    let mut words = status_line.split_whitespace();
    words
        .next()
        .filter(|version| version.starts_with("HTTP/1."))?;
    words.next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_is_read_from_the_first_line() {
        assert_eq!(parse("HTTP/1.1 200 OK\r\n"), Some(200));
        assert_eq!(parse("HTTP/1.1 503 Service Unavailable\r\n"), Some(503));
        assert_eq!(parse("220 mail.example ESMTP\r\n"), None);
        assert_eq!(parse(""), None);
    }
}
