//! The session engine (client contract §1): keeps one user's session in a store, refreshes it in
//! time and only once, and tells everybody who listens.
//!
//! Lock order: `commits` before all others, of which none is held together with another. Across an
//! await only `commits` is held, the store's own locks and that of pending sign-ins.

mod bus;
mod event;
mod hub;
mod load;
mod refresh;
mod stored;
mod ticker;
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
pub use bus::{BusMessage, SessionBus};
pub use event::{AuthEvent, SignOutReason};
pub use hub::AuthEvents;
pub use refresh::{COOL_DOWN_MS, SessionRefresher};
pub use ticker::{AutoRefresh, REFRESH_THRESHOLD_TICKS, TICK_MS};
pub use visibility::Visibility;
pub(crate) use visibility::of_page;

/// How a session is kept.
pub(crate) struct Settings {
    pub(crate) storage_key: String,
    pub(crate) store: Arc<dyn SessionStore>,
    /// Where users are kept if not with their session (S9).
    pub(crate) user_store: Option<Arc<dyn SessionStore>>,
    pub(crate) auto_refresh: bool,
    /// Whether anybody looks at the application, if it can be told (S21).
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
    hub: hub::Hub,
    started: OnceCell<()>,
    flight: Mutex<refresh::Flight>,
    /// Held while what is stored is looked at and replaced, so that nothing older replaces
    /// something newer. Removals do not wait for it.
    commits: tokio::sync::Mutex<()>,
    /// Counts removals, so that a save can tell that one came in between.
    removals: AtomicU64,
    /// Stops when the engine is dropped.
    ticker: Mutex<Option<Task>>,
    ticker_starts: AtomicU64,
    /// Whether `start` or `stop` was called, after which the ticker is the caller's (S23).
    is_ticker_callers: AtomicBool,
    /// Watches whether anybody looks; stops when the engine is dropped.
    watcher: Mutex<Option<Task>>,
    /// Listens to the bus; stops when the engine is dropped.
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
            hub: hub::Hub::default(),
            started: OnceCell::new(),
            flight: Mutex::default(),
            commits: tokio::sync::Mutex::default(),
            removals: AtomicU64::new(0),
            ticker: Mutex::default(),
            ticker_starts: AtomicU64::new(0),
            is_ticker_callers: AtomicBool::new(false),
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
