//! Which addresses and ports the server takes.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use plinth_settings::Settings;

use crate::{
    cli::{PortChoice, StartArgs},
    failure::{Failure, Outcome},
    folder::{Folder, Ports},
};

use super::Form;

/// Where to listen; port 0 takes a free one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Addresses {
    pub(super) api: SocketAddr,
    pub(super) database: SocketAddr,
    /// Whether the ports are to be remembered for the next `--port auto`.
    pub(super) is_auto: bool,
}

impl Addresses {
    pub(super) fn choose(
        folder: &Folder,
        settings: &Settings,
        args: &StartArgs,
        form: Form,
    ) -> Outcome<Self> {
        let host = host(settings, args, form)?;
        let is_auto = args.port == Some(PortChoice::Auto);
        let remembered = is_auto
            .then(|| folder.remembered_ports())
            .flatten()
            .filter(are_free);
        let database_default = match form {
            Form::Development => settings.port("db.port"),
            Form::Production => match settings.source("db.port") {
                plinth_settings::Source::Default => 5432,
                _ => settings.port("db.port"),
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
            settings.port("api.port"),
            remembered.map(|ports| ports.api),
        );
        let database = choose(
            args.db_port,
            database_default,
            remembered.map(|ports| ports.database),
        );
        Ok(Self {
            api: SocketAddr::new(host, api),
            database: SocketAddr::new(host, database),
            is_auto,
        })
    }

    /// Whether nobody outside this machine can reach the server.
    pub(super) fn is_loopback(&self) -> bool {
        self.api.ip().is_loopback()
    }
}

fn host(settings: &Settings, args: &StartArgs, form: Form) -> Outcome<IpAddr> {
    if let Some(host) = args.host {
        return Ok(host);
    }
    if form == Form::Production
        && matches!(
            settings.source("plinth.host"),
            plinth_settings::Source::Default
        )
    {
        return Ok(Ipv4Addr::UNSPECIFIED.into());
    }
    let text = settings.text("plinth.host");
    text.parse().map_err(|_| {
        Failure::usage(format!(
            "plinth.host: {text:?} is not an IP address, as in 127.0.0.1"
        ))
    })
}

fn are_free(ports: &Ports) -> bool {
    [ports.api, ports.database]
        .iter()
        .all(|port| std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok())
}
