//! Opening a session.
//!
//! TLS, passwords and SCRAM with channel binding are left to `tokio-postgres`: it borrows the socket
//! for the handshake; its own connection object is then dropped.

use tokio_postgres::{
    CancelToken, Config, NoTls,
    config::TargetSessionAttrs,
    tls::{MakeTlsConnect, TlsConnect},
};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::{
    channel::Stream,
    connection::Connection,
    handover::{Encrypting, Handover},
    socket::{Endpoint, Socket, endpoints},
    startup::StartupParameter,
};
use crate::{DbError, Target};

/// Sends cancel requests for one session.
pub(super) struct CancelHandle {
    token: CancelToken,
    target: Target,
    endpoint: Endpoint,
}

/// Kind of session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    Statements,
    /// For replication commands and streaming.
    Replication,
}

impl Purpose {
    fn parameter(self) -> Option<StartupParameter> {
        match self {
            Self::Statements => None,
            Self::Replication => Some(StartupParameter::new("replication", "database")),
        }
    }
}

/// Opens a session with the first server that accepts it.
pub(crate) async fn open_session(target: &Target, purpose: Purpose) -> Result<Connection, DbError> {
    let mut failure = DbError::Unavailable("the configuration names no server".to_owned());
    for endpoint in endpoints(target.config()) {
        match connect_to(endpoint, target, purpose).await {
            Ok(connection) => return Ok(connection),
            Err(error) => failure = error,
        }
    }
    Err(failure)
}

async fn connect_to(
    endpoint: Endpoint,
    target: &Target,
    purpose: Purpose,
) -> Result<Connection, DbError> {
    let config = target.config();
    let socket = Socket::connect(&endpoint, config)
        .await
        .map_err(unreachable)?;
    let plain = Handover::of(socket).with_parameter(purpose.parameter());
    let (stream, token) = match target.tls() {
        Some(tls) => {
            let parameter = purpose.parameter();
            encrypted(&endpoint, config, tls, plain, parameter).await?
        }
        None => {
            let token = start_session(config, &plain, NoTls).await?;
            (take_plain(&plain)?, token)
        }
    };
    let stream = stream.ok_or_else(|| unreachable("the connection was lost"))?;
    let mut connection = Connection::new(
        stream,
        CancelHandle {
            token,
            target: target.clone(),
            endpoint,
        },
    );
    let wanted = config.get_target_session_attrs();
    if matches_session_attrs(&mut connection, wanted).await? {
        Ok(connection)
    } else {
        Err(unreachable(format!("the server is not {wanted:?}")))
    }
}

async fn encrypted(
    endpoint: &Endpoint,
    config: &Config,
    mut tls: MakeRustlsConnect,
    plain: Handover<Socket>,
    parameter: Option<StartupParameter>,
) -> Result<(Option<Stream>, CancelToken), DbError> {
    let tls = MakeTlsConnect::<Handover<Socket>>::make_tls_connect(&mut tls, &endpoint.name);
    let encrypted = Handover::empty().with_parameter(parameter);
    let encrypting = Encrypting {
        tls: tls.map_err(unreachable)?,
        encrypted: encrypted.clone(),
    };
    let token = start_session(config, &plain, encrypting).await?;
    match encrypted.take().map_err(unreachable)? {
        Some(stream) => Ok((Some(Stream::Encrypted(Box::new(stream))), token)),
        // The server does not support TLS, and `sslmode` allows that.
        None => Ok((take_plain(&plain)?, token)),
    }
}

fn take_plain(plain: &Handover<Socket>) -> Result<Option<Stream>, DbError> {
    let socket = plain.take().map_err(unreachable)?;
    Ok(socket.map(Stream::Plain))
}

async fn start_session<T>(
    config: &Config,
    plain: &Handover<Socket>,
    tls: T,
) -> Result<CancelToken, DbError>
where
    T: TlsConnect<Handover<Socket>>,
{
    let started = config.connect_raw(plain.clone(), tls).await;
    let (client, _connection) = started.map_err(|error| DbError::from_connect_error(&error))?;
    Ok(client.cancel_token())
}

async fn matches_session_attrs(
    connection: &mut Connection,
    wanted: TargetSessionAttrs,
) -> Result<bool, DbError> {
    if wanted == TargetSessionAttrs::Any {
        return Ok(true);
    }
    let rows = connection.simple_query("show transaction_read_only");
    let rows = rows.await?;
    let response: Option<&str> = rows.first().and_then(|row| row.try_get(0).ok());
    Ok((response == Some("on")) == (wanted == TargetSessionAttrs::ReadOnly))
}

fn unreachable(error: impl ToString) -> DbError {
    DbError::Unavailable(error.to_string())
}

impl CancelHandle {
    /// Sends a cancel request.
    pub(super) async fn send(&self) -> Result<(), DbError> {
        let socket = Socket::connect(&self.endpoint, self.target.config()).await;
        let socket = socket.map_err(unreachable)?;
        match self.target.tls() {
            Some(mut tls) => {
                let tls = MakeTlsConnect::<Socket>::make_tls_connect(&mut tls, &self.endpoint.name);
                let tls = tls.map_err(unreachable)?;
                self.token.cancel_query_raw(socket, tls).await?;
            }
            None => self.token.cancel_query_raw(socket, NoTls).await?,
        }
        Ok(())
    }
}
