//! A minimal WebSocket client: precomputed frames, and a reader that counts received frames.

use std::{net::Ipv4Addr, time::Duration};

use anyhow::{Context as _, ensure};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};
use tokio_util::task::AbortOnDropHandle;

const TEXT: u8 = 0x81;
const BINARY: u8 = 0x82;

/// Interval of heartbeats.
pub(crate) const HEARTBEAT: Duration = Duration::from_secs(25);

/// Opens a socket and joins the topic.
pub(crate) async fn join(port: u16, key: &str, topic: &str) -> anyhow::Result<TcpStream> {
    join_with(port, key, topic, r#"{"config":{}}"#).await
}

/// The same, with a join configuration.
pub(crate) async fn join_with(
    port: u16,
    key: &str,
    topic: &str,
    join_config: &str,
) -> anyhow::Result<TcpStream> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await?;
    stream.set_nodelay(true)?;
    let request = format!(
        "GET /realtime/v1/websocket?apikey={key}&vsn=2.0.0 HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\
         Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await?;
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.context("the handshake")?);
    }
    ensure!(
        head.starts_with(b"HTTP/1.1 101"),
        "no socket: {}",
        String::from_utf8_lossy(&head)
    );
    let join = format!(r#"["1","1","{topic}","phx_join",{join_config}]"#);
    stream.write_all(&frame(TEXT, join.as_bytes())).await?;
    let reply = read_frame(&mut stream).await.context("the join")?;
    ensure!(
        reply.windows(13).any(|part| part == br#""status":"ok""#),
        "no channel: {}",
        String::from_utf8_lossy(&reply)
    );
    Ok(stream)
}

/// A heartbeat, as clients send it every 25 seconds.
pub(crate) fn heartbeat() -> Vec<u8> {
    frame(TEXT, br#"[null,"2","phoenix","heartbeat",{}]"#)
}

/// A broadcast push.
pub(crate) fn broadcast(topic: &str, payload: &[u8]) -> Vec<u8> {
    let mut push = vec![3, 1, 1, topic.len() as u8, 1, 0, 1];
    push.extend(b"12");
    push.extend(topic.bytes());
    push.push(b'm');
    push.extend(payload);
    frame(BINARY, &push)
}

/// Masked with zeros, which leaves the bytes as they are.
fn frame(kind: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![kind];
    match payload.len() {
        length @ 0..126 => frame.push(0x80 | length as u8),
        length => {
            frame.push(0x80 | 126);
            frame.extend((length as u16).to_be_bytes());
        }
    }
    frame.extend([0; 4]);
    frame.extend(payload);
    frame
}

/// Any text.
pub(crate) fn text(text: &str) -> Vec<u8> {
    frame(TEXT, text.as_bytes())
}

/// The next frame's payload.
pub(crate) async fn read_frame(stream: &mut TcpStream) -> anyhow::Result<Vec<u8>> {
    let mut head = [0; 2];
    stream.read_exact(&mut head).await?;
    let length = match head[1] {
        126 => stream.read_u16().await?.into(),
        127 => usize::try_from(stream.read_u64().await?)?,
        short => usize::from(short),
    };
    let mut payload = vec![0; length];
    stream.read_exact(&mut payload).await?;
    Ok(payload)
}

/// Reads a socket to its end; `on_frames` gets the received frames. Sends heartbeats where the server expects
/// them.
pub(crate) async fn read_all(
    stream: TcpStream,
    beats: bool,
    mut on_frames: impl FnMut(&mut Frames<'_>),
) {
    let (mut stream, mut back) = stream.into_split();
    let _heart = beats.then(|| {
        AbortOnDropHandle::new(tokio::spawn(async move {
            loop {
                tokio::time::sleep(HEARTBEAT).await;
                if back.write_all(&heartbeat()).await.is_err() {
                    return;
                }
            }
        }))
    });
    let mut buffer = vec![0; 16 * 1024];
    let mut filled = 0;
    while let Ok(read @ 1..) = stream.read(&mut buffer[filled..]).await {
        filled += read;
        let mut frames = Frames::of(&buffer[..filled]);
        on_frames(&mut frames);
        while frames.next().is_some() {}
        let left = frames.0.len();
        buffer.copy_within(filled - left..filled, 0);
        filled = left;
        if filled == buffer.len() {
            buffer.resize(2 * filled, 0);
        }
    }
}

/// The payloads of a server's frames, one after the other, as far as they are whole.
pub(crate) struct Frames<'a>(&'a [u8]);

impl<'a> Frames<'a> {
    pub(crate) fn of(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }
}

impl<'a> Iterator for Frames<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<Self::Item> {
        let (payload, rest) = split(self.0)?;
        self.0 = rest;
        Some(payload)
    }
}

/// Where the next frame of a server begins: its payload within the bytes, or nothing while it is
/// not all there.
pub(crate) fn split(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, head) = match *bytes.get(1)? {
        126 => {
            let length = bytes.get(2..4)?.try_into().ok()?;
            (usize::from(u16::from_be_bytes(length)), 4)
        }
        127 => {
            let length = bytes.get(2..10)?.try_into().ok()?;
            (usize::try_from(u64::from_be_bytes(length)).ok()?, 10)
        }
        short => (usize::from(short), 2),
    };
    let payload = bytes.get(head..head + length)?;
    Some((payload, &bytes[head + length..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_found_one_after_the_other() {
        let bytes = [0x81, 2, b'a', b'b', 0x82, 1, b'c', 0x81];
        let (first, rest) = split(&bytes).expect("a frame");
        let (second, rest) = split(rest).expect("a frame");
        assert_eq!((first, second, rest), (&b"ab"[..], &b"c"[..], &[0x81][..]));
        assert_eq!(split(rest), None);
        assert_eq!(split(&[0x82, 5, 1]), None);
        let all: Vec<&[u8]> = Frames::of(&bytes).collect();
        assert_eq!(all, [&b"ab"[..], b"c"]);
    }

    #[test]
    fn long_frames_say_so_in_more_bytes() {
        let mut bytes = vec![0x81, 127, 0, 0, 0, 0, 0, 1, 0, 0];
        bytes.extend([b'x'; 65_536]);
        assert_eq!(
            split(&bytes).map(|(payload, _)| payload.len()),
            Some(65_536)
        );
        assert_eq!(split(&bytes[..60_000]), None);
    }

    #[test]
    fn a_push_says_how_long_its_parts_are() {
        let frame = broadcast("realtime:x", b"{}");
        assert_eq!(frame[..2], [0x82, 0x80 | (frame.len() - 6) as u8]);
        assert_eq!(&frame[6..], b"\x03\x01\x01\x0a\x01\x00\x0112realtime:xm{}");
    }
}
