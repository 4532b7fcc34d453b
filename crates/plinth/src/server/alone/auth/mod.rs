//! `plinth serve auth`, in place of GoTrue (auth contract §12).
//!
//! The environment is read once, at the start. TERM and INT finish open requests and end.

mod database;
mod edge;

use std::{net::SocketAddr, time::Duration};

use axum::Router;
use plinth_auth::{AuthService, GotrueConfig, ServerConfig};
use plinth_db::PoolConfig;
use plinth_project::Project;
use plinth_settings::Loader;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::super::{background::CLEANING, ending::EndSignals};
use crate::failure::{Failure, Outcome};

/// How long open requests may take to finish.
const DRAIN: Duration = Duration::from_secs(30);
/// How often idle connections are looked for.
const IDLE_CHECK: Duration = Duration::from_secs(5);

/// Serves until a signal.
pub(in super::super) async fn serve() -> Outcome {
    let GotrueConfig {
        auth,
        server,
        warnings,
    } = GotrueConfig::load_from_process().map_err(refused)?;
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
    let service = AuthService::alone(auth);
    let routes = plinth_auth::routes(service.clone());
    let router = edge::around(routes, project.clone(), trusts_sb_forwarded_for);
    let beside = Beside::start(service, project.clone());
    let served = listen(address, router).await;
    beside.stop().await;
    project.db.close();
    served
}

fn refused(problems: Vec<String>) -> Failure {
    let lines: Vec<String> = problems.iter().map(|told| format!("\n  {told}")).collect();
    Failure::usage(format!("the settings cannot be used:{}", lines.concat()))
}

async fn listen(address: SocketAddr, router: Router) -> Outcome {
    let mut end = EndSignals::catch()?;
    let listener = plinth_gateway::bind(address).await?;
    tracing::info!("serving on {}", listener.local_addr()?);
    let stop = CancellationToken::new();
    let router = router.into_make_service_with_connect_info::<SocketAddr>();
    let serving = axum::serve(listener, router)
        .with_graceful_shutdown(stop.clone().cancelled_owned())
        .into_future();
    tokio::pin!(serving);
    tokio::select! {
        ended = &mut serving => return Ok(ended?),
        () = end.next() => {}
    }
    tracing::info!("stopping: finishing open requests; a second signal ends them");
    stop.cancel();
    tokio::select! {
        ended = &mut serving => return Ok(ended?),
        () = tokio::time::sleep(DRAIN) => {}
        () = end.next() => {}
    }
    tracing::warn!("open requests were cut off");
    Ok(())
}

/// What goes on beside the requests, until it is stopped.
struct Beside {
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl Beside {
    fn start(service: AuthService, project: Project) -> Self {
        let beside = Self {
            tasks: TaskTracker::new(),
            stop: CancellationToken::new(),
        };
        let cleaned = project.clone();
        beside.spawn(async move {
            loop {
                tokio::time::sleep(CLEANING).await;
                if let Err(error) = service.clean_up(&cleaned).await {
                    tracing::warn!("old rows were not removed: {error}");
                }
            }
        });
        beside.spawn(async move {
            loop {
                tokio::time::sleep(IDLE_CHECK).await;
                project.db.close_idle();
            }
        });
        beside
    }

    fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        let work = self.stop.clone().run_until_cancelled_owned(work);
        self.tasks.spawn(work);
    }

    async fn stop(self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}
