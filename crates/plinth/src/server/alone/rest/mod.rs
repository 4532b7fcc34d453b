//! `plinth serve rest`, in place of PostgREST (rest contract §9, §10).
//!
//! The port answers at once; as long as the database cannot be reached, with 503. Signals: USR1
//! reloads the schema, USR2 the settings, TERM and INT finish open requests and end.

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

/// How often idle connections are looked for.
const IDLE_CHECK: Duration = Duration::from_secs(5);

/// Everything that a reload needs.
struct Server {
    file: Option<PathBuf>,
    /// As of the last load of environment and file.
    base: Mutex<RestConfig>,
    service: RestService,
    project: Project,
    log_level: watch::Sender<LogLevel>,
    /// Ended by `stop` and awaited at the end.
    tasks: TaskTracker,
    stop: CancellationToken,
}

/// Serves until a signal.
pub(in super::super) async fn serve(file: Option<PathBuf>) -> Outcome {
    let signals = Signals::catch()?;
    let PostgrestConfig {
        rest,
        server,
        warnings,
    } = load(file.as_ref())?;
    diagnostics::init(server.log_level);
    tracing::info!("Starting Plinth REST {}...", env!("CARGO_PKG_VERSION"));
    warnings.iter().for_each(|told| tracing::warn!("{told}"));
    if rest.has_legacy_role_claim() {
        tracing::warn!("jwt-role-claim-key has the older syntax; JSONPath begins with $");
    }
    let metrics = Metrics::install()?;
    PostgrestConfig::describe_metrics();
    let target = database::target(&server.db_uri)?;
    if !server.pool_automatic_recovery {
        target.connect().await.map_err(|error| {
            Failure::new(Kind::Failure, format!("{error}"))
                .next_step("db-pool-automatic-recovery is off, so the start does not wait for it.")
        })?;
    }
    // Both ports are taken before anything else is done with them.
    let api = Listener::bind(&server.api, server.reuse_port).await?;
    let admin_listener = match &server.admin {
        Some(place) => Some(Listener::bind(place, false).await?),
        None => None,
    };

    let asks_database = (!rest.has_channel()).then(|| target.clone());
    let project = project(target, &server)?;
    let service = RestService::alone(rest.clone(), (server.host.clone(), server.port));
    let (log_level, level) = watch::channel(server.log_level);
    let router = plinth_rest::routes(service.clone())
        .layer(Extension(project.clone()))
        .layer(middleware::from_fn_with_state(level, access_log::write));
    let (stop, cut) = (CancellationToken::new(), CancellationToken::new());
    if let Some(listener) = admin_listener {
        let admin = Admin {
            service: service.clone(),
            project: project.clone(),
            metrics,
            pool_size: server.pool_size,
            api_socket: api.socket_path(),
            asks_database,
        };
        tracing::info!("Admin server listening on {}", listener.address());
        tokio::spawn(listener.serve(admin.routes(), stop.clone(), cut.clone()));
    }
    tracing::info!("API server listening on {}", api.address());
    let serving = tokio::spawn(api.serve(router, stop.clone(), cut.clone()));
    let server = Server {
        file,
        base: Mutex::new(rest),
        service,
        project,
        log_level,
        tasks: TaskTracker::new(),
        stop: stop.clone(),
    };
    server.close_idle();
    server.reload_schema();
    let ended = signals.follow(&server, serving, stop, cut).await;
    server.finish().await;
    ended
}

/// `--dump-config`: everything that is set, with what stands in the database.
pub(in super::super) async fn dump_config(file: Option<PathBuf>) -> Outcome {
    let config = load(file.as_ref())?;
    let client = database::target(&config.server.db_uri)?.connect().await;
    let config = match client {
        Ok(client) => config.with_database(&client).await.map_err(refused)?,
        // What environment and file say is worth showing all the same.
        Err(error) => {
            eprintln!("plinth: without what stands in the database: {error}");
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

    /// Mistakes leave everything as it was.
    fn reload_config(&self) {
        let config = match PostgrestConfig::load_from_process(self.file.as_ref()) {
            Ok(config) => config,
            Err(problems) => {
                return tracing::error!("the old settings stay: {}", problems.join("; "));
            }
        };
        for warning in &config.warnings {
            tracing::warn!("{warning}");
        }
        self.log_level.send_replace(config.server.log_level);
        let mut base = self.base.lock().unwrap_or_else(PoisonError::into_inner);
        let rest = config.rest.continuing(&base);
        *base = rest.clone();
        drop(base);
        let (service, project) = (self.service.clone(), self.project.clone());
        self.spawn(async move {
            service.reload_config(&project, rest).await;
            tracing::info!("settings reloaded");
        });
    }

    /// Closes connections that nobody used for a while, time and again.
    fn close_idle(&self) {
        let project = self.project.clone();
        self.spawn(async move {
            loop {
                tokio::time::sleep(IDLE_CHECK).await;
                project.db.close_idle();
            }
        });
    }

    fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        let work = self.stop.clone().run_until_cancelled_owned(work);
        self.tasks.spawn(work);
    }

    async fn finish(self) {
        self.tasks.close();
        self.tasks.wait().await;
        self.project.db.close();
    }
}

fn load(file: Option<&PathBuf>) -> Outcome<PostgrestConfig> {
    PostgrestConfig::load_from_process(file).map_err(refused)
}

fn refused(problems: Vec<String>) -> Failure {
    let lines: Vec<String> = problems.iter().map(|told| format!("\n  {told}")).collect();
    Failure::usage(format!("the settings cannot be used:{}", lines.concat()))
}

fn project(target: Target, server: &ServerConfig) -> Outcome<Project> {
    let pool = PoolConfig {
        size: server.pool_size,
        acquire_timeout: server.pool_acquisition_timeout,
        max_lifetime: server.pool_max_lifetime,
        idle_timeout: server.pool_max_idletime,
    };
    // The service checks tokens with keys of its own; the project needs none.
    let keys = KeySet::builder().build()?;
    super::project(target, pool, keys, Loader::new().load()?.settings)
}
