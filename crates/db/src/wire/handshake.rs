//! From a configuration to an open session.
//!
//! Passwords, SCRAM with its channel binding and TLS are `tokio-postgres`' business: it gets the
//! socket for as long as that takes. What it makes of it is dropped, and the session is ours.

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
    socket::{Place, Socket, places},
    startup::StartupParameter,
};
use crate::{DbError, Target};

/// What stops a statement of one session from outside.
pub(super) struct CancelHandle {
    token: CancelToken,
    target: Target,
    place: Place,
}

/// What a session is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    Statements,
    /// The server sends changes, and understands few commands besides.
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

/// Opens a session with the first server that takes us.
pub(crate) async fn shake_hands(target: &Target, purpose: Purpose) -> Result<Connection, DbError> {
    let mut failure = DbError::Unavailable("the configuration names no server".to_owned());
    for place in places(target.config()) {
        match at(place, target, purpose).await {
            Ok(connection) => return Ok(connection),
            Err(error) => failure = error,
        }
    }
    Err(failure)
}

async fn at(place: Place, target: &Target, purpose: Purpose) -> Result<Connection, DbError> {
    let config = target.config();
    let socket = Socket::connect(&place, config).await.map_err(unreachable)?;
    let plain = Handover::of(socket).adding(purpose.parameter());
    let (stream, token) = match target.tls() {
        Some(tls) => {
            let adds = purpose.parameter();
            encrypted(&place, config, tls, plain, adds).await?
        }
        None => {
            let token = introduce(config, &plain, NoTls).await?;
            (taken(&plain)?, token)
        }
    };
    let stream = stream.ok_or_else(|| unreachable("the connection was lost"))?;
    let mut connection = Connection::new(
        stream,
        CancelHandle {
            token,
            target: target.clone(),
            place,
        },
    );
    let wanted = config.get_target_session_attrs();
    match is_wanted(&mut connection, wanted).await? {
        true => Ok(connection),
        false => Err(unreachable(format!("the server is not {wanted:?}"))),
    }
}

async fn encrypted(
    place: &Place,
    config: &Config,
    mut tls: MakeRustlsConnect,
    plain: Handover<Socket>,
    adds: Option<StartupParameter>,
) -> Result<(Option<Stream>, CancelToken), DbError> {
    let tls = MakeTlsConnect::<Handover<Socket>>::make_tls_connect(&mut tls, &place.name);
    let encrypted = Handover::empty().adding(adds);
    let encrypting = Encrypting {
        tls: tls.map_err(unreachable)?,
        encrypted: encrypted.clone(),
    };
    let token = introduce(config, &plain, encrypting).await?;
    match encrypted.take().map_err(unreachable)? {
        Some(stream) => Ok((Some(Stream::Encrypted(Box::new(stream))), token)),
        // The server speaks no TLS, and that was allowed.
        None => Ok((taken(&plain)?, token)),
    }
}

fn taken(plain: &Handover<Socket>) -> Result<Option<Stream>, DbError> {
    let socket = plain.take().map_err(unreachable)?;
    Ok(socket.map(Stream::Plain))
}

async fn introduce<T>(
    config: &Config,
    plain: &Handover<Socket>,
    tls: T,
) -> Result<CancelToken, DbError>
where
    T: TlsConnect<Handover<Socket>>,
{
    let introduced = config.connect_raw(plain.clone(), tls).await;
    let (client, _connection) = introduced.map_err(|error| DbError::of_connecting(&error))?;
    Ok(client.cancel_token())
}

async fn is_wanted(
    connection: &mut Connection,
    wanted: TargetSessionAttrs,
) -> Result<bool, DbError> {
    if wanted == TargetSessionAttrs::Any {
        return Ok(true);
    }
    let rows = connection.simple_query("show transaction_read_only");
    let rows = rows.await?;
    let answer: Option<&str> = rows.first().and_then(|row| row.try_get(0).ok());
    Ok((answer == Some("on")) == (wanted == TargetSessionAttrs::ReadOnly))
}

fn unreachable(error: impl ToString) -> DbError {
    DbError::Unavailable(error.to_string())
}

impl CancelHandle {
    /// Asks the server to stop what the session is doing.
    pub(super) async fn send(&self) -> Result<(), DbError> {
        let socket = Socket::connect(&self.place, self.target.config()).await;
        let socket = socket.map_err(unreachable)?;
        match self.target.tls() {
            Some(mut tls) => {
                let tls = MakeTlsConnect::<Socket>::make_tls_connect(&mut tls, &self.place.name);
                let tls = tls.map_err(unreachable)?;
                self.token.cancel_query_raw(socket, tls).await?;
            }
            None => self.token.cancel_query_raw(socket, NoTls).await?,
        }
        Ok(())
    }
}
