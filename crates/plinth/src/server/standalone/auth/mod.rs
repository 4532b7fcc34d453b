//! `plinth serve auth`, a replacement of GoTrue (auth contract §12).
//!
//! The environment is read once, at the start. TERM and INT drain requests in flight and end.

mod database;
mod request_context;

use std::{net::SocketAddr, time::Duration};

use axum::Router;
use plinth_auth::{AuthService, GotrueConfig, ServerConfig};
use plinth_db::PoolConfig;
use plinth_project::Project;
use plinth_settings::Loader;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::super::{background::AUTH_CLEANUP_INTERVAL, signals::ShutdownSignals};
use crate::failure::Outcome;

/// How long requests in flight may take after a signal.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(30);
const IDLE_CHECK_INTERVAL: Duration = Duration::from_secs(5);

/// Serves until a signal.
pub(in super::super) async fn serve() -> Outcome {
    let GotrueConfig {
        auth,
        server,
        warnings,
    } = GotrueConfig::load_from_process().map_err(super::settings_failure)?;
    for warning in &warnings {
        tracing::warn!("{warning}");
    }
    let target = database::open(&server.database_url).await?;
    let pool = PoolConfig {
        size: server.pool_size,
        max_lifetime: server.pool_max_lifetime,
        idle_timeout: server.pool_idle_timeout,
        ..PoolConfig::default()
    };
    let ServerConfig {
        address,
        keyset,
        trusts_sb_forwarded_for,
        ..
    } = server;
    let settings = Loader::new().load()?.settings;
    let project = super::project(target, pool, keyset, settings)?;
    let service = AuthService::standalone(auth);
    let routes = plinth_auth::routes(service.clone());
    let router = request_context::layered(routes, project.clone(), trusts_sb_forwarded_for);
    let background = BackgroundTasks::start(service, project.clone());
    let served = listen(address, router).await;
    background.stop().await;
    project.db.close();
    served
}

async fn listen(address: SocketAddr, router: Router) -> Outcome {
    let mut signals = ShutdownSignals::install()?;
    let listener = plinth_gateway::bind(address).await?;
    tracing::info!("serving on {}", listener.local_addr()?);
    let shutdown = CancellationToken::new();
    let router = router.into_make_service_with_connect_info::<SocketAddr>();
    let serving = axum::serve(listener, router)
        .with_graceful_shutdown(shutdown.clone().cancelled_owned())
        .into_future();
    tokio::pin!(serving);
    tokio::select! {
        ended = &mut serving => return Ok(ended?),
        () = signals.recv() => {}
    }
    tracing::info!("shutting down: draining requests in flight; a second signal aborts them");
    shutdown.cancel();
    tokio::select! {
        ended = &mut serving => return Ok(ended?),
        () = tokio::time::sleep(DRAIN_TIMEOUT) => {}
        () = signals.recv() => {}
    }
    tracing::warn!("requests in flight were aborted");
    Ok(())
}

/// Periodic tasks, until they are stopped.
struct BackgroundTasks {
    tasks: TaskTracker,
    shutdown: CancellationToken,
}

impl BackgroundTasks {
    fn start(service: AuthService, project: Project) -> Self {
        let background = Self {
            tasks: TaskTracker::new(),
            shutdown: CancellationToken::new(),
        };
        let cleaned = project.clone();
        background.spawn(async move {
            loop {
                tokio::time::sleep(AUTH_CLEANUP_INTERVAL).await;
                if let Err(error) = service.clean_up(&cleaned).await {
                    tracing::warn!("removing expired rows of auth failed: {error}");
                }
            }
        });
        background.spawn(async move {
            loop {
                tokio::time::sleep(IDLE_CHECK_INTERVAL).await;
                project.db.close_idle();
            }
        });
        background
    }

    fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        let work = self.shutdown.clone().run_until_cancelled_owned(work);
        self.tasks.spawn(work);
    }

    async fn stop(self) {
        self.shutdown.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}
