//! The open doors: the HTTP edge, the control socket, the database's port.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use anyhow::anyhow;
use axum::{Router, routing::get};
use plinth_auth::AuthService;
use plinth_functions::FunctionsService;
use plinth_gateway::{Gateway, GatewayConfig, GatewayParts, Metrics, Mount, Mounts, Tls};
use plinth_log::{LogStore, Source};
use plinth_platform::{Assets, Platform, api, api::ControlSocket};
use plinth_postgres::FrontDoor;
use plinth_project::Registry;
use plinth_realtime::RealtimeService;
use plinth_settings::Settings;
use plinth_storage::StorageService;
use tokio::net::TcpListener;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::front_door;
use crate::failure::Outcome;

/// The control socket opens at once, or something is wrong.
const SOCKET_PATIENCE: Duration = Duration::from_secs(5);

/// What stands behind the edge.
pub(super) struct Served<'a> {
    pub(super) platform: &'a Platform,
    pub(super) registry: &'a Registry,
    pub(super) auth: &'a AuthService,
    pub(super) storage: &'a StorageService,
    pub(super) realtime: &'a RealtimeService,
    pub(super) functions: &'a FunctionsService,
    pub(super) pages: AccountPages,
    pub(super) logs: &'a LogStore,
}

/// Where the account pages come from, and where those of the default project are.
pub(super) struct AccountPages {
    pub(super) assets: Assets,
    pub(super) path: String,
}

impl AccountPages {
    pub(super) fn from_settings(settings: &Settings) -> Self {
        Self {
            assets: Assets::new(settings.opt_path("plinth.web_dir")),
            path: settings.text("plinth.account.path").to_owned(),
        }
    }
}

/// Everything that accepts connections. Dropped with [`Serving::stop`], which drains.
pub(super) struct Serving {
    tasks: TaskTracker,
    stop: CancellationToken,
    drain: Duration,
}

impl Serving {
    pub(super) fn new(drain: Duration) -> Self {
        Self {
            tasks: TaskTracker::new(),
            stop: CancellationToken::new(),
            drain,
        }
    }

    /// For `plinth` commands of whoever started this process.
    pub(super) async fn open_control_socket(
        &mut self,
        path: &Path,
        platform: &Platform,
    ) -> Outcome {
        let router = api::routes(platform.clone());
        let (stop, drain, path) = (self.stop.clone(), self.drain, path.to_owned());
        let socket = path.clone();
        let mut serving = self.tasks.spawn(async move {
            let mark = |extensions: &mut http::Extensions| {
                extensions.insert(ControlSocket);
            };
            plinth_gateway::serve_unix(&socket, router, mark, stop, drain).await
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
            () = tokio::time::sleep(SOCKET_PATIENCE) => {
                Err(anyhow!("the control socket {} did not open", path.display()).into())
            }
        }
    }

    /// For psql and other tools.
    pub(super) fn open_front_door(
        &mut self,
        door: FrontDoor,
        platform: &Platform,
        socket: PathBuf,
    ) {
        let router = Arc::new(front_door::Router::new(platform.references().clone()));
        self.tasks
            .spawn(door.serve(router, socket, self.stop.clone()));
    }

    /// For everybody else.
    pub(super) fn open_edge(
        &mut self,
        listeners: impl IntoIterator<Item = TcpListener>,
        config: GatewayConfig,
        served: Served<'_>,
    ) -> Outcome {
        let Served {
            platform,
            registry,
            auth,
            storage,
            realtime,
            functions,
            pages,
            logs,
        } = served;
        let landing = Router::new()
            .route("/", get(plinth_platform::landing_page))
            .with_state(platform.clone());
        let auth_routes = plinth_auth::routes(auth.clone());
        let auth = Mount::new("/auth/v1", Source::Auth, auth_routes.clone());
        let rest = plinth_rest::routes(plinth_rest::RestService::new());
        let rest = Mount::new("/rest/v1", Source::Rest, rest).with_foreign_pages();
        let storage = plinth_storage::routes(storage.clone());
        // A large file takes its time; whether it still arrives is watched elsewhere.
        let storage = Mount::new("/storage/v1", Source::Storage, storage).without_time_limit();
        let sockets = plinth_realtime::socket_routes(realtime.clone());
        let realtime = plinth_realtime::routes(realtime.clone());
        // A refused socket is answered late on purpose.
        let [realtime, sockets] = [("/realtime/v1", realtime), ("/socket", sockets)]
            .map(|(at, routes)| Mount::new(at, Source::Realtime, routes).without_time_limit());
        let functions = plinth_functions::routes(functions.clone());
        // Functions have times of their own, and pages that are not ours.
        let functions = Mount::new("/functions/v1", Source::Functions, functions)
            .without_time_limit()
            .with_foreign_pages();
        let AccountPages { assets, path } = pages;
        let is_page = move |asked: &str| plinth_platform::is_account_page(&path, asked);
        let pages = plinth_platform::account_pages(platform.clone(), assets, auth_routes);
        let mounts = Mounts::new(api::routes(platform.clone()), landing)
            .service(auth)
            .service(rest)
            .service(storage)
            .service(realtime)
            .service(sockets)
            .service(functions)
            .pages(Source::Api, pages, is_page);
        let tls = config.tls.clone().map(Tls::load).transpose()?;
        let asked = platform.clone();
        let metrics = Metrics::install()?;
        plinth_realtime::describe_metrics();
        plinth_functions::describe_metrics();
        plinth_rest::describe_metrics();
        let gateway = Gateway::new(GatewayParts {
            config,
            mounts,
            resolver: Arc::new(registry.clone()),
            logs: logs.clone(),
            platform: platform.references().platform.clone(),
            metrics: Some(metrics),
            ready: Arc::new(move || {
                let platform = asked.clone();
                Box::pin(async move { platform.is_ready().await })
            }),
        });
        for listener in listeners {
            let (stop, drain) = (self.stop.clone(), self.drain);
            let (tls, gateway) = (tls.clone(), gateway.clone());
            self.tasks.spawn(async move {
                let drained = plinth_gateway::serve(listener, tls, gateway, stop, drain).await;
                if drained.cut_off > 0 {
                    tracing::warn!("{} request(s) were cut off by the stop", drained.cut_off);
                }
            });
        }
        Ok(())
    }

    /// Accepts nothing more, finishes what is open within the drain time.
    pub(super) async fn stop(self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}
