//! `plinth serve rest`, in place of PostgREST (rest contract §9, §10).
//!
//! The port answers at once; as long as the database cannot be reached, with 503. Signals: USR1
//! reloads the schema, USR2 the settings, TERM and INT finish open requests and end. The database
//! may ask for the same as USR2 with `NOTIFY pgrst, 'reload config'`.

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
    /// `db-pool-automatic-recovery`, as of then.
    recovers: watch::Sender<bool>,
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
    warnings.iter().for_each(|told| tracing::warn!("{told}"));
    if rest.has_legacy_role_claim() {
        tracing::warn!("jwt-role-claim-key has the older syntax; JSONPath begins with $");
    }
    let metrics = Metrics::install()?;
    PostgrestConfig::describe_metrics();
    // Both ports are taken before anything else is done with them.
    let api = Listener::bind(&server.api, server.reuse_port).await?;
    let admin_listener = match &server.admin {
        Some(place) => Some(Listener::bind(place, false).await?),
        None => None,
    };

    let project = project(target.clone(), &server)?;
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
            database: target.clone(),
        };
        tracing::info!("Admin server listening on {}", listener.address());
        tokio::spawn(listener.serve(admin.routes(), stop.clone(), cut.clone()));
    }
    tracing::info!("API server listening on {}", api.address());
    let serving = tokio::spawn(api.serve(router, stop.clone(), cut.clone()));
    let server = Server {
        file,
        base: Mutex::new(rest),
        recovers: watch::Sender::new(server.pool_automatic_recovery),
        service,
        project,
        log_level,
        tasks: TaskTracker::new(),
        stop: stop.clone(),
    };
    server.close_idle();
    server.reload_schema();
    let lost = database::lost(target, server.recovers.subscribe());
    let ended = signals.follow(&server, serving, lost, stop, cut).await;
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
        self.recovers
            .send_replace(config.server.pool_automatic_recovery);
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

/// Settings in the database that cannot be used end the start as those of the file do. A database
/// that is away is waited for, unless it is never to be.
async fn check_database(target: &Target, config: &PostgrestConfig) -> Outcome {
    match target.connect().await {
        Ok(client) => {
            let problems = config.problems_in_database(&client).await;
            match problems.is_empty() {
                true => Ok(()),
                false => Err(refused(problems)),
            }
        }
        Err(_) if config.server.pool_automatic_recovery => Ok(()),
        Err(error) => Err(Failure::new(Kind::Failure, error.to_string())
            .next_step("db-pool-automatic-recovery is off, so the start does not wait for it.")),
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
