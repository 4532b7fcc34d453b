//! What is settled before anything starts: settings, addresses and open ports. A busy port should
//! not cost the time of starting PostgreSQL.

use std::net::SocketAddr;

use plinth_gateway::GatewayConfig;
use plinth_platform::Endpoints;
use plinth_postgres::FrontDoor;
use plinth_settings::{Loader, Settings};
use tokio::net::TcpListener;

use super::{Form, address::Addresses};
use crate::{
    cli::{Global, StartArgs},
    failure::Outcome,
    folder::Folder,
};

/// Everything that a start is given, checked.
pub(super) struct Entrance {
    pub(super) form: Form,
    pub(super) folder: Folder,
    /// Reads the settings again when a project is opened or the folder changes.
    pub(super) loader: Loader,
    pub(super) settings: Settings,
    /// An external PostgreSQL, instead of one of our own.
    pub(super) database_url: Option<String>,
    pub(super) is_migrating: bool,
    pub(super) addresses: Addresses,
    pub(super) gateway: GatewayConfig,
}

/// The ports, open but not served yet.
pub(super) struct Ports {
    pub(super) api: TcpListener,
    pub(super) database: Option<FrontDoor>,
}

impl Entrance {
    pub(super) async fn open(
        global: &Global,
        args: &StartArgs,
        form: Form,
    ) -> Outcome<(Self, Ports)> {
        let entrance = Self::prepare(global, args, form)?;
        let (addresses, gateway) = (&entrance.addresses, &entrance.gateway);
        if form == Form::Production && gateway.public_url.is_none() && !addresses.is_loopback() {
            tracing::warn!(
                "plinth.public_url is not set: links in mails lead to the IP address of this machine"
            );
        }
        let ports = Ports {
            api: plinth_gateway::bind(addresses.api).await?,
            database: match entrance.database_url {
                Some(_) => None,
                None => Some(FrontDoor::bind(addresses.database).await?),
            },
        };
        Ok((entrance, ports))
    }

    /// The same without a port.
    pub(super) fn prepare(global: &Global, args: &StartArgs, form: Form) -> Outcome<Self> {
        let folder = Folder::find(global.workdir.as_deref(), global.data_dir.as_deref())?;
        let loader = loader(&folder, args);
        let loaded = loader.load()?;
        for warning in &loaded.warnings {
            tracing::warn!("{warning}");
        }
        let settings = loaded.settings;
        folder.create_state()?;

        let addresses = Addresses::choose(&folder, &settings, args, form)?;
        let mut gateway = GatewayConfig::from_settings(&settings);
        gateway.open_metrics = form == Form::Development && addresses.is_loopback();
        let stored_url = settings
            .secret("plinth.database.url")
            .map(|url| url.expose().to_owned());
        let database_url = args.database_url.clone().or(stored_url);
        let is_migrating = !args.no_migrate;
        Ok(Self {
            form,
            folder,
            loader,
            settings,
            database_url,
            is_migrating,
            addresses,
            gateway,
        })
    }

    /// On loopback the database's password is the one that every local tool assumes.
    pub(super) fn has_well_known_password(&self) -> bool {
        self.form == Form::Development && self.addresses.is_loopback()
    }

    /// Where the outside finds us.
    pub(super) fn endpoints(
        &self,
        ports: &Ports,
        external_database: Option<String>,
    ) -> Outcome<Endpoints> {
        let api = ports.api.local_addr()?;
        let host = reachable_host(api);
        let scheme = if self.gateway.tls.is_some() {
            "https"
        } else {
            "http"
        };
        let api_url = match &self.gateway.public_url {
            Some(url) => url.as_str().trim_end_matches('/').to_owned(),
            None => format!("{scheme}://{host}:{}", api.port()),
        };
        let database = ports
            .database
            .as_ref()
            .map(FrontDoor::local_addr)
            .transpose()?;
        Ok(Endpoints {
            api_url,
            database: database.map(|at| (host, at.port())),
            domain: self.gateway.domain.clone(),
            external_database,
        })
    }
}

fn loader(folder: &Folder, args: &StartArgs) -> Loader {
    let mut loader = Loader::new().folder(&folder.root).process_environment();
    for (name, path) in [
        ("plinth.functions.env_file", &args.env_file),
        ("plinth.functions.import_map", &args.import_map),
    ] {
        if let Some(path) = path {
            loader = loader.command_line(name, path.to_string_lossy());
        }
    }
    if args.no_verify_jwt {
        loader = loader.command_line("plinth.functions.verify_jwt", "false");
    }
    for assignment in &args.set {
        loader = loader.command_line(&assignment.name, &assignment.value);
    }
    loader
}

/// Who listens everywhere is found on this machine too.
fn reachable_host(address: SocketAddr) -> String {
    match address {
        address if address.ip().is_unspecified() => "127.0.0.1".to_owned(),
        SocketAddr::V4(address) => address.ip().to_string(),
        SocketAddr::V6(address) => format!("[{}]", address.ip()),
    }
}
