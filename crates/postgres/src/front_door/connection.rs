//! One client, from its first byte to its last.

use std::io;
use std::path::Path;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::timeout;

use super::packet::{Packet, PacketError, body_length};
use super::{ErrorResponse, Route};

/// A client that has not said what it wants by then is closed.
const STARTUP_LIMIT: Duration = Duration::from_secs(10);
/// One question about TLS and one about Kerberos; more is not a conversation.
const MAX_ENCRYPTION_REQUESTS: usize = 2;

/// Serves one client; `is_admitted` says whether there is room for it.
pub(super) async fn serve(
    mut client: TcpStream,
    router: &dyn Route,
    socket: &Path,
    is_admitted: bool,
) {
    let first = match timeout(STARTUP_LIMIT, read_first(&mut client)).await {
        Ok(Ok(first)) => first,
        Ok(Err(Refusal::Tell(response))) => return tell(&mut client, &response).await,
        Ok(Err(Refusal::Gone)) => return,
        Err(_) => return tell(&mut client, &ErrorResponse::too_slow()).await,
    };
    let (opening, is_cancel) = match first {
        Packet::Cancel(bytes) => (bytes, true),
        Packet::Startup(_) if !is_admitted => {
            return tell(&mut client, &ErrorResponse::too_many_connections()).await;
        }
        Packet::Startup(startup) => match startup.target() {
            Ok((user, database)) => {
                let routed = router.route(user, database);
                (
                    startup.with_target(&routed.user, &routed.database).render(),
                    false,
                )
            }
            Err(error) => return tell(&mut client, &error.response()).await,
        },
        Packet::EncryptionRequest => return,
    };

    let connected = async {
        let mut server = UnixStream::connect(socket).await?;
        server.write_all(&opening).await?;
        io::Result::Ok(server)
    };
    match connected.await {
        // Either side may end the conversation at any time.
        Ok(mut server) => _ = copy_bidirectional(&mut client, &mut server).await,
        Err(_) if is_cancel => {}
        Err(_) => tell(&mut client, &ErrorResponse::cannot_connect_now()).await,
    }
}

enum Refusal {
    Tell(ErrorResponse),
    Gone,
}

impl From<io::Error> for Refusal {
    fn from(_: io::Error) -> Self {
        Self::Gone
    }
}

impl From<PacketError> for Refusal {
    fn from(error: PacketError) -> Self {
        Self::Tell(error.response())
    }
}

/// The first packet that is not a question about encryption. Exactly its bytes are taken from the
/// stream: what follows belongs to the server.
async fn read_first(client: &mut TcpStream) -> Result<Packet, Refusal> {
    for _ in 0..=MAX_ENCRYPTION_REQUESTS {
        let mut length = [0; 4];
        client.read_exact(&mut length).await?;
        let mut body = vec![0; body_length(length)?];
        client.read_exact(&mut body).await?;
        match Packet::parse(&body)? {
            Packet::EncryptionRequest => client.write_all(b"N").await?,
            packet => return Ok(packet),
        }
    }
    Err(PacketError::Layout.into())
}

/// Says why, as far as the client still listens, and ends the connection in an orderly way.
async fn tell(client: &mut TcpStream, response: &ErrorResponse) {
    let said = async {
        client.write_all(&response.render()).await?;
        client.shutdown().await?;
        // Closing with unread bytes would reset the connection, and the answer could get lost.
        let mut rest = [0; 1024];
        while client.read(&mut rest).await? > 0 {}
        io::Result::Ok(())
    };
    _ = timeout(Duration::from_secs(1), said).await;
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::super::Routed;
    use super::*;

    struct Unchanged;

    impl Route for Unchanged {
        fn route(&self, user: &str, database: &str) -> Routed {
            Routed {
                user: user.to_owned(),
                database: database.to_owned(),
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_says_too_little_is_told_and_closed() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap())
            .await
            .unwrap();
        let (accepted, _) = listener.accept().await.unwrap();
        client.write_all(&[0, 0]).await.unwrap();

        let begin = tokio::time::Instant::now();
        serve(accepted, &Unchanged, Path::new("/nowhere"), true).await;

        assert!(begin.elapsed() >= STARTUP_LIMIT);
        let mut answer = Vec::new();
        client.read_to_end(&mut answer).await.unwrap();
        assert_eq!(answer, ErrorResponse::too_slow().render());
    }
}
