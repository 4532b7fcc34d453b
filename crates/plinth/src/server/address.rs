//! Addresses and ports of the server.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use plinth_settings::{Settings, keys};

use crate::{
    cli::{PortChoice, StartArgs},
    failure::{Failure, Outcome},
    folder::{Folder, Ports},
};

use super::ServerMode;

/// Addresses to listen on; port 0 means any free one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Addresses {
    pub(super) api: SocketAddr,
    pub(super) database: SocketAddr,
    /// Whether the ports are stored for the next `--port auto`.
    pub(super) is_auto: bool,
}

impl Addresses {
    pub(super) fn choose(
        folder: &Folder,
        settings: &Settings,
        args: &StartArgs,
        mode: ServerMode,
    ) -> Outcome<Self> {
        let host = host(settings, args, mode)?;
        let database_host = database_host(settings, args, mode, host)?;
        let is_auto = args.port == Some(PortChoice::Auto);
        let remembered = is_auto
            .then(|| folder.remembered_ports())
            .flatten()
            .filter(are_free);
        let database_default = match mode {
            ServerMode::Development => settings.get(keys::db::PORT),
            ServerMode::Production => match settings.source_of(keys::db::PORT) {
                plinth_settings::Source::Default => 5432,
                _ => settings.get(keys::db::PORT),
            },
        };
        let choose = |choice: Option<PortChoice>, fixed: u16, before: Option<u16>| match choice {
            Some(PortChoice::Fixed(port)) => port,
            Some(PortChoice::Auto) => before.unwrap_or(0),
            None if is_auto => before.unwrap_or(0),
            None => fixed,
        };
        let api = choose(
            args.port,
            settings.get(keys::api::PORT),
            remembered.map(|ports| ports.api),
        );
        let database = choose(
            args.db_port,
            database_default,
            remembered.map(|ports| ports.database),
        );
        Ok(Self {
            api: SocketAddr::new(host, api),
            database: SocketAddr::new(database_host, database),
            is_auto,
        })
    }

    /// Whether the API can be reached from this machine only.
    pub(super) fn is_loopback(&self) -> bool {
        self.api.ip().is_loopback()
    }

    /// Whether the database can be reached from this machine only.
    pub(super) fn is_database_on_loopback(&self) -> bool {
        self.database.ip().is_loopback()
    }
}

fn host(settings: &Settings, args: &StartArgs, mode: ServerMode) -> Outcome<IpAddr> {
    if let Some(host) = args.host {
        return Ok(host);
    }
    if mode == ServerMode::Production
        && matches!(
            settings.source_of(keys::plinth::HOST),
            plinth_settings::Source::Default
        )
    {
        return Ok(Ipv4Addr::UNSPECIFIED.into());
    }
    parse_host("plinth.host", settings.get(keys::plinth::HOST))
}

/// In production the database port is open to other machines only with TLS, or where the settings
/// allow it.
fn database_host(
    settings: &Settings,
    args: &StartArgs,
    mode: ServerMode,
    api_host: IpAddr,
) -> Outcome<IpAddr> {
    if let Some(host) = args.db_host {
        return Ok(host);
    }
    if let Some(text) = settings.get(keys::plinth::DATABASE_HOST) {
        return parse_host("plinth.database.host", text);
    }
    let has_tls = settings.get(keys::plinth::TLS_CERT_FILE).is_some();
    Ok(match mode {
        ServerMode::Production if !has_tls && !api_host.is_loopback() => Ipv4Addr::LOCALHOST.into(),
        _ => api_host,
    })
}

fn parse_host(name: &str, text: &str) -> Outcome<IpAddr> {
    text.parse().map_err(|_| {
        Failure::usage(format!(
            "{name}: {text:?} is not an IP address, as in 127.0.0.1"
        ))
    })
}

fn are_free(ports: &Ports) -> bool {
    [ports.api, ports.database]
        .iter()
        .all(|port| std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok())
}
