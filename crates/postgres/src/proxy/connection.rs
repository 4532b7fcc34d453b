//! One proxied client connection.

use std::io;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use super::failed_logins::{Attempt, FailedLogins};
use super::login::{self, Decision};
use super::packet::{Packet, PacketError, Startup, body_length};
use super::pending_logins::{PendingLogin, PendingLogins};
use super::relay::relay;
use super::{ConnectionLimit, ErrorResponse, Route};

/// How long a client may take to send its start-up packet, and for the TLS handshake before it.
const STARTUP_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a connection waits for a server that has to be started.
const SERVER_START_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a login may take, where the server's `authentication_timeout` is longer.
const LOGIN_TIMEOUT: Duration = Duration::from_secs(60);
/// Clients ask at most once for TLS and once for GSSAPI.
const MAX_ENCRYPTION_REQUESTS: usize = 2;
/// The first byte of a TLS handshake without a request before it.
const TLS_HANDSHAKE: u8 = 0x16;

/// What all connections of a port share.
pub(super) struct Port {
    pub(super) router: Arc<dyn Route>,
    /// The server's own.
    pub(super) socket: Arc<Path>,
    pub(super) limit: ConnectionLimit,
    pub(super) tls: Option<TlsAcceptor>,
    pub(super) failed_logins: FailedLogins,
    pub(super) pending_logins: PendingLogins,
}

/// A client.
pub(super) struct Connection<'a> {
    pub(super) port: &'a Port,
    pub(super) peer: IpAddr,
    /// Dropped once the client has logged in.
    pub(super) pending_login: PendingLogin,
}

impl Connection<'_> {
    /// Serves the client until either side closes.
    pub(super) async fn serve(self, mut client: TcpStream) {
        let first = async {
            match &self.port.tls {
                Some(_) if is_tls_handshake(&client).await? => Ok(First::Tls),
                tls => read_first(&mut client, tls.is_some()).await,
            }
        };
        match timeout(STARTUP_TIMEOUT, first).await {
            Ok(Ok(First::Packet(packet))) => self.proceed(client, packet, false).await,
            Ok(Ok(First::Tls)) => self.serve_encrypted(client).await,
            Ok(Err(failure)) => failure.report(&mut client).await,
            Err(_) => send_error(&mut client, &ErrorResponse::startup_timeout()).await,
        }
    }

    async fn serve_encrypted(self, client: TcpStream) {
        let Some(tls) = &self.port.tls else {
            return;
        };
        // Who cannot finish the handshake cannot read an error either.
        let Ok(Ok(mut client)) = timeout(STARTUP_TIMEOUT, tls.accept(client)).await else {
            return;
        };
        match timeout(STARTUP_TIMEOUT, read_first(&mut client, false)).await {
            Ok(Ok(First::Packet(packet))) => self.proceed(client, packet, true).await,
            Ok(Ok(First::Tls)) => {}
            Ok(Err(failure)) => failure.report(&mut client).await,
            Err(_) => send_error(&mut client, &ErrorResponse::startup_timeout()).await,
        }
    }

    /// Goes on after the first packet that matters.
    async fn proceed<C>(self, mut client: C, packet: Packet, is_encrypted: bool)
    where
        C: AsyncRead + AsyncWrite + Unpin,
    {
        match packet {
            // Clients send it in the clear, also where their session is encrypted.
            Packet::Cancel(request) => {
                // The servers that it is not for ignore it. Clients wait until all have seen it.
                let mut sockets = self.port.router.other_sockets();
                sockets.push(self.port.socket.to_path_buf());
                let mut requests = JoinSet::new();
                for socket in sockets {
                    let request = request.to_vec();
                    requests.spawn(async move { cancel(&socket, &request).await });
                }
                _ = timeout(STARTUP_TIMEOUT, requests.join_all()).await;
                _ = client.shutdown().await;
            }
            Packet::Startup(startup) => {
                if let Err(response) = self.log_in(&mut client, &startup, is_encrypted).await {
                    send_error(&mut client, &response).await;
                }
            }
            Packet::TlsRequest | Packet::GssRequest => {}
        }
    }

    /// Logs the client in and serves its session. Errors are those that have to be sent to it.
    async fn log_in<C>(
        self,
        client: &mut C,
        startup: &Startup,
        is_encrypted: bool,
    ) -> Result<(), ErrorResponse>
    where
        C: AsyncRead + AsyncWrite + Unpin,
    {
        if self.port.tls.is_some() && !is_encrypted && !self.peer.to_canonical().is_loopback() {
            return Err(ErrorResponse::tls_required());
        }
        let (user, database) = startup.target().map_err(|error| error.response())?;
        let routed = match self.port.router.route(user, database) {
            Ok(routed) => routed,
            // No password is looked at, so there is nothing to guess.
            Err(response) => {
                tracing::info!(client = %self.peer, user, "login to the database rejected");
                return Err(response);
            }
        };
        let other = timeout(SERVER_START_TIMEOUT, self.port.router.server(&routed)).await;
        let other = other.map_err(|_| ErrorResponse::cannot_connect_now())??;
        let login_permit = self.pending_login.acquire_login_permit().await;
        let login_permit = login_permit.ok_or_else(ErrorResponse::too_many_connections)?;
        let limit = other
            .as_ref()
            .map_or(&self.port.limit, |other| &other.limit);
        let permit = limit.try_acquire();
        let permit = permit.ok_or_else(ErrorResponse::too_many_connections)?;
        let opening = startup.with_target(&routed.user, &routed.database).render();
        let attempt = Attempt::new(self.peer, &routed.user);
        let socket = other.as_ref().map(|other| other.socket.as_path());
        let connected = connect(socket.unwrap_or(&self.port.socket), &opening).await;
        let mut server = connected.map_err(|_| ErrorResponse::cannot_connect_now())?;
        let login = login::relay(client, &mut server, &self.port.failed_logins, &attempt);
        match timeout(LOGIN_TIMEOUT, login).await {
            Ok(Ok(Decision::Accepted)) => {
                drop((login_permit, self.pending_login));
                // Either side may close the connection at any time.
                _ = relay(client, &mut server, self.port.router.as_ref()).await;
            }
            Ok(Ok(Decision::Rejected {
                message,
                is_wrong_credential,
                check: _check,
            })) => {
                // Who waits for an error takes no place from others.
                drop((server, permit, login_permit));
                if is_wrong_credential {
                    self.delay_rejection(user, &attempt).await;
                }
                send(client, &message).await;
            }
            Ok(Ok(Decision::TooMany)) => return Err(ErrorResponse::too_many_failed_logins()),
            // One side is gone, or the client does not send its password.
            Ok(Err(_)) | Err(_) => {}
        }
        Ok(())
    }

    /// Who guesses passwords gets slower and slower replies.
    async fn delay_rejection(&self, user: &str, attempt: &Attempt) {
        let (failures, delay) = self.port.failed_logins.record(attempt);
        tracing::warn!(
            client = %self.peer,
            user,
            failures,
            "login to the database failed: wrong user or password"
        );
        tokio::time::sleep(delay).await;
    }
}

/// Sends a cancel request and waits until the server has closed the connection.
async fn cancel(socket: &Path, request: &[u8]) -> io::Result<()> {
    let mut server = connect(socket, request).await?;
    tokio::io::copy(&mut server, &mut tokio::io::sink()).await?;
    Ok(())
}

async fn connect(socket: &Path, opening: &[u8]) -> io::Result<UnixStream> {
    let mut server = UnixStream::connect(socket).await?;
    server.write_all(opening).await?;
    Ok(server)
}

/// How a connection begins.
enum First {
    Packet(Packet),
    /// The client begins a TLS handshake now.
    Tls,
}

/// Why no start-up packet was read.
enum StartupFailure {
    Reject(ErrorResponse),
    Disconnected,
}

impl StartupFailure {
    async fn report(self, client: &mut (impl AsyncRead + AsyncWrite + Unpin)) {
        if let Self::Reject(response) = self {
            send_error(client, &response).await;
        }
    }
}

impl From<io::Error> for StartupFailure {
    fn from(_: io::Error) -> Self {
        Self::Disconnected
    }
}

impl From<PacketError> for StartupFailure {
    fn from(error: PacketError) -> Self {
        Self::Reject(error.response())
    }
}

async fn is_tls_handshake(client: &TcpStream) -> io::Result<bool> {
    let mut first = [0];
    client.peek(&mut first).await?;
    Ok(first == [TLS_HANDSHAKE])
}

/// Reads the first packet that is not an encryption request, and not a byte more: what follows
/// belongs to the server, or to the TLS handshake.
async fn read_first<C>(client: &mut C, offers_tls: bool) -> Result<First, StartupFailure>
where
    C: AsyncRead + AsyncWrite + Unpin,
{
    for _ in 0..=MAX_ENCRYPTION_REQUESTS {
        let mut length = [0; 4];
        client.read_exact(&mut length).await?;
        let mut body = vec![0; body_length(length)?];
        client.read_exact(&mut body).await?;
        match Packet::parse(&body)? {
            Packet::TlsRequest if offers_tls => {
                client.write_all(b"S").await?;
                return Ok(First::Tls);
            }
            Packet::TlsRequest | Packet::GssRequest => client.write_all(b"N").await?,
            packet => return Ok(First::Packet(packet)),
        }
        client.flush().await?;
    }
    Err(PacketError::Layout.into())
}

async fn send_error(client: &mut (impl AsyncRead + AsyncWrite + Unpin), response: &ErrorResponse) {
    send(client, &response.render()).await;
}

/// Sends the last message and closes the connection in an orderly way.
async fn send(client: &mut (impl AsyncRead + AsyncWrite + Unpin), message: &[u8]) {
    let send = async {
        client.write_all(message).await?;
        client.shutdown().await?;
        // Closing with unread bytes would reset the connection, and the error could get lost.
        let mut rest = [0; 1024];
        while client.read(&mut rest).await? > 0 {}
        io::Result::Ok(())
    };
    _ = timeout(Duration::from_secs(1), send).await;
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;
    use tokio_rustls::rustls;

    use super::super::Routed;
    use super::*;

    struct Unchanged;

    impl Route for Unchanged {
        fn route(&self, user: &str, database: &str) -> Result<Routed, ErrorResponse> {
            Ok(Routed {
                user: user.to_owned(),
                database: database.to_owned(),
            })
        }
    }

    /// What a client from `peer` gets that sends these bytes and nothing more.
    async fn reply(peer: &str, tls: Option<TlsAcceptor>, bytes: &[u8]) -> Vec<u8> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap())
            .await
            .unwrap();
        let (accepted, _) = listener.accept().await.unwrap();
        client.write_all(bytes).await.unwrap();
        let port = Port {
            router: Arc::new(Unchanged),
            socket: Path::new("/nowhere").into(),
            limit: ConnectionLimit::new(1),
            tls,
            failed_logins: FailedLogins::default(),
            pending_logins: PendingLogins::default(),
        };
        let peer = peer.parse().unwrap();
        let connection = Connection {
            port: &port,
            peer,
            pending_login: port.pending_logins.enter(peer).unwrap(),
        };

        connection.serve(accepted).await;

        let mut reply = Vec::new();
        client.read_to_end(&mut reply).await.unwrap();
        reply
    }

    /// A certificate that no test gets to see.
    fn tls() -> TlsAcceptor {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(rustls::server::ResolvesServerCertUsingSni::new()));
        Arc::new(config).into()
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_sends_no_complete_packet_times_out() {
        let begin = tokio::time::Instant::now();

        let reply = reply("127.0.0.1", None, &[0, 0]).await;

        assert!(begin.elapsed() >= STARTUP_TIMEOUT);
        assert_eq!(reply, ErrorResponse::startup_timeout().render());
    }

    #[tokio::test]
    async fn other_machines_need_tls_where_there_is_a_certificate() {
        let startup = Startup {
            version: 3 << 16,
            parameters: vec![(b"user".to_vec(), b"postgres".to_vec())],
        };
        let startup = startup.render();
        let required = ErrorResponse::tls_required().render();
        let unreachable = ErrorResponse::cannot_connect_now().render();

        assert_eq!(reply("192.0.2.1", Some(tls()), &startup).await, required);
        assert_eq!(reply("192.0.2.1", None, &startup).await, unreachable);
        for local in ["127.80.76.73", "::1", "::ffff:127.0.0.1"] {
            assert_eq!(reply(local, Some(tls()), &startup).await, unreachable);
        }
    }
}
