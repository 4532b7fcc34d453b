//! Server, login role and database of a connection.

use std::{path::Path, pin::pin, str::FromStr, sync::Arc, time::Duration};

use futures_util::{StreamExt as _, stream};
use tokio_postgres::{
    AsyncMessage, Client, Config, NoTls, Socket, config::SslMode, tls::TlsStream,
};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::{
    DbError,
    error::describe,
    wire::{Connection, Purpose, open_session},
};

/// Timeout for connecting to the server.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Server, login role and database of a connection. Cheap to clone.
#[derive(Clone)]
pub struct Target {
    config: Arc<Config>,
    tls: Option<MakeRustlsConnect>,
}

impl std::fmt::Debug for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Target")
            .field("user", &self.config.get_user())
            .field("database", &self.config.get_dbname())
            .finish_non_exhaustive()
    }
}

/// A database URL that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error(
    "the database URL is not usable: {0}. Expected postgresql://user:password@host:5432/database"
)]
pub struct BadDatabaseUrl(String);

impl Target {
    /// A server behind a private unix socket.
    pub fn unix(socket_dir: &Path, port: u16, user: &str, password: &str, database: &str) -> Self {
        let mut config = Config::new();
        config
            .host_path(socket_dir)
            .port(port)
            .user(user)
            .password(password)
            .dbname(database);
        Self::from_config(config, None)
    }

    /// A server given as `postgresql://…`; `sslmode` decides about TLS (default `prefer`).
    pub fn from_url(url: &str) -> Result<Self, BadDatabaseUrl> {
        // libpq checks certificates only with these two modes; the driver knows neither.
        let (url, verify) = match url.split_once("sslmode=verify-") {
            Some((head, tail)) => {
                let rest = tail
                    .split_once('&')
                    .map_or(String::new(), |(_, rest)| format!("&{rest}"));
                (format!("{head}sslmode=require{rest}"), true)
            }
            None => (url.to_owned(), false),
        };
        let config = Config::from_str(&url).map_err(|e| BadDatabaseUrl(describe_parse(&e)))?;
        if config.get_hosts().is_empty() {
            return Err(BadDatabaseUrl("it names no host".to_owned()));
        }
        let wants_tls = config.get_ssl_mode() != SslMode::Disable;
        Ok(Self::from_config(
            config,
            wants_tls.then(|| crate::tls::connector(verify)),
        ))
    }

    fn from_config(mut config: Config, tls: Option<MakeRustlsConnect>) -> Self {
        config
            .connect_timeout(CONNECT_TIMEOUT)
            .application_name("plinth");
        Self {
            config: Arc::new(config),
            tls,
        }
    }

    /// The same server and role, another database.
    pub fn database(&self, name: &str) -> Self {
        self.with(|config| {
            config.dbname(name);
        })
    }

    /// The same server and database, another login.
    pub fn login(&self, user: &str, password: &str) -> Self {
        self.with(|config| {
            config.user(user).password(password);
        })
    }

    /// Run-time settings of the session, as in `-c role=postgres`.
    pub fn options(&self, options: &str) -> Self {
        self.with(|config| {
            config.options(options);
        })
    }

    /// The `application_name` in `pg_stat_activity`.
    pub fn application_name(&self, name: &str) -> Self {
        self.with(|config| {
            config.application_name(name);
        })
    }

    fn with(&self, change: impl FnOnce(&mut Config)) -> Self {
        let mut config = (*self.config).clone();
        change(&mut config);
        Self {
            config: Arc::new(config),
            tls: self.tls.clone(),
        }
    }

    /// The database name.
    pub fn database_name(&self) -> &str {
        self.config
            .get_dbname()
            .or(self.config.get_user())
            .unwrap_or("postgres")
    }

    /// The login role.
    pub fn user(&self) -> &str {
        self.config.get_user().unwrap_or("postgres")
    }

    /// Opens one connection and drives it in the background until the client is dropped.
    ///
    /// Every failure is worth a retry, also a rejected login, which the platform restores.
    pub async fn connect(&self) -> Result<Client, DbError> {
        let connected = match &self.tls {
            Some(tls) => self
                .config
                .connect(tls.clone())
                .await
                .map(|(client, connection)| {
                    drive(connection);
                    client
                }),
            None => self
                .config
                .connect(NoTls)
                .await
                .map(|(client, connection)| {
                    drive(connection);
                    client
                }),
        };
        connected.map_err(|error| DbError::from_connect_error(&error))
    }

    /// The same for a session that listens: `on_notification` is called for each NOTIFY, always before
    /// the response to a statement that was sent after the notifying transaction had ended. The
    /// session is closed at `stop`, even if the client is still there; what `stop` returns is dropped
    /// after that.
    pub async fn connect_listening<T: Send + 'static>(
        &self,
        stop: impl Future<Output = T> + Send + 'static,
        on_notification: impl FnMut() + Send + 'static,
    ) -> Result<Client, DbError> {
        let connected = match &self.tls {
            Some(tls) => self
                .config
                .connect(tls.clone())
                .await
                .map(|(client, connection)| {
                    tokio::spawn(drive_listening(connection, stop, on_notification));
                    client
                }),
            None => self
                .config
                .connect(NoTls)
                .await
                .map(|(client, connection)| {
                    tokio::spawn(drive_listening(connection, stop, on_notification));
                    client
                }),
        };
        connected.map_err(|error| DbError::from_connect_error(&error))
    }

    /// Opens a session of our own driver.
    pub(crate) async fn open(&self) -> Result<Connection, DbError> {
        open_session(self, Purpose::Statements).await
    }

    pub(crate) fn config(&self) -> &Config {
        &self.config
    }

    pub(crate) fn tls(&self) -> Option<MakeRustlsConnect> {
        self.tls.clone()
    }
}

/// The task ends by itself when the client is dropped or the server goes away.
fn drive<T>(connection: tokio_postgres::Connection<Socket, T>)
where
    T: TlsStream + Unpin + Send + 'static,
{
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(error = %describe(&error), "database connection ended");
        }
    });
}

async fn drive_listening<S, T>(
    mut connection: tokio_postgres::Connection<Socket, S>,
    stop: impl Future<Output = T>,
    mut on_notification: impl FnMut(),
) where
    S: TlsStream + Unpin,
{
    let messages = async move {
        let mut messages = stream::poll_fn(|cx| connection.poll_message(cx));
        while let Some(message) = messages.next().await {
            match message {
                Ok(AsyncMessage::Notification(_)) => on_notification(),
                Ok(_) => {}
                Err(error) => {
                    tracing::debug!(error = %describe(&error), "database connection ended");
                    return;
                }
            }
        }
    };
    let kept = {
        let mut messages = pin!(messages);
        tokio::select! {
            () = &mut messages => None,
            kept = stop => Some(kept),
        }
    };
    drop(kept);
}

fn describe_parse(error: &tokio_postgres::Error) -> String {
    let source = std::error::Error::source(error);
    source.map_or_else(|| error.to_string(), |cause| cause.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_without_a_host_or_with_a_bad_port_is_rejected() {
        assert!(Target::from_url("postgresql://").is_err());
        assert!(Target::from_url("postgresql://u@h:notaport/db").is_err());
        assert!(Target::from_url("mysql://u@h/db").is_err());
    }

    #[test]
    fn debug_prints_no_password() {
        let url = "postgresql://ada:open-sesame@localhost/db";
        let target = Target::from_url(url).expect("a good URL");

        assert!(!format!("{target:?}").contains("open-sesame"));
    }

    #[test]
    fn verify_full_is_understood() {
        let target =
            Target::from_url("postgresql://u:p@h:1/db?sslmode=verify-full&connect_timeout=3");
        assert_eq!(target.expect("a good URL").database_name(), "db");
    }
}
