//! Everything after the login: bytes in both directions, and statements that a [`Route`] may
//! replace.
//!
//! What the server sends is copied as it is. What the client sends is split into messages, of which
//! only `Query` and `Parse` are held back until they are complete.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::Route;

const BUFFER_BYTES: usize = 16 * 1024;
/// A larger message passes unread.
const MAX_STATEMENT_BYTES: usize = 1024 * 1024;
/// Kind and length.
const HEADER_BYTES: usize = 5;

/// Copies until both sides have ended, or one of them fails.
pub(super) async fn relay<C, S>(client: C, server: S, router: &dyn Route) -> io::Result<()>
where
    C: AsyncRead + AsyncWrite + Unpin,
    S: AsyncRead + AsyncWrite + Unpin,
{
    let (client_reader, mut client_writer) = tokio::io::split(client);
    let (mut server_reader, server_writer) = tokio::io::split(server);
    let requests = forward_requests(client_reader, server_writer, router);
    let responses = async {
        tokio::io::copy(&mut server_reader, &mut client_writer).await?;
        client_writer.shutdown().await
    };
    tokio::try_join!(requests, responses)?;
    Ok(())
}

async fn forward_requests(
    mut client: impl AsyncRead + Unpin,
    mut server: impl AsyncWrite + Unpin,
    router: &dyn Route,
) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER_BYTES];
    let mut filled = 0;
    let mut messages = Messages::default();
    loop {
        let length = client.read(&mut buffer[filled..]).await?;
        if length == 0 {
            server.write_all(&buffer[..filled]).await?;
            return server.shutdown().await;
        }
        filled += length;
        let Progress {
            output,
            consumed,
            needed,
        } = messages.process(&buffer[..filled], router);
        match output {
            Some(output) => server.write_all(&output).await?,
            None => server.write_all(&buffer[..consumed]).await?,
        }
        server.flush().await?;
        buffer.copy_within(consumed..filled, 0);
        filled -= consumed;
        buffer.resize(needed.max(BUFFER_BYTES), 0);
    }
}

/// What became of the bytes that were read.
struct Progress {
    /// What to send; `None` for the consumed bytes as they are.
    output: Option<Vec<u8>>,
    consumed: usize,
    /// How long the next message is, as far as that is known.
    needed: usize,
}

/// Where in the stream of messages we are.
#[derive(Default)]
struct Messages {
    /// Bytes of a message that passes unread.
    unread: usize,
}

impl Messages {
    fn process(&mut self, bytes: &[u8], router: &dyn Route) -> Progress {
        let mut output: Option<Vec<u8>> = None;
        let (mut position, mut copied, mut needed) = (0, 0, 0);
        while position < bytes.len() {
            let rest = &bytes[position..];
            if self.unread > 0 {
                let passed = self.unread.min(rest.len());
                self.unread -= passed;
                position += passed;
                continue;
            }
            let Some(length) = message_length(rest) else {
                break;
            };
            if !is_statement(rest[0]) || length > MAX_STATEMENT_BYTES {
                self.unread = length;
                continue;
            }
            let Some(message) = rest.get(..length) else {
                needed = length;
                break;
            };
            if let Some(replaced) = replace(message, router) {
                let output = output.get_or_insert_default();
                output.extend_from_slice(&bytes[copied..position]);
                output.extend(replaced);
                copied = position + length;
            }
            position += length;
        }
        if let Some(output) = &mut output {
            output.extend_from_slice(&bytes[copied..position]);
        }
        Progress {
            output,
            consumed: position,
            needed,
        }
    }
}

/// The whole length of the message that begins here; `None` until its header is complete.
fn message_length(bytes: &[u8]) -> Option<usize> {
    let length = bytes.get(1..HEADER_BYTES)?.try_into().ok()?;
    let length = usize::try_from(u32::from_be_bytes(length)).unwrap_or(usize::MAX);
    // The server rejects a length without space for itself; what follows is no message then.
    Some(if length < HEADER_BYTES - 1 {
        usize::MAX
    } else {
        length.saturating_add(1)
    })
}

fn is_statement(kind: u8) -> bool {
    matches!(kind, b'Q' | b'P')
}

/// `Query`: the text. `Parse`: a name, the text, and types of parameters.
fn replace(message: &[u8], router: &dyn Route) -> Option<Vec<u8>> {
    let (kind, body) = (message[0], &message[HEADER_BYTES..]);
    let name_end = match kind {
        b'P' => body.iter().position(|byte| *byte == 0)? + 1,
        _ => 0,
    };
    let (name, rest) = body.split_at(name_end);
    let text_end = rest.iter().position(|byte| *byte == 0)?;
    let text = std::str::from_utf8(&rest[..text_end]).ok()?;
    let replaced = router.rewrite(text)?;

    let body = [name, replaced.as_bytes(), &rest[text_end..]].concat();
    let length = u32::try_from(body.len() + HEADER_BYTES - 1).ok()?;
    let mut message = vec![kind];
    message.extend(length.to_be_bytes());
    message.extend(body);
    Some(message)
}

#[cfg(test)]
mod tests {
    use super::super::{ErrorResponse, Routed};
    use super::*;

    /// Replaces `old` by `something new`.
    struct Rewriting;

    impl Route for Rewriting {
        fn route(&self, user: &str, database: &str) -> Result<Routed, ErrorResponse> {
            Ok(Routed {
                user: user.to_owned(),
                database: database.to_owned(),
            })
        }

        fn rewrite(&self, sql: &str) -> Option<String> {
            sql.contains("old")
                .then(|| sql.replace("old", "something new"))
        }
    }

    fn message(kind: u8, body: &[u8]) -> Vec<u8> {
        let length = u32::try_from(body.len() + 4).unwrap();
        [&[kind][..], &length.to_be_bytes(), body].concat()
    }

    /// What the server gets when the client's bytes arrive in pieces of this size.
    async fn forwarded(bytes: &[u8], piece: usize) -> Vec<u8> {
        let (mut client, proxy_client) = tokio::io::duplex(piece);
        let (mut server, proxy_server) = tokio::io::duplex(64);
        let sent = async {
            client.write_all(bytes).await.unwrap();
            client.shutdown().await.unwrap();
        };
        let mut received = Vec::new();
        let read = async {
            server.read_to_end(&mut received).await.unwrap();
            server.shutdown().await.unwrap();
        };
        let router = Rewriting;
        let relayed = relay(proxy_client, proxy_server, &router);
        let (relayed, (), ()) = tokio::join!(relayed, sent, read);
        relayed.unwrap();
        received
    }

    #[tokio::test]
    async fn statements_are_replaced_and_everything_else_passes() {
        let large = vec![b'x'; 3 * BUFFER_BYTES];
        let long_text = [b"select 'old';".as_slice(), &large, b"\0"].concat();
        let input = [
            message(b'p', b"old password\0"),
            message(b'Q', b"select old\0"),
            message(b'P', b"old_name\0select old\0\0\x01\0\0\0\x17"),
            message(b'd', &large),
            message(b'Q', b"select 1\0"),
            message(b'Q', &long_text),
            message(b'Q', b"old without an end"),
            message(b'Q', b"\xff old\0"),
            message(b'X', b""),
        ];
        let new_text = [b"select 'something new';".as_slice(), &large, b"\0"].concat();
        let mut expected = input.clone();
        expected[1] = message(b'Q', b"select something new\0");
        expected[2] = message(b'P', b"old_name\0select something new\0\0\x01\0\0\0\x17");
        expected[5] = message(b'Q', &new_text);

        for piece in [1, 7, 4096, 1 << 20] {
            let received = forwarded(&input.concat(), piece).await;
            assert_eq!(received.len(), expected.concat().len(), "pieces of {piece}");
            assert_eq!(received, expected.concat(), "pieces of {piece}");
        }
    }

    #[tokio::test]
    async fn what_is_no_message_reaches_the_server_as_it_is() {
        for noise in [
            &b"Q\0\0\0\x02 old"[..],
            b"Q\0\0",
            b"Q\xff\xff\xff\xff old\0",
            b"Q\0\0\x10\0 old\0",
            b"",
        ] {
            assert_eq!(forwarded(noise, 16).await, noise, "{noise:?}");
        }
    }
}
