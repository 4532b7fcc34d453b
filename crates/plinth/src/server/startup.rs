//! What is checked before anything starts: settings, addresses and ports. A busy port is reported
//! before the time of starting PostgreSQL is spent.

use std::net::SocketAddr;

use plinth_gateway::{GatewayConfig, Tls};
use plinth_platform::{Endpoints, SecondFactor};
use plinth_postgres::DatabaseProxy;
use plinth_settings::{Loader, Settings, keys};
use tokio::net::TcpListener;

use super::{ServerMode, address::Addresses};
use crate::{
    cli::{Global, StartArgs},
    failure::{Failure, Outcome},
    folder::Folder,
};

/// Settings, folder and addresses of a start.
pub(super) struct Startup {
    pub(super) mode: ServerMode,
    pub(super) folder: Folder,
    /// Reads the settings again when a project is opened or the folder changes.
    pub(super) loader: Loader,
    pub(super) settings: Settings,
    /// URL of an external PostgreSQL; none for a managed one.
    pub(super) database_url: Option<String>,
    pub(super) is_migrating: bool,
    pub(super) addresses: Addresses,
    pub(super) gateway: GatewayConfig,
    /// The certificate of all ports, once one is bound.
    pub(super) tls: Option<Tls>,
}

/// The ports, bound but not served yet.
pub(super) struct Ports {
    pub(super) api: TcpListener,
    /// The S3 protocol alone.
    pub(super) s3: Option<TcpListener>,
    pub(super) database: Option<DatabaseProxy>,
}

impl Startup {
    pub(super) async fn open(
        global: &Global,
        args: &StartArgs,
        mode: ServerMode,
    ) -> Outcome<(Self, Ports)> {
        let mut startup = Self::prepare(global, args, mode)?;
        startup.folder.ensure_not_running()?;
        startup.check_second_factor()?;
        startup.tls = startup.gateway.tls.clone().map(Tls::load).transpose()?;
        let (addresses, gateway) = (&startup.addresses, &startup.gateway);
        if mode == ServerMode::Production
            && gateway.public_url.is_none()
            && !addresses.is_loopback()
        {
            tracing::warn!(
                "plinth.public_url is not set: links in mails use the IP address of this machine"
            );
        }
        let ports = Ports {
            api: plinth_gateway::bind(addresses.api).await?,
            s3: match startup.settings.get(keys::plinth_storage::S3_PORT) {
                Some(port) => {
                    let address = SocketAddr::new(addresses.api.ip(), port);
                    Some(plinth_gateway::bind(address).await?)
                }
                None => None,
            },
            database: match startup.database_url {
                Some(_) => None,
                None => Some(startup.bind_database().await?),
            },
        };
        Ok((startup, ports))
    }

    async fn bind_database(&self) -> Outcome<DatabaseProxy> {
        let addresses = &self.addresses;
        let proxy = DatabaseProxy::bind(addresses.database).await?;
        if let Some(tls) = &self.tls {
            return Ok(proxy.with_tls(tls.for_protocol("postgresql")));
        }
        if !addresses.is_database_on_loopback() {
            tracing::warn!(
                "the database port is open to other machines without TLS: passwords and data cross \
                 the network in the clear; set plinth.tls.cert_file and plinth.tls.key_file"
            );
        } else if self.mode == ServerMode::Production && !addresses.is_loopback() {
            tracing::info!(
                "the database port is open to this machine only, because there is no TLS; \
                 plinth.tls.*, or plinth.database.host, opens it to others"
            );
        }
        Ok(proxy)
    }

    /// The same without binding ports.
    pub(super) fn prepare(global: &Global, args: &StartArgs, mode: ServerMode) -> Outcome<Self> {
        let folder = Folder::find(global.workdir.as_deref(), global.data_dir.as_deref())?;
        let loader = loader(&folder, args);
        let loaded = loader.load()?;
        for warning in &loaded.warnings {
            tracing::warn!("{warning}");
        }
        let settings = loaded.settings;
        folder.create_state()?;

        let addresses = Addresses::choose(&folder, &settings, args, mode)?;
        let mut gateway = GatewayConfig::from_settings(&settings);
        gateway.open_metrics = mode == ServerMode::Development && addresses.is_loopback();
        let stored_url = settings
            .get(keys::plinth::DATABASE_URL)
            .map(|url| url.expose().to_owned());
        let database_url = args.database_url.clone().or(stored_url);
        let is_migrating = !args.no_migrate;
        Ok(Self {
            mode,
            folder,
            loader,
            settings,
            database_url,
            is_migrating,
            addresses,
            gateway,
            tls: None,
        })
    }

    /// Whether operators need a second factor.
    pub(super) fn second_factor(&self) -> SecondFactor {
        let is_optional = self.settings.get(keys::plinth::OPERATORS_MFA) == "optional";
        if is_optional && self.is_private() {
            SecondFactor::Optional
        } else {
            SecondFactor::Required
        }
    }

    /// Whether nobody on another machine can reach this server, as far as we know.
    fn is_private(&self) -> bool {
        self.mode == ServerMode::Development
            && self.addresses.is_loopback()
            && self.gateway.public_url.is_none()
    }

    fn check_second_factor(&self) -> Outcome {
        let is_optional = self.settings.get(keys::plinth::OPERATORS_MFA) == "optional";
        if is_optional && !self.is_private() {
            return Err(Failure::usage(
                "plinth.operators.mfa = \"optional\" is for `plinth start` on loopback without a public URL",
            )
            .next_step("Leave it out: then every operator needs a second factor."));
        }
        Ok(())
    }

    /// Whether the database password is the fixed one that local tools assume: in development on
    /// loopback.
    pub(super) fn has_fixed_password(&self) -> bool {
        self.mode == ServerMode::Development
            && self.addresses.is_loopback()
            && self.addresses.is_database_on_loopback()
    }

    /// Public addresses of API and database.
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
            .map(DatabaseProxy::local_addr)
            .transpose()?;
        Ok(Endpoints {
            api_url,
            database: database.map(|at| (reachable_host(at), at.port())),
            domain: self.gateway.domain.clone(),
            external_database,
        })
    }
}

fn loader(folder: &Folder, args: &StartArgs) -> Loader {
    let mut loader = Loader::new().folder(&folder.root).process_environment();
    for (name, path) in [
        (keys::plinth_functions::ENV_FILE.path(), &args.env_file),
        (keys::plinth_functions::IMPORT_MAP.path(), &args.import_map),
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

/// A host for URLs; 127.0.0.1 if the server listens on all addresses.
fn reachable_host(address: SocketAddr) -> String {
    match address {
        address if address.ip().is_unspecified() => "127.0.0.1".to_owned(),
        SocketAddr::V4(address) => address.ip().to_string(),
        SocketAddr::V6(address) => format!("[{}]", address.ip()),
    }
}
