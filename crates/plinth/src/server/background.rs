//! What goes on beside the requests: changes from other nodes, idle connections, the trash, old
//! rows of accounts, and in development the folder's config.toml.

use std::{
    path::PathBuf,
    time::{Duration, SystemTime},
};

use plinth_auth::AuthService;
use plinth_db::Heard;
use plinth_functions::FunctionsService;
use plinth_platform::Platform;
use plinth_postgres::State;
use plinth_project::{BoxFuture, ProjectName, ProjectStatus, Registry};
use plinth_realtime::RealtimeService;
use plinth_storage::StorageService;
use tokio::sync::watch;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

const IDLE_CHECK: Duration = Duration::from_secs(5);
const TRASH_CHECK: Duration = Duration::from_secs(3600);
/// How often old rows of accounts are removed.
pub(super) const CLEANING: Duration = Duration::from_secs(300);
/// How often the days of messages are looked after.
const MESSAGE_DAYS: Duration = Duration::from_secs(4 * 3600);
const CONFIG_CHECK: Duration = Duration::from_millis(500);
/// After this time a start is over, and the machine has time for other things.
const SETTLING: Duration = Duration::from_secs(60);
/// Nothing is done more often than this, whatever the settings say.
const SHORTEST: Duration = Duration::from_millis(50);

/// Tasks that end with the server.
pub(super) struct Background {
    pub(super) tasks: TaskTracker,
    pub(super) stop: CancellationToken,
}

impl Background {
    pub(super) fn new() -> Self {
        Self {
            tasks: TaskTracker::new(),
            stop: CancellationToken::new(),
        }
    }

    /// Takes over changes of projects, keys, functions and secrets, whichever node made them.
    pub(super) fn follow_announcements(&self, platform: &Platform) {
        let (target, channel) = platform.announcements();
        let target = target.application_name("plinth listener");
        let (mut heard, listener) =
            plinth_db::listen(target, vec![channel.to_owned()], self.stop.clone());
        let platform = platform.clone();
        self.tasks.spawn(async move {
            while let Some(heard) = heard.recv().await {
                match heard {
                    Heard::Connected => platform.hear_again().await,
                    Heard::Notification { payload, .. } => platform.hear(&payload).await,
                }
            }
            _ = listener.await;
        });
    }

    /// Closes connections and projects that nobody uses.
    pub(super) fn close_idle(&self, platform: &Platform, registry: &Registry, idle: Duration) {
        let (platform, registry) = (platform.clone(), registry.clone());
        let mut pace = self.every(IDLE_CHECK);
        self.tasks.spawn(async move {
            while pace.next().await {
                registry.close_idle(idle);
                platform.close_idle();
            }
        });
    }

    /// Removes projects whose time in the trash is over.
    pub(super) fn empty_trash(&self, platform: &Platform) {
        let platform = platform.clone();
        let mut pace = self.every(TRASH_CHECK);
        self.tasks.spawn(async move {
            while pace.next().await {
                // Only what is old counts as abandoned while others may be at work.
                match platform.heal(false).await {
                    Ok(healed) => healed.iter().for_each(|done| tracing::info!("{done}")),
                    Err(error) => tracing::warn!("half-made projects were not cleared: {error}"),
                }
                match platform.empty_trash().await {
                    Ok(0) => {}
                    Ok(count) => tracing::info!("removed {count} deleted project(s) for good"),
                    Err(error) => tracing::warn!("the trash could not be emptied: {error}"),
                }
            }
        });
    }

    /// Removes what expired from the accounts of every project that is in use.
    pub(super) fn clean_accounts(&self, auth: &AuthService, registry: &Registry) {
        let (auth, registry) = (auth.clone(), registry.clone());
        let mut pace = self.every(CLEANING);
        let stop = self.stop.clone();
        let cleaning = async move {
            while pace.next().await {
                for project in registry.open_projects() {
                    if let Err(error) = auth.clean_up(&project).await {
                        let reference = project.reference();
                        tracing::warn!("old rows of {reference} were not removed: {error}");
                    }
                }
            }
        };
        self.tasks.spawn(async move {
            _ = stop.run_until_cancelled(cleaning).await;
        });
    }

    /// Takes over what is saved in the folder of functions.
    pub(super) fn watch_functions(&self, functions: &FunctionsService, registry: &Registry) {
        let (functions, registry) = (functions.clone(), registry.clone());
        let stop = self.stop.clone();
        self.tasks.spawn(async move {
            let project = || -> BoxFuture<'static, _> {
                let registry = registry.clone();
                Box::pin(async move { registry.get(&ProjectName::Default).await.ok() })
            };
            _ = stop
                .run_until_cancelled(functions.watch_folder(project))
                .await;
        });
    }

    /// Removes bytes that no file needs any more, of every project that is in use.
    pub(super) fn sweep_files(
        &self,
        storage: &StorageService,
        registry: &Registry,
        every: Duration,
    ) {
        let (storage, registry) = (storage.clone(), registry.clone());
        let mut pace = self.every(every.max(SHORTEST));
        let stop = self.stop.clone();
        let sweeping = async move {
            while pace.next().await {
                for project in registry.open_projects() {
                    if let Err(error) = storage.sweep(&project).await {
                        let reference = project.reference();
                        tracing::warn!("old files of {reference} were not removed: {error}");
                    }
                }
            }
        };
        self.tasks.spawn(async move {
            _ = stop.run_until_cancelled(sweeping).await;
        });
    }

    /// Searches the stores of all projects for bytes that nothing names, one after the other: soon
    /// after the start, which may follow a crash, and then now and then. Projects that nobody uses
    /// are swept on the occasion.
    pub(super) fn collect_orphans(
        &self,
        storage: &StorageService,
        platform: &Platform,
        every: Duration,
    ) {
        let (storage, platform) = (storage.clone(), platform.clone());
        let every = every.max(SHORTEST);
        let first = tokio::time::Instant::now() + every.min(SETTLING);
        let mut pace = self.every_from(first, every);
        let stop = self.stop.clone();
        let searching = async move {
            while pace.next().await {
                if let Err(error) = search_stores(&storage, &platform).await {
                    tracing::warn!("stores were not searched for abandoned bytes: {error}");
                }
            }
        };
        self.tasks.spawn(async move {
            _ = stop.run_until_cancelled(searching).await;
        });
    }

    /// Looks after the messages of every project that is in use, and once after slots that a bad
    /// end has left behind.
    pub(super) fn maintain_realtime(
        &self,
        realtime: &RealtimeService,
        platform: &Platform,
        registry: &Registry,
    ) {
        let (realtime, platform) = (realtime.clone(), platform.clone());
        let registry = registry.clone();
        let first = tokio::time::Instant::now() + SETTLING;
        let mut pace = self.every_from(first, MESSAGE_DAYS);
        let stop = self.stop.clone();
        let maintaining = async move {
            let mut has_swept = false;
            while pace.next().await {
                if !std::mem::replace(&mut has_swept, true)
                    && let Err(error) = sweep_slots(&platform).await
                {
                    tracing::warn!("unused replication slots were not dropped: {error}");
                }
                for project in registry.open_projects() {
                    if let Err(error) = realtime.maintain(&project).await {
                        let reference = project.reference();
                        tracing::warn!(
                            code = "PartitionCreationFailed",
                            "old messages of {reference} were not removed: {error}"
                        );
                    }
                }
            }
        };
        self.tasks.spawn(async move {
            _ = stop.run_until_cancelled(maintaining).await;
        });
    }

    /// Says when PostgreSQL goes and when it is back.
    pub(super) fn watch_postgres(&self, mut state: watch::Receiver<State>) {
        let stop = self.stop.clone();
        self.tasks.spawn(async move {
            while let Some(Ok(())) = stop.run_until_cancelled(state.changed()).await {
                match &*state.borrow_and_update() {
                    State::Ready => tracing::info!("PostgreSQL is back"),
                    State::Restarting { reason } => {
                        tracing::warn!("PostgreSQL ended unexpectedly ({reason}); restarting it");
                    }
                    State::Stopped => {}
                }
            }
        });
    }

    /// Takes over changes of the folder's settings without a restart.
    pub(super) fn follow_config(&self, files: Vec<PathBuf>, registry: &Registry) {
        let registry = registry.clone();
        let mut seen = modified(&files);
        let mut pace = self.every(CONFIG_CHECK);
        self.tasks.spawn(async move {
            while pace.next().await {
                let now = modified(&files);
                if now != seen {
                    seen = now;
                    tracing::info!("config.toml changed; taking it over");
                    registry.refresh_all().await;
                }
            }
        });
    }

    fn every(&self, period: Duration) -> Pace {
        self.every_from(tokio::time::Instant::now(), period)
    }

    fn every_from(&self, first: tokio::time::Instant, period: Duration) -> Pace {
        let mut ticks = tokio::time::interval_at(first, period);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        Pace {
            ticks,
            stop: self.stop.clone(),
        }
    }

    /// Ends all tasks and waits for them.
    pub(super) async fn stop(self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

/// A period that ends with the server.
struct Pace {
    ticks: tokio::time::Interval,
    stop: CancellationToken,
}

impl Pace {
    /// Waits for the next turn; false once the server stops.
    async fn next(&mut self) -> bool {
        self.stop
            .run_until_cancelled(self.ticks.tick())
            .await
            .is_some()
    }
}

async fn sweep_slots(platform: &Platform) -> anyhow::Result<()> {
    let admin = platform.announcements().0.connect().await?;
    match plinth_realtime::sweep_slots(&admin).await? {
        0 => {}
        count => tracing::info!("dropped {count} replication slot(s) that nobody used"),
    }
    Ok(())
}

async fn search_stores(storage: &StorageService, platform: &Platform) -> anyhow::Result<()> {
    for row in platform.list_projects(true).await? {
        if row.status != ProjectStatus::ActiveHealthy {
            continue;
        }
        let reference = row.reference.clone();
        let searched = async {
            let project = platform.open(&ProjectName::Ref(row.reference)).await?;
            storage.collect_orphans(&project).await?;
            storage.sweep(&project).await?;
            anyhow::Ok(())
        };
        if let Err(error) = searched.await {
            tracing::warn!("the store of {reference} was not searched: {error}");
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
