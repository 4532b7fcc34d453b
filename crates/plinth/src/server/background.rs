//! Background tasks: notifications of other nodes, idle connections, the trash, expired rows,
//! garbage collection, and in development changes of the folder.

use std::{
    path::PathBuf,
    time::{Duration, SystemTime},
};

use plinth_auth::AuthService;
use plinth_db::ListenEvent;
use plinth_functions::FunctionsService;
use plinth_platform::Platform;
use plinth_postgres::State;
use plinth_project::{BoxFuture, ProjectName, ProjectStatus, Registry};
use plinth_realtime::RealtimeService;
use plinth_storage::StorageService;
use tokio::sync::watch;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::isolated::{self, IsolatedServers};

const IDLE_CHECK_INTERVAL: Duration = Duration::from_secs(5);
const TRASH_INTERVAL: Duration = Duration::from_secs(3600);
/// How often jobs are looked for whose node is gone.
const JOBS_INTERVAL: Duration = Duration::from_secs(30);
/// How often changes of roles are undone.
const ROLE_CHECK_INTERVAL: Duration = Duration::from_secs(60);
/// How often expired rows of auth are removed.
pub(super) const AUTH_CLEANUP_INTERVAL: Duration = Duration::from_secs(300);
/// How often partitions of realtime messages are created and dropped.
const REALTIME_MAINTENANCE_INTERVAL: Duration = Duration::from_secs(4 * 3600);
const CONFIG_CHECK_INTERVAL: Duration = Duration::from_millis(500);
/// Expensive tasks wait so long after the start.
const STARTUP_DELAY: Duration = Duration::from_secs(60);
/// Lower bound of configured intervals.
const MIN_INTERVAL: Duration = Duration::from_millis(50);

/// Tasks that end with the server.
pub(super) struct Background {
    pub(super) tasks: TaskTracker,
    pub(super) shutdown: CancellationToken,
}

impl Background {
    pub(super) fn new() -> Self {
        Self {
            tasks: TaskTracker::new(),
            shutdown: CancellationToken::new(),
        }
    }

    /// Listens for changes of projects, keys, functions and secrets, made by any node.
    pub(super) fn listen_for_changes(&self, platform: &Platform) {
        let (target, channel) = platform.notification_channel();
        let target = target.application_name("plinth listener");
        let (mut events, listener) =
            plinth_db::listen(target, vec![channel.to_owned()], self.shutdown.clone());
        let platform = platform.clone();
        self.tasks.spawn(async move {
            while let Some(event) = events.recv().await {
                match event {
                    ListenEvent::Connected => platform.refresh_all().await,
                    ListenEvent::Notification { payload, .. } => {
                        platform.apply_notification(&payload).await;
                    }
                }
            }
            _ = listener.await;
        });
    }

    /// Closes idle connections and projects.
    pub(super) fn close_idle(&self, platform: &Platform, registry: &Registry, idle: Duration) {
        let (platform, registry) = (platform.clone(), registry.clone());
        let mut ticker = self.every(IDLE_CHECK_INTERVAL);
        self.tasks.spawn(async move {
            while ticker.next().await {
                registry.close_idle(idle);
                platform.close_idle();
            }
        });
    }

    /// Stops idle servers of isolated projects.
    pub(super) fn stop_idle_servers(&self, servers: &IsolatedServers) {
        let servers = servers.clone();
        let mut ticker = self.every(IDLE_CHECK_INTERVAL);
        self.tasks.spawn(async move {
            while ticker.next().await {
                servers.stop_idle(isolated::IDLE_TIMEOUT).await;
            }
        });
    }

    /// Undoes changes of roles that all projects share, and of open projects' logins.
    pub(super) fn check_roles(&self, platform: &Platform) {
        let platform = platform.clone();
        let mut ticker = self.every(ROLE_CHECK_INTERVAL);
        let shutdown = self.shutdown.clone();
        let checking = async move {
            while ticker.next().await {
                if let Err(error) = platform.check_roles().await {
                    tracing::warn!("checking the shared roles failed: {error}");
                }
            }
        };
        self.tasks.spawn(async move {
            _ = shutdown.run_until_cancelled(checking).await;
        });
    }

    /// Resumes or fails jobs of nodes that are gone.
    pub(super) fn adopt_jobs(&self, platform: &Platform) {
        let platform = platform.clone();
        let mut ticker =
            self.every_from(tokio::time::Instant::now() + JOBS_INTERVAL, JOBS_INTERVAL);
        self.tasks.spawn(async move {
            while ticker.next().await {
                if let Err(error) = platform.adopt_jobs(false).await {
                    tracing::warn!("looking for abandoned jobs failed: {error}");
                }
            }
        });
    }

    /// Removes half-created projects, and projects whose time in the trash is over.
    pub(super) fn empty_trash(&self, platform: &Platform) {
        let platform = platform.clone();
        let mut ticker = self.every(TRASH_INTERVAL);
        self.tasks.spawn(async move {
            while ticker.next().await {
                // Other nodes may be creating projects: only old rows count as abandoned.
                match platform.recover(false).await {
                    Ok(recovered) => recovered.iter().for_each(|done| tracing::info!("{done}")),
                    Err(error) => tracing::warn!("removing half-created projects failed: {error}"),
                }
                match platform.empty_trash().await {
                    Ok(0) => {}
                    Ok(count) => tracing::info!("removed {count} deleted project(s) for good"),
                    Err(error) => tracing::warn!("emptying the trash failed: {error}"),
                }
            }
        });
    }

    /// Removes expired rows of auth from every open project.
    pub(super) fn clean_up_auth(&self, auth: &AuthService, registry: &Registry) {
        let (auth, registry) = (auth.clone(), registry.clone());
        let mut ticker = self.every(AUTH_CLEANUP_INTERVAL);
        let shutdown = self.shutdown.clone();
        let cleaning = async move {
            while ticker.next().await {
                for project in registry.open_projects() {
                    if let Err(error) = auth.clean_up(&project).await {
                        let reference = project.reference();
                        tracing::warn!(
                            "removing expired rows of auth failed in {reference}: {error}"
                        );
                    }
                }
            }
        };
        self.tasks.spawn(async move {
            _ = shutdown.run_until_cancelled(cleaning).await;
        });
    }

    /// Reloads functions that change in the folder.
    pub(super) fn watch_functions(&self, functions: &FunctionsService, registry: &Registry) {
        let (functions, registry) = (functions.clone(), registry.clone());
        let shutdown = self.shutdown.clone();
        self.tasks.spawn(async move {
            let project = || -> BoxFuture<'static, _> {
                let registry = registry.clone();
                Box::pin(async move { registry.get(&ProjectName::Default).await.ok() })
            };
            _ = shutdown
                .run_until_cancelled(functions.watch_folder(project))
                .await;
        });
    }

    /// Garbage collection: removes blobs whose deletion is due, in every open project.
    pub(super) fn collect_garbage(
        &self,
        storage: &StorageService,
        registry: &Registry,
        every: Duration,
    ) {
        let (storage, registry) = (storage.clone(), registry.clone());
        let mut ticker = self.every(every.max(MIN_INTERVAL));
        let shutdown = self.shutdown.clone();
        let collecting = async move {
            while ticker.next().await {
                for project in registry.open_projects() {
                    if let Err(error) = storage.collect_garbage(&project).await {
                        let reference = project.reference();
                        tracing::warn!("garbage collection failed in {reference}: {error}");
                    }
                }
            }
        };
        self.tasks.spawn(async move {
            _ = shutdown.run_until_cancelled(collecting).await;
        });
    }

    /// Searches all projects, one after the other, for orphaned blobs: soon after the start, which
    /// may follow a crash, and then periodically. Also collects garbage of projects that are not open.
    pub(super) fn collect_orphans(
        &self,
        storage: &StorageService,
        platform: &Platform,
        every: Duration,
    ) {
        let (storage, platform) = (storage.clone(), platform.clone());
        let every = every.max(MIN_INTERVAL);
        let first = tokio::time::Instant::now() + every.min(STARTUP_DELAY);
        let mut ticker = self.every_from(first, every);
        let shutdown = self.shutdown.clone();
        let searching = async move {
            while ticker.next().await {
                if let Err(error) = search_stores(&storage, &platform).await {
                    tracing::warn!("the search for orphaned blobs failed: {error}");
                }
            }
        };
        self.tasks.spawn(async move {
            _ = shutdown.run_until_cancelled(searching).await;
        });
    }

    /// Maintains the message partitions of every open project, and once, after the start, drops
    /// replication slots that a crash left behind.
    pub(super) fn maintain_realtime(
        &self,
        realtime: &RealtimeService,
        platform: &Platform,
        registry: &Registry,
    ) {
        let (realtime, platform) = (realtime.clone(), platform.clone());
        let registry = registry.clone();
        let first = tokio::time::Instant::now() + STARTUP_DELAY;
        let mut ticker = self.every_from(first, REALTIME_MAINTENANCE_INTERVAL);
        let shutdown = self.shutdown.clone();
        let maintaining = async move {
            let mut has_dropped_slots = false;
            while ticker.next().await {
                if !std::mem::replace(&mut has_dropped_slots, true)
                    && let Err(error) = drop_unused_slots(&platform).await
                {
                    tracing::warn!("dropping unused replication slots failed: {error}");
                }
                for project in registry.open_projects() {
                    if let Err(error) = realtime.maintain_partitions(&project).await {
                        let reference = project.reference();
                        tracing::warn!(
                            code = "PartitionCreationFailed",
                            "maintaining message partitions failed in {reference}: {error}"
                        );
                    }
                }
            }
        };
        self.tasks.spawn(async move {
            _ = shutdown.run_until_cancelled(maintaining).await;
        });
    }

    /// Logs when PostgreSQL is ready again.
    pub(super) fn watch_postgres(&self, mut state: watch::Receiver<State>) {
        let shutdown = self.shutdown.clone();
        self.tasks.spawn(async move {
            while let Some(Ok(())) = shutdown.run_until_cancelled(state.changed()).await {
                // The supervisor logs why it restarts.
                if matches!(*state.borrow_and_update(), State::Ready) {
                    tracing::info!("PostgreSQL is ready again");
                }
            }
        });
    }

    /// Reloads the folder's settings when their files change.
    pub(super) fn watch_config(&self, files: Vec<PathBuf>, registry: &Registry) {
        let registry = registry.clone();
        let mut seen = modified(&files);
        let mut ticker = self.every(CONFIG_CHECK_INTERVAL);
        self.tasks.spawn(async move {
            while ticker.next().await {
                let now = modified(&files);
                if now != seen {
                    seen = now;
                    tracing::info!("config.toml changed; reloading settings");
                    registry.refresh_all().await;
                }
            }
        });
    }

    fn every(&self, period: Duration) -> Ticker {
        self.every_from(tokio::time::Instant::now(), period)
    }

    fn every_from(&self, first: tokio::time::Instant, period: Duration) -> Ticker {
        let mut ticks = tokio::time::interval_at(first, period);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        Ticker {
            ticks,
            shutdown: self.shutdown.clone(),
        }
    }

    /// Cancels all tasks and awaits them.
    pub(super) async fn stop(self) {
        self.shutdown.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

/// An interval that ends with the server.
struct Ticker {
    ticks: tokio::time::Interval,
    shutdown: CancellationToken,
}

impl Ticker {
    /// Waits for the next tick; false at shutdown.
    async fn next(&mut self) -> bool {
        self.shutdown
            .run_until_cancelled(self.ticks.tick())
            .await
            .is_some()
    }
}

async fn drop_unused_slots(platform: &Platform) -> anyhow::Result<()> {
    let admin = platform.notification_channel().0.connect().await?;
    match plinth_realtime::drop_orphaned_slots(&admin).await? {
        0 => {}
        count => tracing::info!("dropped {count} unused replication slot(s)"),
    }
    Ok(())
}

async fn search_stores(storage: &StorageService, platform: &Platform) -> anyhow::Result<()> {
    for row in platform.list_projects(true).await? {
        // A server is not started for this: it is checked while it is in use.
        if row.status != ProjectStatus::ActiveHealthy || !platform.is_running(&row.server) {
            continue;
        }
        let reference = row.reference.clone();
        let searched = async {
            let project = platform.open(&ProjectName::Ref(row.reference)).await?;
            storage.collect_orphans(&project).await?;
            storage.collect_garbage(&project).await?;
            anyhow::Ok(())
        };
        if let Err(error) = searched.await {
            tracing::warn!("the search for orphaned blobs failed in {reference}: {error}");
        }
    }
    Ok(())
}

fn modified(files: &[PathBuf]) -> Vec<Option<SystemTime>> {
    files
        .iter()
        .map(|file| std::fs::metadata(file).ok()?.modified().ok())
        .collect()
}
