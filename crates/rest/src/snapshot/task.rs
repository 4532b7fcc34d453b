//! The background task of one project: listens for notifications, loads snapshots on request, and
//! retries failed loads with backoff.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use arc_swap::ArcSwapOption;
use plinth_db::ListenEvent;
use plinth_project::ProjectDb;
use tokio::sync::{Notify, mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

use super::{LoadError, SPECULATIVE_FACTOR, SettingsRole, Snapshot, load::load_snapshot};
use crate::{RestConfig, metrics::RestMetrics};

/// Notifications within this time after a load are coalesced into one more load.
const DEBOUNCE: Duration = Duration::from_millis(100);
/// Without requests for this long the task stops listening.
const IDLE_TIMEOUT: Duration = Duration::from_secs(300);
pub(super) const INITIAL_BACKOFF: Duration = Duration::from_secs(1);
const MAX_BACKOFF: Duration = Duration::from_secs(32);

/// What the task and the requests share.
pub(super) struct Shared {
    pub(super) snapshot: ArcSwapOption<Snapshot>,
    pub(super) state: watch::Sender<State>,
    /// When a request last used the snapshot, in milliseconds after the start.
    pub(super) last_used: AtomicU64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// For the first time.
    Loading,
    /// Loaded, and listening for notifications.
    Listening,
    /// The last load failed; the snapshot before it is served.
    Failing,
    /// Not listening; the snapshot may be outdated.
    Idle,
}

/// A request waits for a load. Dropping this notifies it that the load has ended.
pub(super) struct LoadRequest {
    pub(super) reason: LoadReason,
    pub(super) _done: oneshot::Sender<()>,
}

/// Checked again when the task takes the request: a load in between may have satisfied it.
pub(super) enum LoadReason {
    /// An explicit reload.
    Requested(Arc<RestConfig>),
    /// The settings were replaced, or the task was idle.
    Outdated(Arc<RestConfig>),
    /// Something of this name exists in the database and is not in the snapshot.
    NameExists { schema: String, name: String },
    /// A column, a relationship or an overload may be new.
    MaybeOutdated,
}

impl LoadReason {
    fn base(&self) -> Option<&Arc<RestConfig>> {
        match self {
            Self::Requested(base) | Self::Outdated(base) => Some(base),
            Self::NameExists { .. } | Self::MaybeOutdated => None,
        }
    }
}

pub(super) struct LoadTask {
    pub(super) db: ProjectDb,
    pub(super) metrics: Arc<RestMetrics>,
    pub(super) base: Arc<RestConfig>,
    pub(super) settings_role: SettingsRole,
    pub(super) config_reload: Arc<Notify>,
    pub(super) shared: Arc<Shared>,
    pub(super) load_requests: mpsc::UnboundedReceiver<LoadRequest>,
    pub(super) started: Instant,
    pub(super) stop: CancellationToken,
    pub(super) backoff: Duration,
}

/// Why listening ended.
enum Ended {
    Stopped,
    Idle,
    /// The settings name another channel now.
    ChannelChanged,
}

impl LoadTask {
    pub(super) async fn run(mut self) {
        // Listening starts before the first load, so that no change is missed in between.
        loop {
            match self.listen().await {
                Ended::Stopped => return,
                Ended::ChannelChanged => continue,
                Ended::Idle => {}
            }
            self.shared.state.send_replace(State::Idle);
            let Some(request) = self.load_requests.recv().await else {
                return;
            };
            self.load_for(Some(request)).await;
        }
    }

    async fn listen(&mut self) -> Ended {
        let channel = self.channel();
        let unlisten = self.stop.child_token();
        let _unlisten_at_end = unlisten.clone().drop_guard();
        // Without a channel nothing arrives; `_sender` keeps the receiver open.
        let (_sender, silent) = mpsc::channel(1);
        let mut notifications = match &channel {
            Some(channel) => self.db.listen(channel, unlisten),
            None => silent,
        };
        if channel.is_none() || self.shared.snapshot.load().is_none() {
            self.load_for(None).await;
        }
        loop {
            if self.channel() != channel {
                return Ended::ChannelChanged;
            }
            let is_failing = *self.shared.state.borrow() == State::Failing;
            let mut request = None;
            tokio::select! {
                () = self.stop.cancelled() => return Ended::Stopped,
                received = self.load_requests.recv() => match received {
                    Some(received) if self.is_satisfied(&received.reason) => continue,
                    Some(received) => request = Some(received),
                    None => return Ended::Stopped,
                },
                notification = notifications.recv() => match notification {
                    Some(notification) if self.requires_load(&notification) => {}
                    Some(_) => continue,
                    None => return Ended::Stopped,
                },
                () = tokio::time::sleep(self.backoff), if is_failing => {
                    self.backoff = (self.backoff * 2).min(MAX_BACKOFF);
                }
                () = tokio::time::sleep(IDLE_TIMEOUT) => {
                    if self.is_idle() {
                        return Ended::Idle;
                    }
                    continue;
                }
            }
            self.load_for(request).await;
            self.debounce(&mut notifications).await;
        }
    }

    /// A burst of notifications, such as a migration sends, leads to one more load.
    async fn debounce(&mut self, notifications: &mut mpsc::Receiver<ListenEvent>) {
        let mut again = false;
        let until = tokio::time::Instant::now() + DEBOUNCE;
        let mut request = None;
        loop {
            tokio::select! {
                () = tokio::time::sleep_until(until) => break,
                Some(notification) = notifications.recv() => {
                    again |= self.requires_load(&notification);
                }
                Some(received) = self.load_requests.recv() => {
                    if !self.is_satisfied(&received.reason) {
                        request = Some(received);
                        break;
                    }
                }
            }
        }
        if again || request.is_some() {
            self.load_for(request).await;
        }
    }

    /// Also notifies the server when the settings are to be read again.
    fn requires_load(&self, notification: &ListenEvent) -> bool {
        let ListenEvent::Notification { payload, .. } = notification else {
            // The connection is new: notifications may have been missed.
            return true;
        };
        if payload == RELOAD_CONFIG {
            self.config_reload.notify_one();
        }
        is_reload(payload)
    }

    /// Whether the latest snapshot satisfies a request, so that no load is needed.
    fn is_satisfied(&self, reason: &LoadReason) -> bool {
        let state = *self.shared.state.borrow();
        let Some(latest) = self.shared.snapshot.load_full() else {
            return false;
        };
        match reason {
            LoadReason::Requested(_) => false,
            LoadReason::Outdated(base) => state != State::Idle && Arc::ptr_eq(&latest.base, base),
            // Loads are retried with backoff already.
            LoadReason::NameExists { .. } | LoadReason::MaybeOutdated
                if state == State::Failing =>
            {
                true
            }
            LoadReason::NameExists { schema, name } => latest.cache.has(schema, name),
            LoadReason::MaybeOutdated => !latest.may_be_outdated(SPECULATIVE_FACTOR),
        }
    }

    fn channel(&self) -> Option<String> {
        match &*self.shared.snapshot.load() {
            Some(snapshot) => snapshot.config.channel.clone(),
            None => self.base.channel.clone(),
        }
    }

    fn is_idle(&self) -> bool {
        let last_used = Duration::from_millis(self.shared.last_used.load(Ordering::Relaxed));
        self.started.elapsed().saturating_sub(last_used) >= IDLE_TIMEOUT
    }

    /// One load for all requests that are queued. The latest settings win.
    async fn load_for(&mut self, first: Option<LoadRequest>) {
        let mut waiting = Vec::from_iter(first);
        while let Ok(request) = self.load_requests.try_recv() {
            waiting.push(request);
        }
        let mut newest_first = waiting.iter().rev();
        if let Some(base) = newest_first.find_map(|request| request.reason.base()) {
            self.base = base.clone();
        }
        self.load().await;
    }

    async fn load(&mut self) {
        let started = Instant::now();
        let previous = self.shared.snapshot.load_full();
        let loaded = load_snapshot(
            &self.db,
            &self.base,
            self.settings_role,
            previous.as_deref(),
        );
        match loaded.await {
            Ok(snapshot) => {
                self.backoff = INITIAL_BACKOFF;
                let counts = snapshot.cache.counts();
                let elapsed = started.elapsed();
                self.metrics.record_load(elapsed);
                tracing::debug!(
                    duration_ms = elapsed.as_millis() as u64,
                    "schema cache loaded: {counts}"
                );
                self.shared.snapshot.store(Some(Arc::new(snapshot)));
                self.db.discard_statements();
                self.shared.state.send_replace(State::Listening);
            }
            Err(error) => {
                self.metrics.count_failed_load();
                match error {
                    LoadError::Settings(_) => {
                        tracing::error!("schema cache not loaded, responding with 503: {error}");
                    }
                    LoadError::Connect(_) | LoadError::Query(_) => {
                        tracing::warn!(
                            retry_in_s = self.backoff.as_secs(),
                            "loading the schema cache failed, retrying with backoff: {error}"
                        );
                    }
                }
                self.shared.state.send_replace(State::Failing);
            }
        }
    }
}

const RELOAD_CONFIG: &str = "reload config";

fn is_reload(payload: &str) -> bool {
    matches!(payload, "" | "reload schema" | RELOAD_CONFIG)
}

#[cfg(test)]
mod tests;
