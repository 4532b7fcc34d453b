//! The session engine (client contract §1): stores one user's session, refreshes it in time and only once, and
//! notifies subscribers.
//!
//! Lock order: `commits` before all others, of which at most one is held at a time. Only `commits`, the store's own
//! locks and that of pending sign-ins are held across an await.

mod auto_refresh;
mod bus;
mod event;
mod load;
mod refresh;
mod stored;
mod subscribers;
mod visibility;

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex};

use tokio::sync::OnceCell;

use super::api::AuthApi;
use super::ceremony::Ceremony;
use super::jwks::JwksCache;
use super::pkce::PendingFlows;
use crate::runtime::Task;
use crate::store::SessionStore;
pub use auto_refresh::{AutoRefresh, REFRESH_THRESHOLD_TICKS, TICK_MS};
pub use bus::{BusMessage, SessionBus};
pub use event::{AuthEvent, SignOutReason};
pub use refresh::{REFRESH_COOL_DOWN_MS, SessionRefresher};
pub use subscribers::AuthEvents;
pub use visibility::Visibility;
pub(crate) use visibility::of_page;

/// How a session is stored and refreshed.
pub(crate) struct Settings {
    pub(crate) storage_key: String,
    pub(crate) store: Arc<dyn SessionStore>,
    /// Where users are stored if not with their session (S9).
    pub(crate) user_store: Option<Arc<dyn SessionStore>>,
    pub(crate) auto_refresh: bool,
    /// Reports whether the application is visible (S21).
    pub(crate) visibility: Option<Arc<dyn Visibility>>,
    pub(crate) append_flow_id: bool,
    pub(crate) bus: Option<Arc<dyn SessionBus>>,
    pub(crate) refresher: Arc<dyn SessionRefresher>,
}

/// One client's session.
pub(crate) struct Engine {
    pub(crate) api: AuthApi,
    pub(crate) keys: Arc<JwksCache>,
    pub(crate) settings: Settings,
    pub(crate) flows: PendingFlows,
    pub(super) ceremony: Ceremony,
    subscribers: subscribers::EventSubscribers,
    started: OnceCell<()>,
    refresh_state: Mutex<refresh::RefreshState>,
    /// Held while the stored session is compared and replaced, so that an older one never replaces a newer one.
    /// Removals do not wait for it.
    commits: tokio::sync::Mutex<()>,
    /// Counts removals, so that a save notices a concurrent one.
    removals: AtomicU64,
    /// Background refresh; stops when the engine is dropped.
    auto_refresh: Mutex<Option<Task>>,
    ticker_starts: AtomicU64,
    /// Whether `start` or `stop` was called, after which the application controls it (S23).
    is_caller_controlled: AtomicBool,
    /// Visibility watcher; stops when the engine is dropped.
    watcher: Mutex<Option<Task>>,
    /// Bus subscription; stops when the engine is dropped.
    listener: Mutex<Option<Task>>,
}

impl Engine {
    pub(crate) fn new(api: AuthApi, keys: Arc<JwksCache>, settings: Settings) -> Self {
        Self {
            api,
            keys,
            flows: PendingFlows::new(settings.store.clone(), &settings.storage_key),
            settings,
            ceremony: Ceremony::default(),
            subscribers: subscribers::EventSubscribers::default(),
            started: OnceCell::new(),
            refresh_state: Mutex::default(),
            commits: tokio::sync::Mutex::default(),
            removals: AtomicU64::new(0),
            auto_refresh: Mutex::default(),
            ticker_starts: AtomicU64::new(0),
            is_caller_controlled: AtomicBool::new(false),
            watcher: Mutex::default(),
            listener: Mutex::default(),
        }
    }

    fn now_ms(&self) -> i64 {
        self.api.clock().now_ms()
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Engine")
            .field("storage_key", &self.settings.storage_key)
            .finish_non_exhaustive()
    }
}
