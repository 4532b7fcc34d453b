//! One run of the server, from open ports to the last drained request. Reads top to bottom.

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
use plinth_platform::{Bootstrap, GivenKeys, Platform, PlatformError, References, WELL_KNOWN};
use plinth_project::{
    FromSettings as _, OpenError, ProjectKind, ProjectName, ProjectRecord, Registry, RegistryParts,
};
use plinth_realtime::{Cluster, ClusterConfig, RealtimeService};
use plinth_settings::{LoadError, Loader, Settings};
use plinth_storage::{
    BlobStore, ClaimError, Installation, S3Store, S3StoreConfig, StorageService, StudioConfig,
};
use plinth_token::Secret;

use super::{
    Form,
    access_lines::AccessLines,
    background::Background,
    banner,
    database::Database,
    ending::EndSignals,
    entrance::{Entrance, Ports},
    functions::{self, InnerDoors},
    instance_key, project_files,
    serving::{AccountPages, Served, Serving},
};
use crate::{
    cli::{Global, StartArgs},
    failure::Outcome,
    folder::{Folder, Ports as RememberedPorts, Running},
};

pub(super) async fn run(global: &Global, args: StartArgs, form: Form) -> Outcome {
    let began = Instant::now();
    let (entrance, ports) = Entrance::open(global, &args, form).await?;
    let lines = AccessLines::wanted(entrance.form);
    let (logs, log_writer) = open_logs(&entrance.folder, &entrance.settings, lines)?;
    let references = Arc::new(OnceLock::new());
    let database = Database::start(&entrance, &logs, &references).await?;

    let outcome = serve(&entrance, ports, &database, &logs, &references, began).await;

    entrance.folder.forget_running();
    database.stop().await;
    logs.close().await;
    tokio::task::spawn_blocking(move || log_writer.join()).await?;
    outcome
}

/// Everything between a running PostgreSQL and the signal to stop.
async fn serve(
    entrance: &Entrance,
    ports: Ports,
    database: &Database,
    logs: &LogStore,
    references: &OnceLock<References>,
    began: Instant,
) -> Outcome {
    let platform = bootstrap(entrance, database, logs).await?;
    _ = references.set(platform.references().clone());
    let registry = registry(
        &platform,
        database,
        &entrance.settings,
        logs,
        &entrance.loader,
    );
    let endpoints = entrance.endpoints(&ports, database.external_url())?;
    platform.attach(registry.clone(), endpoints.clone());
    // Before anything is cleared away: the files of a project go with it.
    let storage = storage(entrance, &platform, database).await?;
    platform.attach_files(Arc::new(storage.clone()));
    let doors = InnerDoors::open(&ports).await?;
    let functions = functions::service(entrance, &platform, &endpoints, &ports, &doors)?;
    functions.attach_shelf(Arc::new(platform.clone()));
    platform.attach_functions(Arc::new(functions.clone()));
    // Other nodes may be at work on a shared database.
    let is_alone = database.server().is_some();
    for healed in platform.heal(is_alone).await? {
        tracing::info!("{healed}");
    }
    match registry.get(&ProjectName::Default).await {
        Ok(project) if entrance.is_migrating => {
            let (folder, settings) = (&entrance.folder, &entrance.settings);
            project_files::apply(&platform, folder, settings).await?;
            project_files::seed_buckets(&storage, &project, folder, settings).await?;
        }
        Ok(_) => {}
        Err(OpenError::Paused(_)) => {
            tracing::warn!("the default project is paused; `plinth projects resume default`");
        }
        Err(error) => return Err(error.into()),
    }

    let mut end = EndSignals::catch()?;
    let auth = AuthService::new();
    let realtime = realtime_service(&entrance.settings).await?;
    let background = start_background(entrance, database, &platform, &registry);
    background.clean_accounts(&auth, &registry);
    let duration = |name| entrance.settings.duration(name);
    let every = duration("plinth.storage.gc.every");
    background.sweep_files(&storage, &registry, every);
    if entrance.form == Form::Development {
        background.watch_functions(&functions, &registry);
    }
    let scan_every = duration("plinth.storage.gc.scan_every");
    background.collect_orphans(&storage, &platform, scan_every);
    background.maintain_realtime(&realtime, &platform, &registry);
    let mut serving = Serving::new(entrance.gateway.drain);
    let control_socket = entrance.folder.control_socket();
    entrance.folder.prepare_control_folder()?;
    serving
        .open_control_socket(&control_socket, &platform)
        .await?;
    let api_port = ports.api.local_addr()?.port();
    if let (Some(door), Some(server)) = (ports.database, database.server()) {
        for door in doors.database.into_iter().chain([door]) {
            serving.open_front_door(door, &platform, server.connection().socket());
        }
    }
    if entrance.addresses.is_auto
        && let Some((_, database)) = endpoints.database
    {
        entrance.folder.remember_ports(&RememberedPorts {
            api: api_port,
            database,
        })?;
    }
    let api_url = endpoints.api_url;
    entrance
        .folder
        .write_running(&Running::this(api_url, control_socket))?;
    // Asked before anybody is served: from then on the database may go away, and the server stays.
    let status = match entrance.form {
        Form::Development => Some(platform.status(&ProjectName::Default).await?),
        Form::Production => None,
    };
    // Last: whoever finds the edge healthy finds everything else, too.
    let served = Served {
        platform: &platform,
        registry: &registry,
        auth: &auth,
        storage: &storage,
        realtime: &realtime,
        functions: &functions,
        pages: AccountPages::from_settings(&entrance.settings),
        logs,
    };
    let listeners = doors.api.into_iter().chain([ports.api]);
    serving.open_edge(listeners, entrance.gateway.clone(), served)?;
    match status {
        Some(status) => banner::print(&status, began.elapsed()),
        None => tracing::info!("serving after {:.1} s", began.elapsed().as_secs_f64()),
    }

    end.next().await;
    tracing::info!("stopping: finishing open requests; a second signal ends them");
    platform.begin_stop();
    functions.begin_stop();
    let finished = async {
        tokio::join!(serving.stop(), realtime.finish());
        functions.finish().await;
        storage.finish().await;
        platform.finish().await;
    };
    tokio::select! {
        () = finished => {}
        () = end.next() => {}
    }
    background.stop().await;
    Ok(())
}

/// The service of files, which has its store to itself.
pub(super) async fn storage(
    entrance: &Entrance,
    platform: &Platform,
    database: &Database,
) -> Outcome<StorageService> {
    let store = blob_store(entrance).await?;
    let studio = studio(entrance);
    let storage = match is_within(&store, &entrance.folder) {
        // Whoever copies the folder copies the files along.
        true => StorageService::new(store, &studio),
        false => {
            let installation = installation(entrance, platform, database).await?;
            StorageService::for_installation(store, &studio, installation)
        }
    };
    let adopts = entrance.settings.bool("plinth.storage.adopt");
    match storage.claim(adopts).await {
        // It may answer later, and until it does nothing is collected.
        Err(ClaimError::Store(error)) => tracing::warn!("the store of files fails: {error}"),
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

/// Several nodes over one database are one installation; a copy of a folder is another one.
async fn installation(
    entrance: &Entrance,
    platform: &Platform,
    database: &Database,
) -> Outcome<Installation> {
    let home = entrance.folder.state().display().to_string();
    let mut id = platform.identity().await?;
    if database.server().is_some() {
        id = format!("{id} {home}");
    }
    Ok(Installation { id, home })
}

/// Where the bytes of files are.
async fn blob_store(entrance: &Entrance) -> Outcome<BlobStore> {
    let settings = &entrance.settings;
    if settings.text("plinth.storage.backend") == "s3" {
        let store = S3Store::new(&S3StoreConfig::from_settings(settings));
        let store = store.map_err(anyhow::Error::from)?;
        store.check().await.map_err(anyhow::Error::from)?;
        return Ok(BlobStore::S3(store));
    }
    let folder = settings.opt_path("plinth.storage.path");
    Ok(BlobStore::Local {
        folder: folder.map_or_else(
            || entrance.folder.files(),
            |path| entrance.folder.root.join(path),
        ),
        syncs: settings.bool("plinth.storage.fsync"),
    })
}

/// Where images are made smaller.
fn studio(entrance: &Entrance) -> StudioConfig {
    let settings = &entrance.settings;
    let workers = settings.opt_integer("plinth.storage.images.workers");
    let workers = workers.and_then(|workers| usize::try_from(workers).ok());
    StudioConfig {
        folder: entrance.folder.renditions(),
        cache_bytes: settings.bytes("plinth.storage.images.cache_bytes"),
        workers: workers.and_then(NonZeroUsize::new),
    }
}

/// One node of several, if the settings name what they talk over.
async fn realtime_service(settings: &Settings) -> Outcome<RealtimeService> {
    let Some(url) = settings.secret("plinth.nats.url") else {
        return Ok(RealtimeService::new());
    };
    let config = ClusterConfig {
        url: url.expose().to_owned(),
        name: settings
            .opt_text("plinth.nats.node")
            .unwrap_or_default()
            .to_owned(),
    };
    let cluster = Cluster::connect(&config)
        .await
        .map_err(anyhow::Error::from)?;
    Ok(RealtimeService::of_cluster(cluster))
}

fn start_background(
    entrance: &Entrance,
    database: &Database,
    platform: &Platform,
    registry: &Registry,
) -> Background {
    let background = Background::new();
    background.follow_announcements(platform);
    let idle = entrance.settings.duration("plinth.pool.project_idle");
    background.close_idle(platform, registry, idle);
    background.empty_trash(platform);
    if let Some(server) = database.server() {
        background.watch_postgres(server.state());
    }
    if entrance.form == Form::Development {
        let supabase = entrance.folder.root.join("supabase");
        let watched = ["config.toml", ".env", ".env.local"].map(|name| supabase.join(name));
        background.follow_config(watched.to_vec(), registry);
    }
    background
}

/// The log of everything; `lines` are echoed.
pub(super) fn open_logs(
    folder: &Folder,
    settings: &Settings,
    lines: Option<AccessLines>,
) -> Outcome<(LogStore, WriterThread)> {
    let config = plinth_log::Config {
        segment_bytes: settings.bytes("plinth.logs.segment_bytes"),
        retention: RetentionPolicy::uniform(Retention {
            max_age: settings.duration("plinth.logs.max_age"),
            max_bytes: settings.bytes("plinth.logs.max_bytes"),
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
    entrance: &Entrance,
    database: &Database,
    logs: &LogStore,
) -> Outcome<Platform> {
    let Entrance {
        folder, settings, ..
    } = entrance;
    let read_file = |path: &Path| std::fs::read_to_string(folder.root.join("supabase").join(path));
    let bootstrap = Bootstrap {
        maintenance: database.maintenance(),
        default_database: database.default_database(),
        instance_key: instance_key::load_or_create(folder)?,
        schemas: schemas(),
        given: GivenKeys::from_settings(settings, read_file)?,
        // Whoever can reach an external server could use a well-known password there.
        default_owner_password: (entrance.has_well_known_password() && database.server().is_some())
            .then(|| Secret::new(WELL_KNOWN)),
        trash: settings.duration("plinth.trash"),
        logs: logs.clone(),
    };
    bootstrap.run().await.map_err(|error| match error {
        // What the API hides from strangers is what whoever starts the server must read.
        PlatformError::Internal(cause) => anyhow!("the database cannot be used: {cause}").into(),
        error => error.into(),
    })
}

pub(super) fn registry(
    platform: &Platform,
    database: &Database,
    settings: &Settings,
    logs: &LogStore,
    loader: &Loader,
) -> Registry {
    let loader = loader.clone();
    Registry::new(RegistryParts {
        directory: Arc::new(platform.clone()),
        admin: database.maintenance(),
        cluster: platform.cluster().clone(),
        schemas: schemas(),
        pool: PoolConfig {
            size: usize::try_from(settings.integer("plinth.pool.size"))
                .unwrap_or(10)
                .max(1),
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
    let mut stored = record.settings.clone();
    let loader = match record.kind {
        ProjectKind::Default => loader.clone(),
        ProjectKind::Ordinary => Loader::new(),
        ProjectKind::Platform => {
            // Operators are invited; nobody makes themselves one (console contract N20, N174).
            stored
                .entry("auth.enable_signup")
                .or_insert_with(|| false.into());
            Loader::new()
        }
    };
    Ok(loader.stored(stored).load()?.settings)
}
