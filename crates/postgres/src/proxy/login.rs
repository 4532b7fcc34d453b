//! The login of a proxied connection: messages pass in both directions until the server has decided.
//!
//! What follows is [`super::relay`]'s.

use std::io;

use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    sync::OwnedSemaphorePermit,
};

use super::failed_logins::{Attempt, FailedLogins, TooMany};

/// PostgreSQL's own limit for passwords; messages of SASL are shorter.
const MAX_CLIENT_MESSAGE: usize = 65_536;
/// Errors and notices are texts of one line or a few.
const MAX_SERVER_MESSAGE: usize = 1 << 20;

const AUTHENTICATION: u8 = b'R';
const ERROR_RESPONSE: u8 = b'E';

/// Kinds of [`AUTHENTICATION`].
const OK: u32 = 0;
const CLEARTEXT_PASSWORD: u32 = 3;
const MD5_PASSWORD: u32 = 5;
const SASL: u32 = 10;
const SASL_CONTINUE: u32 = 11;

/// The server's decision.
#[derive(Debug)]
pub(super) enum Decision {
    /// The client was notified already.
    Accepted,
    /// The client was not notified yet.
    Rejected {
        /// The `ErrorResponse` as it came.
        message: Vec<u8>,
        /// Whether the credential was wrong.
        is_wrong_credential: bool,
        /// To be kept until the client is notified.
        check: Option<OwnedSemaphorePermit>,
    },
    /// The password was not checked: too many others are.
    TooMany,
}

/// Passes messages until the server has accepted or rejected the client. Waits for a permit only once the
/// client has sent its proof, so that clients which send none keep no others from logging in.
pub(super) async fn relay<C, S>(
    client: &mut C,
    server: &mut S,
    failed_logins: &FailedLogins,
    attempt: &Attempt,
) -> io::Result<Decision>
where
    C: AsyncRead + AsyncWrite + Unpin,
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut check = None;
    loop {
        let message = read_message(server, MAX_SERVER_MESSAGE).await?;
        if message.first() == Some(&ERROR_RESPONSE) {
            let is_wrong_credential = is_wrong_credential(&message);
            return Ok(Decision::Rejected {
                message,
                is_wrong_credential,
                check,
            });
        }
        client.write_all(&message).await?;
        match authentication_kind(&message) {
            Some(OK) => return Ok(Decision::Accepted),
            Some(SASL) => pass_reply(client, server).await?,
            Some(CLEARTEXT_PASSWORD | MD5_PASSWORD | SASL_CONTINUE) => {
                client.flush().await?;
                let proof = read_message(client, MAX_CLIENT_MESSAGE).await?;
                check = match failed_logins.admit(attempt).await {
                    Ok(permit) => permit,
                    Err(TooMany) => return Ok(Decision::TooMany),
                };
                server.write_all(&proof).await?;
            }
            _ => {}
        }
    }
}

async fn pass_reply<C, S>(client: &mut C, server: &mut S) -> io::Result<()>
where
    C: AsyncRead + AsyncWrite + Unpin,
    S: AsyncWrite + Unpin,
{
    client.flush().await?;
    let reply = read_message(client, MAX_CLIENT_MESSAGE).await?;
    server.write_all(&reply).await
}

/// One message: a byte for its type, four for the length of the rest.
async fn read_message(stream: &mut (impl AsyncRead + Unpin), limit: usize) -> io::Result<Vec<u8>> {
    let mut message = vec![0; 5];
    stream.read_exact(&mut message).await?;
    let length = u32::from_be_bytes([message[1], message[2], message[3], message[4]]);
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    if !(4..=limit).contains(&length) {
        return Err(io::ErrorKind::InvalidData.into());
    }
    message.resize(length + 1, 0);
    stream.read_exact(&mut message[5..]).await?;
    Ok(message)
}

fn authentication_kind(message: &[u8]) -> Option<u32> {
    let (&kind, rest) = message.split_first()?;
    let code = rest.get(4..8)?.try_into().ok()?;
    (kind == AUTHENTICATION).then_some(u32::from_be_bytes(code))
}

/// Whether the SQLSTATE is of class 28, invalid authorization specification.
fn is_wrong_credential(error: &[u8]) -> bool {
    let fields = error.get(5..).unwrap_or_default();
    let mut fields = fields.split(|byte| *byte == 0);
    fields.any(|field| field.starts_with(b"C28"))
}

#[cfg(test)]
mod tests {
    use std::{net::Ipv4Addr, time::Duration};

    use tokio::io::{DuplexStream, duplex};

    use super::super::error_response;
    use super::*;

    fn message(kind: u8, body: &[u8]) -> Vec<u8> {
        let length = u32::try_from(body.len() + 4).expect("short");
        [&[kind], &length.to_be_bytes()[..], body].concat()
    }

    fn request(kind: u32, rest: &[u8]) -> Vec<u8> {
        message(AUTHENTICATION, &[&kind.to_be_bytes()[..], rest].concat())
    }

    async fn try_login(
        client: &mut DuplexStream,
        server: &mut DuplexStream,
    ) -> io::Result<Decision> {
        relay(client, server, &FailedLogins::default(), &attempt()).await
    }

    fn attempt() -> Attempt {
        Attempt::new(Ipv4Addr::LOCALHOST.into(), "postgres")
    }

    #[tokio::test(start_paused = true)]
    async fn clients_without_a_proof_keep_no_user_from_logging_in() {
        let failed = FailedLogins::default();
        failed.record(&attempt());
        let challenge = request(SASL_CONTINUE, b"r=x");
        let mut half_open = Vec::new();
        for _ in 0..20 {
            let (mut server, mut server_side) = duplex(4096);
            let (client, mut client_side) = duplex(4096);
            server.write_all(&challenge).await.expect("sent");
            let waiting = async {
                let (failed, attempt) = (&failed, attempt());
                relay(&mut client_side, &mut server_side, failed, &attempt).await
            };
            _ = tokio::time::timeout(Duration::from_secs(1), waiting).await;
            half_open.push((server, client));
        }

        let (mut server, mut server_side) = duplex(4096);
        let (mut client, mut client_side) = duplex(4096);
        server.write_all(&challenge).await.expect("sent");
        server.write_all(&request(OK, b"")).await.expect("sent");
        client
            .write_all(&message(b'p', b"proof"))
            .await
            .expect("sent");
        let decision = relay(&mut client_side, &mut server_side, &failed, &attempt()).await;

        assert!(matches!(decision, Ok(Decision::Accepted)), "{decision:?}");
    }

    #[tokio::test]
    async fn a_login_passes_in_both_directions() {
        let (mut client, mut client_side) = duplex(4096);
        let (mut server_side, mut server) = duplex(4096);
        let first = request(SASL, b"SCRAM-SHA-256\0\0");
        let (reply, last) = (message(b'p', b"proof"), request(OK, b""));
        let notice = message(b'N', b"SNOTICE\0\0");
        server.write_all(&first).await.expect("sent");
        client.write_all(&reply).await.expect("sent");
        for sent in [
            &notice,
            &request(12, b"v=x"),
            &last,
            &b"Z and more".to_vec(),
        ] {
            server.write_all(sent).await.expect("sent");
        }

        let decision = try_login(&mut client_side, &mut server_side).await;

        assert!(matches!(decision, Ok(Decision::Accepted)), "{decision:?}");
        drop((client_side, server_side));
        let mut received = Vec::new();
        client.read_to_end(&mut received).await.expect("read");
        assert_eq!(
            received,
            [first, notice, request(12, b"v=x"), last].concat()
        );
        let mut received = Vec::new();
        server.read_to_end(&mut received).await.expect("read");
        assert_eq!(received, reply);
    }

    #[tokio::test]
    async fn a_rejection_is_kept_back() {
        for (sqlstate, expected) in [("28P01", true), ("28000", true), ("53300", false)] {
            let (mut client, mut client_side) = duplex(4096);
            let (mut server_side, mut server) = duplex(4096);
            let error = error_response::render(sqlstate, "C28 is no code here");
            server.write_all(&error).await.expect("sent");

            let decision = try_login(&mut client_side, &mut server_side).await;

            let Ok(Decision::Rejected {
                message,
                is_wrong_credential,
                ..
            }) = decision
            else {
                panic!("{decision:?}");
            };
            assert_eq!(message, error);
            assert_eq!(is_wrong_credential, expected, "{sqlstate}");
            drop(client_side);
            let mut received = Vec::new();
            client.read_to_end(&mut received).await.expect("read");
            assert!(received.is_empty());
        }
    }

    #[tokio::test]
    async fn a_length_out_of_bounds_ends_the_connection() {
        for length in [0_u32, 3, u32::MAX] {
            let (_client, mut client_side) = duplex(64);
            let (mut server_side, mut server) = duplex(64);
            let head = [b"R", &length.to_be_bytes()[..]].concat();
            server.write_all(&head).await.expect("sent");

            let decision = try_login(&mut client_side, &mut server_side).await;
            assert!(decision.is_err(), "{decision:?}");
        }
    }
}
