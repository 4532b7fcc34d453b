//! One run of the server, from settings to the last drained request. Reads top to bottom.

use std::{
    sync::{Arc, OnceLock},
    time::Instant,
};

use anyhow::Context;
use plinth_db::{PoolConfig, migrate::MigrationSet};
use plinth_gateway::GatewayConfig;
use plinth_log::{LogStore, Retention, RetentionPolicy, WriterThread};
use plinth_platform::{Bootstrap, Endpoints, GivenKeys, Platform, WELL_KNOWN};
use plinth_postgres::FrontDoor;
use plinth_project::{ProjectKind, ProjectName, ProjectRecord, Registry, RegistryParts};
use plinth_settings::{LoadError, Loader, Settings};
use plinth_token::Secret;

use super::{
    Form, address::Addresses, background::Background, banner, database::Database, instance_key,
    project_files, serving::Serving,
};
use crate::{
    cli::{Global, StartArgs},
    failure::Outcome,
    folder::{Folder, Ports, Running},
};

pub(super) async fn run(global: &Global, args: StartArgs, form: Form) -> Outcome {
    let began = Instant::now();
    let folder = Folder::find(global.workdir.as_deref(), global.data_dir.as_deref())?;
    let loader = loader(&folder, &args);
    let loaded = loader.load()?;
    for warning in &loaded.warnings {
        tracing::warn!("{warning}");
    }
    let settings = loaded.settings;
    folder.create_state()?;

    // Ports first: a busy one should not cost the time of starting PostgreSQL.
    let addresses = Addresses::choose(&folder, &settings, &args, form)?;
    let mut gateway_config = GatewayConfig::from_settings(&settings);
    gateway_config.open_metrics = form == Form::Development && addresses.is_loopback();
    let listener = plinth_gateway::bind(addresses.api).await?;
    let api_address = listener.local_addr()?;
    let is_external = args.database_url.is_some() || settings.secret("plinth.database.url").is_some();
    let door = match is_external {
        true => None,
        false => Some(FrontDoor::bind(addresses.database).await?),
    };

    let (logs, log_writer) = open_logs(&folder, &settings)?;
    let references = Arc::new(OnceLock::new());
    let url = args.database_url.as_deref();
    let database = Database::start(&folder, &settings, url, &logs, &references).await?;
    let is_well_known = form == Form::Development && addresses.is_loopback();
    let platform = bootstrap(&folder, &settings, &database, &logs, is_well_known).await?;
    _ = references.set(platform.references().clone());
    let registry = registry(&platform, &database, &settings, &logs, loader);

    let database_port = door.as_ref().map(FrontDoor::local_addr).transpose()?.map(|at| at.port());
    let scheme = if gateway_config.tls.is_some() { "https" } else { "http" };
    let host = if addresses.api.ip().is_unspecified() {
        "127.0.0.1".to_owned()
    } else {
        addresses.api.ip().to_string()
    };
    let api_url = match &gateway_config.public_url {
        Some(url) => url.as_str().trim_end_matches('/').to_owned(),
        None => format!("{scheme}://{host}:{}", api_address.port()),
    };
    platform.attach(
        registry.clone(),
        Endpoints {
            api_url: api_url.clone(),
            database: database_port.map(|port| (host, port)),
            domain: gateway_config.domain.clone(),
            external_database: database.external_url(),
        },
    );
    for healed in platform.heal(!is_external).await? {
        tracing::info!("{healed}");
    }
    registry.get(&ProjectName::Default).await?;
    if !args.no_migrate {
        let applied = project_files::apply(&platform, &folder, &settings).await;
        if let Err(failure) = applied {
            database.stop().await;
            return Err(failure);
        }
    }

    let background = Background::new();
    background.follow_announcements(&platform, &registry);
    background.close_idle(&platform, &registry, settings.duration("plinth.pool.project_idle"));
    background.empty_trash(&platform);
    if let Some(server) = database.server() {
        background.watch_postgres(server.state());
    }
    if form == Form::Development {
        let supabase = folder.root.join("supabase");
        let watched = ["config.toml", ".env", ".env.local"].map(|name| supabase.join(name));
        background.follow_config(watched.to_vec(), &registry);
    }

    let mut serving = Serving::new(gateway_config.drain);
    serving.open_control_socket(&folder.control_socket(), &platform).await?;
    if let (Some(door), Some(server)) = (door, database.server()) {
        serving.open_front_door(door, &platform, server.connection().socket());
    }
    serving.open_edge(listener, gateway_config, &platform, &registry, &logs)?;
    if addresses.is_auto
        && let Some(database) = database_port
    {
        folder.remember_ports(&Ports { api: api_address.port(), database })?;
    }
    folder.write_running(&Running {
        pid: std::process::id(),
        api_url,
        control_socket: folder.control_socket(),
    })?;
    if form == Form::Development {
        banner::print(&platform.status(&ProjectName::Default).await?, began.elapsed());
    } else {
        tracing::info!("serving after {:.1} s", began.elapsed().as_secs_f64());
    }

    wait_for_signal().await?;
    tracing::info!("stopping: finishing open requests");
    serving.stop().await;
    background.stop().await;
    folder.forget_running();
    database.stop().await;
    logs.close().await;
    tokio::task::spawn_blocking(move || log_writer.join()).await?;
    Ok(())
}

fn loader(folder: &Folder, args: &StartArgs) -> Loader {
    let mut loader = Loader::new().folder(&folder.root).process_environment();
    for assignment in &args.set {
        loader = loader.command_line(&assignment.name, &assignment.value);
    }
    loader
}

fn open_logs(folder: &Folder, settings: &Settings) -> Outcome<(LogStore, WriterThread)> {
    let config = plinth_log::Config {
        segment_bytes: settings.bytes("plinth.logs.segment_bytes"),
        retention: RetentionPolicy::uniform(Retention {
            max_age: settings.duration("plinth.logs.max_age"),
            max_bytes: settings.bytes("plinth.logs.max_bytes"),
        }),
        ..plinth_log::Config::default()
    };
    let (store, writer) = LogStore::open(folder.logs(), config)?;
    Ok((store, writer.start()?))
}

/// The system schemas of every project, in the order in which they are installed.
fn schemas() -> Vec<MigrationSet> {
    vec![
        plinth_project::schema::MIGRATIONS,
        plinth_auth::schema::MIGRATIONS,
        plinth_storage::schema::MIGRATIONS,
        plinth_realtime::schema::MIGRATIONS,
    ]
}

async fn bootstrap(
    folder: &Folder,
    settings: &Settings,
    database: &Database,
    logs: &LogStore,
    is_well_known: bool,
) -> Outcome<Platform> {
    let read_file = |path: &std::path::Path| {
        std::fs::read_to_string(folder.root.join("supabase").join(path))
    };
    let bootstrap = Bootstrap {
        maintenance: database.maintenance(),
        default_database: database.default_database(),
        instance_key: instance_key::load_or_create(folder)?,
        schemas: schemas(),
        given: GivenKeys::from_settings(settings, read_file)?,
        default_owner_password: is_well_known.then(|| Secret::new(WELL_KNOWN)),
        trash: settings.duration("plinth.trash"),
        logs: logs.clone(),
    };
    Ok(bootstrap.run().await.context("the database could not be prepared")?)
}

fn registry(
    platform: &Platform,
    database: &Database,
    settings: &Settings,
    logs: &LogStore,
    loader: Loader,
) -> Registry {
    Registry::new(RegistryParts {
        directory: Arc::new(platform.clone()),
        admin: database.maintenance(),
        cluster: platform.cluster().clone(),
        schemas: schemas(),
        pool: PoolConfig {
            size: usize::try_from(settings.integer("plinth.pool.size")).unwrap_or(10).max(1),
            acquire_timeout: settings.duration("plinth.pool.acquire_timeout"),
            max_lifetime: settings.duration("plinth.pool.max_lifetime"),
            idle_timeout: settings.duration("plinth.pool.idle_timeout"),
        },
        logs: logs.clone(),
        settings_for: Box::new(move |record| settings_for(&loader, record)),
    })
}

/// The folder and the environment speak for the default project alone.
fn settings_for(loader: &Loader, record: &ProjectRecord) -> Result<Settings, LoadError> {
    let loader = match record.kind {
        ProjectKind::Default => loader.clone(),
        ProjectKind::Platform | ProjectKind::Ordinary => Loader::new(),
    };
    Ok(loader.stored(record.settings.clone()).load()?.settings)
}

/// Ctrl-C, or what systemd and `plinth stop` send.
pub(super) async fn wait_for_signal() -> Outcome {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        _ = terminate.recv() => {}
        interrupted = tokio::signal::ctrl_c() => interrupted?,
    }
    Ok(())
}
