//! `plinth serve rest`, a replacement of PostgREST (rest contract §9, §10).
//!
//! The port is open from the start; while the database cannot be reached, requests get 503. Signals:
//! USR1 reloads the schema cache, USR2 the settings, TERM and INT drain requests in flight and end.
//! `NOTIFY pgrst, 'reload config'` has the same effect as USR2.

mod access_log;
mod admin;
mod database;
mod diagnostics;
mod listener;
mod signals;

use std::{
    io::{ErrorKind, Write},
    path::PathBuf,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use axum::{Extension, middleware};
use plinth_db::{PoolConfig, Target};
use plinth_gateway::Metrics;
use plinth_project::Project;
use plinth_rest::{LogLevel, PostgrestConfig, RestConfig, RestService, ServerConfig};
use plinth_settings::Loader;
use plinth_token::KeySet;
use tokio::sync::watch;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::failure::{Failure, Kind, Outcome};
use admin::Admin;
use listener::Listener;
use signals::Signals;

const IDLE_CHECK_INTERVAL: Duration = Duration::from_secs(5);

/// Everything that a reload needs.
struct Server {
    file: Option<PathBuf>,
    /// Settings of environment and file, as of the last load.
    base: Mutex<RestConfig>,
    /// `db-pool-automatic-recovery`.
    recovers: watch::Sender<bool>,
    service: RestService,
    project: Project,
    log_level: watch::Sender<LogLevel>,
    /// Cancelled by `shutdown` and awaited at the end.
    tasks: TaskTracker,
    shutdown: CancellationToken,
}

/// Serves until a signal.
pub(in super::super) async fn serve(file: Option<PathBuf>) -> Outcome {
    let signals = Signals::install()?;
    let config = load(file.as_ref())?;
    diagnostics::init(config.server.log_level);
    tracing::info!("Starting Plinth REST {}...", env!("CARGO_PKG_VERSION"));
    let target = database::target(&config.server.db_uri)?;
    check_database(&target, &config).await?;
    let PostgrestConfig {
        rest,
        server,
        warnings,
    } = config;
    warnings
        .iter()
        .for_each(|warning| tracing::warn!("{warning}"));
    if rest.has_legacy_role_claim() {
        tracing::warn!("jwt-role-claim-key has the older syntax; JSONPath begins with $");
    }
    let metrics = Metrics::install()?;
    plinth_rest::describe_standalone_metrics();
    // Both ports are bound before anything is served.
    let api = Listener::bind(&server.api, server.reuse_port).await?;
    let admin_listener = match &server.admin {
        Some(place) => Some(Listener::bind(place, false).await?),
        None => None,
    };

    let project = project(target.clone(), &server)?;
    let service = RestService::standalone(rest.clone(), (server.host.clone(), server.port));
    let (log_level, level) = watch::channel(server.log_level);
    let router = plinth_rest::routes(service.clone())
        .layer(Extension(project.clone()))
        .layer(middleware::from_fn_with_state(level, access_log::write));
    let (shutdown, abort) = (CancellationToken::new(), CancellationToken::new());
    let tasks = TaskTracker::new();
    if let Some(listener) = admin_listener {
        let admin = Admin {
            service: service.clone(),
            project: project.clone(),
            metrics,
            pool_size: server.pool_size,
            api_socket: api.socket_path(),
            database: target.clone(),
        };
        tracing::info!("Admin server listening on {}", listener.address());
        tasks.spawn(listener.serve(admin.routes(), shutdown.clone(), abort.clone()));
    }
    tracing::info!("API server listening on {}", api.address());
    let serving = tokio::spawn(api.serve(router, shutdown.clone(), abort.clone()));
    let server = Server {
        file,
        base: Mutex::new(rest),
        recovers: watch::Sender::new(server.pool_automatic_recovery),
        service,
        project,
        log_level,
        tasks,
        shutdown: shutdown.clone(),
    };
    server.close_idle();
    server.reload_schema();
    let lost = database::wait_for_loss(target, server.recovers.subscribe());
    let ended = signals
        .handle(&server, serving, lost, shutdown, abort)
        .await;
    server.stop_tasks().await;
    ended
}

/// `--dump-config`: all settings, those in the database included.
pub(in super::super) async fn dump_config(file: Option<PathBuf>) -> Outcome {
    let config = load(file.as_ref())?;
    let client = database::target(&config.server.db_uri)?.connect().await;
    let config = match client {
        Ok(client) => {
            let config = config.with_database(&client).await;
            config.map_err(super::settings_failure)?
        }
        // The settings of environment and file are printed all the same.
        Err(error) => {
            eprintln!("plinth: without the settings in the database: {error}");
            config
        }
    };
    let printed = std::io::stdout().write_all(config.dump().as_bytes());
    match printed {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

impl Server {
    fn reload_schema(&self) {
        let (service, project) = (self.service.clone(), self.project.clone());
        self.spawn(async move { service.reload_schema(&project).await });
    }

    /// Keeps the old settings if the new ones are invalid.
    fn reload_config(&self) {
        let config = match PostgrestConfig::load_from_process(self.file.as_ref()) {
            Ok(config) => config,
            Err(problems) => {
                return tracing::error!(
                    "reloading settings failed, keeping the old ones: {}",
                    problems.join("; ")
                );
            }
        };
        for warning in &config.warnings {
            tracing::warn!("{warning}");
        }
        self.log_level.send_replace(config.server.log_level);
        self.recovers
            .send_replace(config.server.pool_automatic_recovery);
        let mut base = self.base.lock().unwrap_or_else(PoisonError::into_inner);
        let rest = config.rest.reusing_token_cache(&base);
        *base = rest.clone();
        drop(base);
        let (service, project) = (self.service.clone(), self.project.clone());
        self.spawn(async move {
            service.reload_config(&project, rest).await;
            tracing::info!("settings reloaded");
        });
    }

    /// Starts the task that closes idle connections.
    fn close_idle(&self) {
        let project = self.project.clone();
        self.spawn(async move {
            loop {
                tokio::time::sleep(IDLE_CHECK_INTERVAL).await;
                project.db.close_idle();
            }
        });
    }

    fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        let work = self.shutdown.clone().run_until_cancelled_owned(work);
        self.tasks.spawn(work);
    }

    async fn stop_tasks(self) {
        self.tasks.close();
        self.tasks.wait().await;
        self.project.db.close();
    }
}

/// Invalid settings in the database fail the start, as those of the file do. An unreachable database
/// is retried later, unless automatic recovery is off.
async fn check_database(target: &Target, config: &PostgrestConfig) -> Outcome {
    match target.connect().await {
        Ok(client) => {
            let problems = config.problems_in_database(&client).await;
            if problems.is_empty() {
                Ok(())
            } else {
                Err(super::settings_failure(problems))
            }
        }
        Err(_) if config.server.pool_automatic_recovery => Ok(()),
        Err(error) => Err(Failure::new(Kind::Failure, error.to_string())
            .next_step("db-pool-automatic-recovery is off, so there is no retry.")),
    }
}

fn load(file: Option<&PathBuf>) -> Outcome<PostgrestConfig> {
    PostgrestConfig::load_from_process(file).map_err(super::settings_failure)
}

fn project(target: Target, server: &ServerConfig) -> Outcome<Project> {
    let pool = PoolConfig {
        size: server.pool_size,
        acquire_timeout: server.pool_acquisition_timeout,
        max_lifetime: server.pool_max_lifetime,
        idle_timeout: server.pool_max_idletime,
    };
    // The service verifies tokens with its own keys; the project needs none.
    let keys = KeySet::builder().build()?;
    super::project(target, pool, keys, Loader::new().load()?.settings)
}
