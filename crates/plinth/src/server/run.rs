//! One run of the server, from binding ports to shutdown. Reads top to bottom.

use std::{
    num::NonZeroUsize,
    path::{Component, Path},
    sync::{Arc, OnceLock},
    time::Instant,
};

use anyhow::anyhow;
use plinth_auth::AuthService;
use plinth_db::{PoolConfig, migrate::MigrationSet};
use plinth_log::{LogStore, Retention, RetentionPolicy, WriterThread};
use plinth_platform::{
    Bootstrap, ConfiguredKeys, ConnectionShare, LOCAL_OWNER_PASSWORD, Platform, PlatformError,
    References,
};
use plinth_postgres::ConnectionLimit;
use plinth_project::{
    FromSettings as _, OpenError, ProjectKind, ProjectName, ProjectRecord, Registry, RegistryParts,
};
use plinth_realtime::{Cluster, ClusterConfig, RealtimeService};
use plinth_settings::{LoadError, Loader, Settings, keys};
use plinth_storage::{
    BlobStore, ClaimError, ImageRendererConfig, Installation, S3Store, S3StoreConfig,
    StorageService,
};
use plinth_token::Secret;

use super::{
    ServerMode,
    access_log::AccessLog,
    background::Background,
    banner::{self, UrlHost},
    code_folder,
    database::Database,
    database_proxy::ProxyRouter,
    function_host::{self, WorkerListeners},
    instance_key,
    listeners::{AccountPages, Listeners, Services},
    project_files,
    signals::ShutdownSignals,
    startup::{Ports, Startup},
    store_lock::StoreLock,
};
use crate::{
    cli::{Global, StartArgs},
    failure::Outcome,
    folder::{Folder, Ports as RememberedPorts, Running},
};

pub(super) async fn run(global: &Global, args: StartArgs, mode: ServerMode) -> Outcome {
    let began = Instant::now();
    let (startup, ports) = Startup::open(global, &args, mode).await?;
    let lines = AccessLog::if_enabled(startup.mode);
    let (logs, log_writer) = open_logs(&startup.folder, &startup.settings, lines)?;
    let references = Arc::new(OnceLock::new());
    let database = Database::start(&startup, &logs, &references).await?;

    let outcome = serve(&startup, ports, &database, &logs, &references, began).await;

    code_folder::move_back(startup.folder.state());
    startup.folder.remove_running();
    database.stop().await;
    logs.close().await;
    tokio::task::spawn_blocking(move || log_writer.join()).await?;
    outcome
}

/// Clients of a development server on loopback all have the same address.
fn auth_service(startup: &Startup) -> AuthService {
    if startup.mode == ServerMode::Development && startup.addresses.is_loopback() {
        AuthService::local()
    } else {
        AuthService::new()
    }
}

/// Everything between the start of PostgreSQL and its stop.
async fn serve(
    startup: &Startup,
    ports: Ports,
    database: &Database,
    logs: &LogStore,
    references: &OnceLock<References>,
    began: Instant,
) -> Outcome {
    let platform = bootstrap(startup, database, logs).await?;
    _ = references.set(platform.references().clone());
    let registry = registry(&platform, &startup.settings, logs, &startup.loader);
    let endpoints = startup.endpoints(&ports, database.external_url())?;
    platform.attach(registry.clone(), endpoints.clone());
    if let Some(isolated) = database.isolated() {
        isolated.attach_registry(registry.clone());
    }
    // Before anything is stored or removed.
    let store_lock = match database.server() {
        Some(_) => None,
        None => Some(StoreLock::acquire(database.maintenance(), &startup.settings).await?),
    };
    // Before `recover`, which removes the files of half-created projects.
    let storage = storage(startup, &platform, database).await?;
    platform.attach_file_store(Arc::new(storage.clone()));
    let workers = WorkerListeners::bind(&ports).await?;
    let functions = function_host::service(startup, &platform, &endpoints, &ports, &workers)?;
    functions.attach_store(Arc::new(platform.clone()));
    platform.attach_functions(Arc::new(functions.clone()));
    // An external database may be shared with other nodes.
    let is_only_node = database.server().is_some();
    for recovered in platform.recover(is_only_node).await? {
        tracing::info!("{recovered}");
    }
    match registry.get(&ProjectName::Default).await {
        Ok(project) if startup.is_migrating => {
            let (folder, settings) = (&startup.folder, &startup.settings);
            project_files::apply_sql(&platform, folder, settings).await?;
            project_files::seed_buckets(&storage, &project, folder, settings).await?;
        }
        Ok(_) => {}
        Err(OpenError::Paused(_)) => {
            tracing::warn!(
                "the default project is paused; resume it: `plinth projects resume default`"
            );
        }
        Err(error) => return Err(error.into()),
    }

    let mut signals = ShutdownSignals::install()?;
    let auth = auth_service(startup);
    let realtime = realtime_service(&startup.settings).await?;
    let background = start_background(startup, database, &platform, &registry);
    background
        .tasks
        .spawn_blocking(code_folder::remove_orphaned);
    if let Some(lock) = store_lock {
        background
            .tasks
            .spawn(lock.hold(background.shutdown.clone()));
    }
    background.clean_up_auth(&auth, &registry);
    let every = startup.settings.get(keys::plinth_storage::GC_EVERY);
    background.collect_garbage(&storage, &registry, every);
    if startup.mode == ServerMode::Development {
        if let Ok(project) = registry.get(&ProjectName::Default).await {
            functions.warn_without_deno(&project);
        }
        background.watch_functions(&functions, &registry);
    }
    let scan_every = startup.settings.get(keys::plinth_storage::GC_SCAN_EVERY);
    background.collect_orphans(&storage, &platform, scan_every);
    background.maintain_realtime(&realtime, &platform, &registry);
    let mut listeners = Listeners::new(startup.gateway.drain);
    let control_socket = startup.folder.control_socket();
    startup.folder.prepare_control_folder()?;
    listeners
        .open_control_socket(&control_socket, &platform)
        .await?;
    let api_port = ports.api.local_addr()?.port();
    if let (Some(proxy), Some(server)) = (ports.database, database.server()) {
        let limit = ConnectionLimit::new(platform.cluster().connection_slots.for_tools());
        let router = Arc::new(ProxyRouter::new(&platform));
        for proxy in workers.database.into_iter().chain([proxy]) {
            let proxy = proxy
                .with_limit(limit.clone())
                .with_untrusted_address(workers.address);
            listeners.open_database_proxy(proxy, router.clone(), server.connection().socket());
        }
    }
    if startup.addresses.is_auto
        && let Some((_, database)) = endpoints.database
    {
        startup.folder.remember_ports(&RememberedPorts {
            api: api_port,
            database,
        })?;
    }
    let url_host = UrlHost::of(&startup.settings);
    let api_url = url_host.show(&endpoints.api_url);
    startup
        .folder
        .write_running(&Running::current_process(api_url, control_socket))?;
    // Queried before the edge opens: a later loss of the database must not fail the start.
    let status = match startup.mode {
        ServerMode::Development => Some(platform.status(&ProjectName::Default).await?),
        ServerMode::Production => None,
    };
    // Last, so that a healthy edge means that everything else runs.
    let services = Services {
        platform: &platform,
        registry: &registry,
        auth: &auth,
        storage: &storage,
        realtime: &realtime,
        functions: &functions,
        pages: AccountPages::from_settings(&startup.settings),
        logs,
    };
    let tcp = workers.api.into_iter().chain([ports.api]);
    let (config, tls) = (startup.gateway.clone(), startup.tls.clone());
    listeners.open_edge(tcp, ports.s3, config, tls, services)?;
    match status {
        Some(status) => banner::print(&status, began.elapsed(), url_host),
        None => tracing::info!("serving after {:.1} s", began.elapsed().as_secs_f64()),
    }

    signals.recv().await;
    tracing::info!("shutting down: draining requests in flight; a second signal aborts them");
    platform.begin_shutdown();
    functions.begin_stop();
    let drained = async {
        tokio::join!(listeners.drain(), realtime.shut_down());
        functions.finish().await;
        storage.drain().await;
        platform.drain().await;
    };
    tokio::select! {
        () = drained => {}
        () = signals.recv() => {}
    }
    background.stop().await;
    Ok(())
}

/// The storage service, after it has claimed its blob store.
pub(super) async fn storage(
    startup: &Startup,
    platform: &Platform,
    database: &Database,
) -> Outcome<StorageService> {
    let store = blob_store(startup).await?;
    let renderer = image_renderer(startup);
    let storage = if is_within(&store, &startup.folder) {
        // A copy of the folder includes the files, so there is no owner to check.
        StorageService::new(store, &renderer)
    } else {
        let installation = installation(startup, platform, database).await?;
        StorageService::for_installation(store, &renderer, installation)
    };
    let adopts = startup.settings.get(keys::plinth_storage::ADOPT);
    match storage.claim(adopts).await {
        // Retried later; until then no garbage is collected.
        Err(ClaimError::Store(error)) => {
            tracing::warn!("the blob store cannot be reached: {error}");
        }
        claimed => claimed.map_err(anyhow::Error::from)?,
    }
    Ok(storage)
}

fn is_within(store: &BlobStore, home: &Folder) -> bool {
    let BlobStore::Local { folder, .. } = store else {
        return false;
    };
    let leads_out = folder.components().any(|part| part == Component::ParentDir);
    !leads_out && (folder.starts_with(&home.root) || folder.starts_with(home.state()))
}

/// All nodes of one database are one installation; a copy of a folder is another one.
async fn installation(
    startup: &Startup,
    platform: &Platform,
    database: &Database,
) -> Outcome<Installation> {
    let home = startup.folder.state().display().to_string();
    let mut id = platform.identity().await?;
    if database.server().is_some() {
        id = format!("{id} {home}");
    }
    Ok(Installation { id, home })
}

/// Where blobs are stored.
async fn blob_store(startup: &Startup) -> Outcome<BlobStore> {
    let settings = &startup.settings;
    if settings.get(keys::plinth_storage::BACKEND) == "s3" {
        let store = S3Store::new(&S3StoreConfig::from_settings(settings));
        let store = store.map_err(anyhow::Error::from)?;
        store.check().await.map_err(anyhow::Error::from)?;
        return Ok(BlobStore::S3(store));
    }
    let folder = settings.get(keys::plinth_storage::PATH);
    Ok(BlobStore::Local {
        folder: folder.map_or_else(
            || startup.folder.files(),
            |path| startup.folder.root.join(path),
        ),
        fsync: settings.get(keys::plinth_storage::FSYNC),
    })
}

/// Settings of image transformation.
fn image_renderer(startup: &Startup) -> ImageRendererConfig {
    let settings = &startup.settings;
    let workers = settings.get(keys::plinth_storage::IMAGES_WORKERS);
    ImageRendererConfig {
        folder: startup.folder.renditions(),
        cache_bytes: settings.get(keys::plinth_storage::IMAGES_CACHE_BYTES),
        workers: workers.and_then(NonZeroUsize::new),
        max_memory: settings.get(keys::plinth_storage::IMAGES_MAX_MEMORY),
    }
}

/// The realtime service, as a cluster node if a NATS URL is set.
async fn realtime_service(settings: &Settings) -> Outcome<RealtimeService> {
    let Some(url) = settings.get(keys::plinth_nats::URL) else {
        return Ok(RealtimeService::new());
    };
    let config = ClusterConfig {
        url: url.expose().to_owned(),
        name: settings
            .get(keys::plinth_nats::NODE)
            .unwrap_or_default()
            .to_owned(),
        max_retained_wal: settings.get(keys::plinth_nats::MAX_RETAINED_WAL),
        follower_timeout: ClusterConfig::FOLLOWER_TIMEOUT,
    };
    let cluster = Cluster::connect(&config)
        .await
        .map_err(anyhow::Error::from)?;
    Ok(RealtimeService::with_cluster(cluster))
}

fn start_background(
    startup: &Startup,
    database: &Database,
    platform: &Platform,
    registry: &Registry,
) -> Background {
    let background = Background::new();
    background.listen_for_changes(platform);
    let idle = startup.settings.get(keys::plinth::POOL_PROJECT_IDLE);
    background.close_idle(platform, registry, idle);
    background.check_roles(platform);
    background.empty_trash(platform);
    background.adopt_jobs(platform);
    if let Some(isolated) = database.isolated() {
        background.stop_idle_servers(isolated);
    }
    if let Some(server) = database.server() {
        background.watch_postgres(server.state());
    }
    if startup.mode == ServerMode::Development {
        let supabase = startup.folder.root.join("supabase");
        let watched = ["config.toml", ".env", ".env.local"].map(|name| supabase.join(name));
        background.watch_config(watched.to_vec(), registry);
    }
    background
}

/// Opens the log store; access records are echoed to `lines`.
pub(super) fn open_logs(
    folder: &Folder,
    settings: &Settings,
    lines: Option<AccessLog>,
) -> Outcome<(LogStore, WriterThread)> {
    let config = plinth_log::Config {
        segment_bytes: settings.get(keys::plinth::LOGS_SEGMENT_BYTES),
        retention: RetentionPolicy::uniform(Retention {
            max_age: settings.get(keys::plinth::LOGS_MAX_AGE),
            max_bytes: settings.get(keys::plinth::LOGS_MAX_BYTES),
        }),
        ..plinth_log::Config::default()
    };
    let (store, mut writer) = LogStore::open(folder.logs(), config)?;
    if let Some(lines) = lines {
        writer = writer.echo(lines);
    }
    Ok((store, writer.start()?))
}

/// The system schemas of every project, in the order in which they are installed.
fn schemas() -> Vec<MigrationSet> {
    vec![
        plinth_project::schema::MIGRATIONS,
        plinth_auth::schema::MIGRATIONS,
        plinth_storage::schema::MIGRATIONS,
        plinth_realtime::schema::MIGRATIONS,
        plinth_rest::schema::MIGRATIONS,
    ]
}

pub(super) async fn bootstrap(
    startup: &Startup,
    database: &Database,
    logs: &LogStore,
) -> Outcome<Platform> {
    let Startup {
        folder, settings, ..
    } = startup;
    let read_file = |path: &Path| std::fs::read_to_string(folder.root.join("supabase").join(path));
    let bootstrap = Bootstrap {
        maintenance: database.maintenance(),
        default_database: database.default_database(),
        instance_key: instance_key::load_or_create(folder)?,
        schemas: schemas(),
        configured_keys: ConfiguredKeys::from_settings(settings, read_file)?,
        // Not on an external server, which others may be able to reach.
        default_owner_password: (startup.has_fixed_password() && database.server().is_some())
            .then(|| Secret::new(LOCAL_OWNER_PASSWORD)),
        connections: ConnectionShare {
            owner: settings.get(keys::plinth::DATABASE_OWNER_CONNECTIONS),
            pool_size: settings.get(keys::plinth::POOL_SIZE),
        },
        isolates_by_default: settings.get(keys::plinth::ISOLATION_DEFAULT),
        trash: settings.get(keys::plinth::TRASH),
        logs: logs.clone(),
    };
    let platform = bootstrap.run().await.map_err(|error| match error {
        // Hidden in API responses, but shown to the user who starts the server.
        PlatformError::Internal(cause) => anyhow!("the database cannot be used: {cause}"),
        error => anyhow::Error::from(error),
    })?;
    if let Some(isolated) = database.isolated() {
        platform.attach_server_runner(Arc::new(isolated.clone()));
    }
    Ok(platform)
}

pub(super) fn registry(
    platform: &Platform,
    settings: &Settings,
    logs: &LogStore,
    loader: &Loader,
) -> Registry {
    let loader = loader.clone();
    Registry::new(RegistryParts {
        directory: Arc::new(platform.clone()),
        servers: Arc::new(platform.clone()),
        schemas: schemas(),
        pool: PoolConfig {
            size: settings.get(keys::plinth::POOL_SIZE),
            acquire_timeout: settings.get(keys::plinth::POOL_ACQUIRE_TIMEOUT),
            max_lifetime: settings.get(keys::plinth::POOL_MAX_LIFETIME),
            idle_timeout: settings.get(keys::plinth::POOL_IDLE_TIMEOUT),
        },
        logs: logs.clone(),
        settings_for: Box::new(move |record| settings_for(&loader, record)),
    })
}

/// Folder and environment apply to the default project only.
fn settings_for(loader: &Loader, record: &ProjectRecord) -> Result<Settings, LoadError> {
    let mut stored = record.settings.clone();
    let loader = match record.kind {
        ProjectKind::Default => loader.clone(),
        ProjectKind::Ordinary => Loader::new(),
        ProjectKind::Platform => {
            // Operators are invited and cannot sign up (console contract N20, N174).
            stored
                .entry(keys::auth::ENABLE_SIGNUP.path())
                .or_insert_with(|| false.into());
            Loader::new()
        }
    };
    Ok(loader.stored(stored).load()?.settings)
}
