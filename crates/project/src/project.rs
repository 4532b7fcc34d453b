//! An open project.

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

/// A handle to an open project; cheap to clone.
#[derive(Clone)]
pub struct Project {
    /// Its database.
    pub db: ProjectDb,
    /// Receives log records of its services.
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
    service_states: Mutex<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>,
    last_used: AtomicI64,
    /// Number of [`KeepOpen`] guards.
    keep_open: AtomicUsize,
    keys_replaced: watch::Sender<()>,
    closed: CancellationToken,
}

struct CachedConfig {
    settings: Arc<Settings>,
    value: Arc<dyn Any + Send + Sync>,
}

/// Typed settings of a service. Each service crate owns its struct.
pub trait FromSettings: Send + Sync + 'static {
    /// The tree is checked already, so this cannot fail.
    fn from_settings(settings: &Settings) -> Self;
}

impl Project {
    /// Used by the registry, and for standalone services.
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
            service_states: Mutex::default(),
            last_used: AtomicI64::new(0),
            keep_open: AtomicUsize::new(0),
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

    /// Platform, default or ordinary project.
    pub fn kind(&self) -> ProjectKind {
        self.inner.kind
    }

    /// Its current keys.
    pub fn keys(&self) -> Arc<ProjectKeys> {
        self.inner.keys.load_full()
    }

    /// Cache of verified tokens.
    pub(crate) fn tokens(&self) -> &TokenCache {
        &self.inner.tokens
    }

    /// Replaces its keys and notifies receivers of [`Project::keys_replaced`].
    pub fn replace_keys(&self, keys: ProjectKeys) {
        self.inner.keys.store(Arc::new(keys));
        self.inner.keys_replaced.send_replace(());
    }

    /// Notifies of replaced keys, perhaps equal ones: long-lived connections verify their credential
    /// again.
    pub fn keys_replaced(&self) -> watch::Receiver<()> {
        self.inner.keys_replaced.subscribe()
    }

    /// Keeps the project open for work that outlives its request, such as a WebSocket: idle projects
    /// are closed.
    pub fn keep_open(&self) -> KeepOpen {
        self.inner.keep_open.fetch_add(1, Ordering::Relaxed);
        KeepOpen(self.inner.clone())
    }

    pub(crate) fn is_kept_open(&self) -> bool {
        self.inner.keep_open.load(Ordering::Relaxed) > 0
    }

    /// Cancelled when the project is closed: paused, deleted, or idle. Long-lived connections must
    /// end; the next request opens the project again.
    pub fn closed(&self) -> &CancellationToken {
        &self.inner.closed
    }

    /// The settings, with notifications of changes.
    pub fn settings(&self) -> &SettingsHandle {
        &self.inner.settings
    }

    /// Current typed settings of a service, cached until the settings change.
    pub fn config<T: FromSettings>(&self) -> Arc<T> {
        let current = self.inner.settings.current();
        let mut configs = self
            .inner
            .configs
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(cached) = configs.get(&TypeId::of::<T>())
            && Arc::ptr_eq(&cached.settings, &current)
            && let Ok(value) = cached.value.clone().downcast::<T>()
        {
            return value;
        }
        let value = Arc::new(T::from_settings(&current));
        let cached = CachedConfig {
            settings: current,
            value: value.clone(),
        };
        configs.insert(TypeId::of::<T>(), cached);
        value
    }

    /// A service's own state for this project, created on first use and dropped with the project.
    ///
    /// It must not contain the project itself, which would be a reference cycle.
    pub fn service_state<T: Send + Sync + 'static>(&self, make: impl FnOnce() -> T) -> Arc<T> {
        let mut service_states = self
            .inner
            .service_states
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let entry = service_states
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

/// Guard: the project is not closed as idle while it exists.
pub struct KeepOpen(Arc<Inner>);

impl Drop for KeepOpen {
    fn drop(&mut self) {
        self.0.keep_open.fetch_sub(1, Ordering::Relaxed);
    }
}

impl std::fmt::Debug for Project {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Project({})", self.inner.reference)
    }
}
