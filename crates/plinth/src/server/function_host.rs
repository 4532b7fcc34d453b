//! Wiring of the functions service: addresses at which workers reach Plinth, and the keys in their
//! environment.

use std::{
    collections::BTreeMap,
    error::Error,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::Arc,
};

use plinth_functions::{Deno, FunctionsParts, FunctionsService};
use plinth_platform::{Endpoints, Platform, PlatformError};
use plinth_postgres::DatabaseProxy;
use plinth_project::{BoxFuture, FunctionEnvironment, FunctionHost, ProjectName, ProjectRef};
use plinth_settings::keys;
use plinth_token::{ApiKeyKind, Secret};
use tokio::net::TcpListener;

use super::{
    ServerMode, code_folder, runtime_dirs,
    startup::{Ports, Startup},
};
use crate::failure::Outcome;

/// A loopback address that only Plinth listens on. Workers may connect to no other private address,
/// and Deno's permissions are per address, not per port.
const WORKER_ADDRESS: Ipv4Addr = Ipv4Addr::new(127, 80, 76, 73);

/// Listeners for workers only.
pub(super) struct WorkerListeners {
    pub(super) api: Option<TcpListener>,
    pub(super) database: Option<DatabaseProxy>,
    /// Where workers connect to, if that is an address of their own.
    pub(super) address: Option<IpAddr>,
}

impl WorkerListeners {
    /// Binds the public ports on [`WORKER_ADDRESS`] too. Without that address workers use the public
    /// one.
    pub(super) async fn bind(ports: &Ports) -> Outcome<Self> {
        let none = Self {
            api: None,
            database: None,
            address: None,
        };
        if !cfg!(target_os = "linux") {
            return Ok(none);
        }
        let public = ports.api.local_addr()?;
        let database = ports
            .database
            .as_ref()
            .map(DatabaseProxy::local_addr)
            .transpose()?;
        let address = Some(IpAddr::from(WORKER_ADDRESS));
        // Listening on all addresses includes this one.
        let internal = |public: SocketAddr| {
            let address = SocketAddr::new(WORKER_ADDRESS.into(), public.port());
            (!public.ip().is_unspecified()).then_some(address)
        };
        let api = match internal(public) {
            Some(address) => match TcpListener::bind(address).await {
                Ok(listener) => Some(listener),
                Err(_) => return Ok(none),
            },
            None => None,
        };
        let database = match database.and_then(internal) {
            Some(address) => match DatabaseProxy::bind(address).await {
                Ok(proxy) => Some(proxy),
                Err(_) => return Ok(none),
            },
            None => None,
        };
        Ok(Self {
            api,
            database,
            address,
        })
    }
}

/// The functions service for this folder.
pub(super) fn service(
    startup: &Startup,
    platform: &Platform,
    endpoints: &Endpoints,
    ports: &Ports,
    workers: &WorkerListeners,
) -> Outcome<FunctionsService> {
    let settings = &startup.settings;
    let max_workers = settings.get(keys::plinth_functions::MAX_WORKERS_TOTAL);
    let host = PlatformHost {
        platform: platform.clone(),
        api_url: internal_url(startup, endpoints, ports, workers)?,
        database: workers.address.filter(|_| endpoints.database.is_some()),
    };
    let state = startup.folder.state();
    let home = code_folder::open(state)?;
    Ok(FunctionsService::new(FunctionsParts {
        deno: Deno::find(&runtime_dirs()).for_workers(),
        users: code_folder::user_table(state, &home)?,
        home,
        folder: Some(startup.folder.root.clone()),
        is_developing: startup.mode == ServerMode::Development,
        max_workers,
        internal_address: workers.address,
        host: Arc::new(host),
    }))
}

/// Plinth's base URL for workers.
fn internal_url(
    startup: &Startup,
    endpoints: &Endpoints,
    ports: &Ports,
    workers: &WorkerListeners,
) -> Outcome<String> {
    if let Some(url) = startup.settings.get(keys::plinth_functions::INTERNAL_URL) {
        return Ok(url.url().as_str().trim_end_matches('/').to_owned());
    }
    // The certificate is valid for the public name only.
    if startup.gateway.tls.is_some() {
        return Ok(endpoints.api_url.clone());
    }
    let public = ports.api.local_addr()?;
    let address = match workers.address {
        Some(address) => address,
        None if public.ip().is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        None => public.ip(),
    };
    let base = SocketAddr::new(address, public.port());
    Ok(format!("http://{base}"))
}

/// Environment of functions, from the platform's data.
struct PlatformHost {
    platform: Platform,
    api_url: String,
    /// The database proxy's address for workers, if it differs from the public one.
    database: Option<IpAddr>,
}

impl FunctionHost for PlatformHost {
    fn environment<'a>(
        &'a self,
        project: &'a ProjectRef,
    ) -> BoxFuture<'a, Result<FunctionEnvironment, Box<dyn Error + Send + Sync>>> {
        Box::pin(async move { Ok(self.read(project).await?) })
    }
}

impl PlatformHost {
    async fn read(&self, project: &ProjectRef) -> Result<FunctionEnvironment, PlatformError> {
        let name = ProjectName::Ref(project.clone());
        let is_default = *project == self.platform.references().default;
        let status = self.platform.status(&name).await?;
        let value = |name| status.get(name).unwrap_or_default();
        let keys = self.platform.list_api_keys(&name).await?;
        let of_kind = |kind, first: &str| -> BTreeMap<String, Secret> {
            let live = keys
                .iter()
                .filter(|key| key.kind == kind && key.revoked_at.is_none());
            let mut named: BTreeMap<_, _> = live
                .map(|key| (key.name.clone(), key.value.clone()))
                .collect();
            // The key that `plinth status` shows, which may come from the configuration.
            if !first.is_empty() {
                named.insert("default".to_owned(), Secret::new(first));
            }
            named
        };
        Ok(FunctionEnvironment {
            api_url: if is_default {
                self.api_url.clone()
            } else {
                format!("{}/p/{project}", self.api_url)
            },
            public_url: value("API_URL").to_owned(),
            database_url: Secret::new(self.internal_database_url(value("DB_URL"))),
            anon_key: Secret::new(value("ANON_KEY")),
            service_role_key: Secret::new(value("SERVICE_ROLE_KEY")),
            publishable_keys: of_kind(ApiKeyKind::Publishable, value("PUBLISHABLE_KEY")),
            secret_keys: of_kind(ApiKeyKind::Secret, value("SECRET_KEY")),
        })
    }

    /// The connection string with the host that workers use.
    fn internal_database_url(&self, url: &str) -> String {
        let Some(address) = self.database else {
            return url.to_owned();
        };
        match url.parse::<url::Url>() {
            Ok(mut url) => {
                _ = url.set_host(Some(&address.to_string()));
                url.into()
            }
            Err(_) => url.to_owned(),
        }
    }
}
