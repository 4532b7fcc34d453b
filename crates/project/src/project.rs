//! One project, ready to be served.

use std::{
    any::{Any, TypeId},
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicI64, AtomicUsize, Ordering},
    },
};

use arc_swap::ArcSwap;
use plinth_log::LogStore;
use plinth_settings::{Settings, SettingsHandle};
use plinth_token::TokenCache;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::{ProjectDb, ProjectKeys, ProjectKind, ProjectRef};

/// A handle to one project; cheap to clone, valid as long as anybody holds it.
#[derive(Clone)]
pub struct Project {
    /// Its database.
    pub db: ProjectDb,
    /// Where its services write their records.
    pub logs: LogStore,
    inner: Arc<Inner>,
}

struct Inner {
    reference: ProjectRef,
    kind: ProjectKind,
    keys: ArcSwap<ProjectKeys>,
    tokens: TokenCache,
    settings: SettingsHandle,
    configs: Mutex<HashMap<TypeId, CachedConfig>>,
    attached: Mutex<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>,
    last_used: AtomicI64,
    /// How many hold it open without asking for it again.
    stays: AtomicUsize,
    keys_replaced: watch::Sender<()>,
    closed: CancellationToken,
}

struct CachedConfig {
    made_from: Arc<Settings>,
    value: Arc<dyn Any + Send + Sync>,
}

/// A service's own settings, made from the tree. Each service crate owns its struct.
pub trait FromSettings: Send + Sync + 'static {
    /// The tree is checked already, so this cannot fail.
    fn from_settings(settings: &Settings) -> Self;
}

impl Project {
    /// A project made of its parts: by the registry, or for a service that runs alone.
    pub fn new(
        reference: ProjectRef,
        kind: ProjectKind,
        db: ProjectDb,
        keys: ProjectKeys,
        settings: SettingsHandle,
        logs: LogStore,
    ) -> Self {
        let inner = Inner {
            reference,
            kind,
            keys: ArcSwap::from_pointee(keys),
            tokens: TokenCache::default(),
            settings,
            configs: Mutex::default(),
            attached: Mutex::default(),
            last_used: AtomicI64::new(0),
            stays: AtomicUsize::new(0),
            keys_replaced: watch::Sender::new(()),
            closed: CancellationToken::new(),
        };
        Self {
            db,
            logs,
            inner: Arc::new(inner),
        }
    }

    /// Its ref.
    pub fn reference(&self) -> &ProjectRef {
        &self.inner.reference
    }

    /// Its place among the projects.
    pub fn kind(&self) -> ProjectKind {
        self.inner.kind
    }

    /// Its keys as of now.
    pub fn keys(&self) -> Arc<ProjectKeys> {
        self.inner.keys.load_full()
    }

    /// Verified tokens, remembered.
    pub(crate) fn tokens(&self) -> &TokenCache {
        &self.inner.tokens
    }

    /// Others from now on; whoever waits for [`Project::keys_replaced`] is told.
    pub fn replace_keys(&self, keys: ProjectKeys) {
        self.inner.keys.store(Arc::new(keys));
        self.inner.keys_replaced.send_replace(());
    }

    /// Tells that keys were replaced, perhaps by the same ones: what was shown long ago may have
    /// to be verified again.
    pub fn keys_replaced(&self) -> watch::Receiver<()> {
        self.inner.keys_replaced.subscribe()
    }

    /// Keeps the project open while nobody asks for it: connections that stay do not ask again.
    pub fn stay_open(&self) -> StayOpen {
        self.inner.stays.fetch_add(1, Ordering::Relaxed);
        StayOpen(self.inner.clone())
    }

    pub(crate) fn must_stay_open(&self) -> bool {
        self.inner.stays.load(Ordering::Relaxed) > 0
    }

    /// Cancelled when the project is closed: paused, removed, or handed over to somebody else.
    /// Whoever stays must go then; the next request finds another value of the same project.
    pub fn closed(&self) -> &CancellationToken {
        &self.inner.closed
    }

    /// The settings tree, with notice of changes.
    pub fn settings(&self) -> &SettingsHandle {
        &self.inner.settings
    }

    /// A service's settings as of now: made once per change of the tree.
    pub fn config<T: FromSettings>(&self) -> Arc<T> {
        let current = self.inner.settings.current();
        let mut configs = self
            .inner
            .configs
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(cached) = configs.get(&TypeId::of::<T>())
            && Arc::ptr_eq(&cached.made_from, &current)
            && let Ok(value) = cached.value.clone().downcast::<T>()
        {
            return value;
        }
        let value = Arc::new(T::from_settings(&current));
        let cached = CachedConfig {
            made_from: current,
            value: value.clone(),
        };
        configs.insert(TypeId::of::<T>(), cached);
        value
    }

    /// What a service keeps for this project as long as the project is open, made on first use.
    ///
    /// It must not hold the project itself, or neither would ever go.
    pub fn attached<T: Send + Sync + 'static>(&self, make: impl FnOnce() -> T) -> Arc<T> {
        let mut attached = self
            .inner
            .attached
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let entry = attached
            .entry(TypeId::of::<T>())
            .or_insert_with(|| Arc::new(make()));
        let value = entry.clone().downcast::<T>();
        value.expect("the map is keyed by type")
    }

    pub(crate) fn touch(&self, now: i64) {
        self.inner.last_used.store(now, Ordering::Relaxed);
    }

    pub(crate) fn last_used(&self) -> i64 {
        self.inner.last_used.load(Ordering::Relaxed)
    }
}

/// The project is not closed for idleness as long as this lives.
pub struct StayOpen(Arc<Inner>);

impl Drop for StayOpen {
    fn drop(&mut self) {
        self.0.stays.fetch_sub(1, Ordering::Relaxed);
    }
}

impl std::fmt::Debug for Project {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Project({})", self.inner.reference)
    }
}
