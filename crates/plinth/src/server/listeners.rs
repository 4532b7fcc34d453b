//! All listeners: the HTTP edge, the control socket, the database proxy.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use anyhow::anyhow;
use axum::{Router, routing::get};
use plinth_auth::AuthService;
use plinth_functions::FunctionsService;
use plinth_gateway::{
    Gateway, GatewayConfig, GatewayParts, InternalCalls, Metrics, Mount, Mounts, Readiness, Tls,
};
use plinth_log::{LogStore, Source};
use plinth_platform::{Assets, Platform, api, api::ControlSocket};
use plinth_postgres::DatabaseProxy;
use plinth_project::Registry;
use plinth_realtime::RealtimeService;
use plinth_settings::{Settings, keys};
use plinth_storage::StorageService;
use tokio::net::TcpListener;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::database_proxy::ProxyRouter;
use crate::failure::Outcome;

const CONTROL_SOCKET_TIMEOUT: Duration = Duration::from_secs(5);

/// The services behind the edge.
pub(super) struct Services<'a> {
    pub(super) platform: &'a Platform,
    pub(super) registry: &'a Registry,
    pub(super) auth: &'a AuthService,
    pub(super) storage: &'a StorageService,
    pub(super) realtime: &'a RealtimeService,
    pub(super) functions: &'a FunctionsService,
    pub(super) pages: AccountPages,
    pub(super) logs: &'a LogStore,
}

/// Files of the account pages, and their path in the default project.
pub(super) struct AccountPages {
    pub(super) assets: Assets,
    pub(super) path: String,
}

impl AccountPages {
    pub(super) fn from_settings(settings: &Settings) -> Self {
        Self {
            assets: Assets::new(settings.get(keys::plinth::WEB_DIR)),
            path: settings.get(keys::plinth_account::PATH).to_owned(),
        }
    }
}

/// Everything that accepts connections; ended by [`Listeners::drain`].
pub(super) struct Listeners {
    tasks: TaskTracker,
    shutdown: CancellationToken,
    drain_timeout: Duration,
}

impl Listeners {
    pub(super) fn new(drain_timeout: Duration) -> Self {
        Self {
            tasks: TaskTracker::new(),
            shutdown: CancellationToken::new(),
            drain_timeout,
        }
    }

    /// For `plinth` commands of the user who started this process.
    pub(super) async fn open_control_socket(
        &mut self,
        path: &Path,
        platform: &Platform,
    ) -> Outcome {
        let router = api::routes(platform.clone());
        let (shutdown, timeout) = (self.shutdown.clone(), self.drain_timeout);
        let path = path.to_owned();
        let socket = path.clone();
        let mut serving = self.tasks.spawn(async move {
            let mark = |extensions: &mut http::Extensions| {
                extensions.insert(ControlSocket);
            };
            plinth_gateway::serve_unix(&socket, router, mark, shutdown, timeout).await
        });
        let opened = async {
            while !path.exists() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::select! {
            ended = &mut serving => match ended? {
                Ok(_) => Err(anyhow!("the control socket closed at once").into()),
                Err(error) => Err(error.into()),
            },
            () = opened => Ok(()),
            () = tokio::time::sleep(CONTROL_SOCKET_TIMEOUT) => {
                Err(anyhow!("timeout: the control socket {} did not open", path.display()).into())
            }
        }
    }

    /// For psql and other tools.
    pub(super) fn open_database_proxy(
        &mut self,
        proxy: DatabaseProxy,
        router: Arc<ProxyRouter>,
        socket: PathBuf,
    ) {
        self.tasks
            .spawn(proxy.serve(router, socket, self.shutdown.clone()));
    }

    /// The HTTP edge with all services, and where there is such a port, one with the S3 protocol
    /// alone.
    pub(super) fn open_edge(
        &mut self,
        listeners: impl IntoIterator<Item = TcpListener>,
        s3: Option<TcpListener>,
        config: GatewayConfig,
        tls: Option<Tls>,
        services: Services<'_>,
    ) -> Outcome {
        let Services {
            platform,
            registry,
            auth,
            storage,
            realtime,
            functions,
            pages,
            logs,
        } = services;
        let landing = Router::new()
            .route("/", get(plinth_platform::landing_page))
            .with_state(platform.clone());
        let auth_routes = plinth_auth::routes(auth.clone());
        let auth = Mount::new("/auth/v1", Source::Auth, auth_routes.clone())
            .requires_api_key(plinth_auth::is_open_route);
        let rest = plinth_rest::routes(plinth_rest::RestService::new());
        let rest = Mount::new("/rest/v1", Source::Rest, rest)
            .requires_api_key(|_, _| false)
            .with_filters_in_query()
            .with_user_content();
        let s3_routes = plinth_storage::s3_routes(storage.clone());
        let storage = plinth_storage::routes(storage.clone());
        // Large uploads and downloads take long; the service has its own idle timeouts.
        let storage = Mount::new("/storage/v1", Source::Storage, storage)
            .requires_api_key(plinth_storage::is_open_route)
            .with_optional_api_key(plinth_storage::is_optional_key_route)
            .with_own_token_check()
            .with_user_content()
            .without_timeout();
        let realtime_service = realtime;
        let sockets = plinth_realtime::socket_routes(realtime.clone());
        let realtime = plinth_realtime::routes(realtime.clone());
        // A rejected socket gets its response after a deliberate delay.
        let [realtime, sockets] =
            [("/realtime/v1", realtime), ("/socket", sockets)].map(|(at, routes)| {
                Mount::new(at, Source::Realtime, routes)
                    .requires_api_key(plinth_realtime::is_open_route)
                    .with_own_token_check()
                    .without_timeout()
            });
        let functions = plinth_functions::routes(functions.clone());
        // Functions have their own timeouts and checks of credentials (`verify_jwt`), and return
        // documents written by users.
        let functions = Mount::new("/functions/v1", Source::Functions, functions)
            .without_timeout()
            .with_user_content();
        let AccountPages { assets, path } = pages;
        let is_page = move |requested: &str| plinth_platform::is_account_page(&path, requested);
        let pages = plinth_platform::account_pages(platform.clone(), assets, auth_routes);
        let mounts = Mounts::new(api::routes(platform.clone()), landing)
            .service(auth)
            .service(rest)
            .service(storage)
            .service(realtime)
            .service(sockets)
            .service(functions)
            .pages(Source::Api, pages, is_page);
        platform.attach_services(Arc::new(InternalCalls::new(&mounts)));
        let checked = (platform.clone(), realtime_service.clone());
        let metrics = Metrics::install()?;
        plinth_realtime::describe_metrics();
        plinth_functions::describe_metrics();
        plinth_rest::describe_metrics();
        let gateway = |mounts: Mounts, metrics: Option<Metrics>| {
            let checked = checked.clone();
            Gateway::new(GatewayParts {
                config: config.clone(),
                mounts,
                resolver: Arc::new(registry.clone()),
                logs: logs.clone(),
                platform: platform.references().platform.clone(),
                metrics,
                ready: Arc::new(move || {
                    let (platform, realtime) = checked.clone();
                    Box::pin(async move { readiness(&platform, &realtime).await })
                }),
            })
        };
        let all = gateway(mounts, Some(metrics));
        for listener in listeners {
            self.serve(listener, tls.clone(), all.clone());
        }
        if let Some(listener) = s3 {
            let s3 = gateway(Mounts::only(Source::Storage, s3_routes), None);
            self.serve(listener, tls, s3);
        }
        Ok(())
    }

    fn serve(&self, listener: TcpListener, tls: Option<Tls>, gateway: Gateway) {
        let (shutdown, timeout) = (self.shutdown.clone(), self.drain_timeout);
        self.tasks.spawn(async move {
            let drained = plinth_gateway::serve(listener, tls, gateway, shutdown, timeout).await;
            if drained.aborted > 0 {
                tracing::warn!(
                    "{} connection(s) were aborted: drain timeout reached at shutdown",
                    drained.aborted
                );
            }
        });
    }

    /// Accepts nothing more and drains requests in flight within the drain timeout.
    pub(super) async fn drain(self) {
        self.shutdown.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

/// What `/ready` says.
async fn readiness(platform: &Platform, realtime: &RealtimeService) -> Readiness {
    if !platform.is_ready().await {
        Readiness::NotReady
    } else if !realtime.reaches_all_nodes() {
        Readiness::Degraded(
            "NATS cannot be reached: broadcasts do not leave this node, row changes wait",
        )
    } else {
        Readiness::Ready
    }
}
