//! The task of one project: it listens, loads when somebody says so, and tries again when that fails.

use std::{
    collections::HashMap,
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use plinth_db::Heard;
use plinth_project::ProjectDb;
use tokio::sync::{Notify, mpsc};
use tokio_util::sync::CancellationToken;

use super::{
    FIRST_RETRY, LoadError, Order, PART_FACTOR, SettingsRole, Shared, Snapshot, State, Why,
};
use crate::{
    RestConfig,
    config::{RoleSettings, load_in_database, session_user},
    numbers::Numbers,
    schema_cache::{SchemaCache, Scope},
};

/// Loads asked for within this time after one become one.
const COOL_DOWN: Duration = Duration::from_millis(100);
/// A project that nobody asked for this long stops listening.
const IDLE: Duration = Duration::from_secs(300);
const LONGEST_RETRY: Duration = Duration::from_secs(32);

pub(super) struct Task {
    pub(super) db: ProjectDb,
    pub(super) numbers: Arc<Numbers>,
    pub(super) base: Arc<RestConfig>,
    pub(super) settings_of: SettingsRole,
    pub(super) config_asked: Arc<Notify>,
    pub(super) shared: Arc<Shared>,
    pub(super) orders: mpsc::UnboundedReceiver<Order>,
    pub(super) started: Instant,
    pub(super) stop: CancellationToken,
    pub(super) retry_in: Duration,
}

/// Why a session of listening ended.
enum Ended {
    Stopped,
    Idle,
    /// The channel to listen on is another one now.
    OtherChannel,
}

impl Task {
    pub(super) async fn run(mut self) {
        // Listening starts before the first load, so that nothing falls between the two.
        loop {
            match self.listen().await {
                Ended::Stopped => return,
                Ended::OtherChannel => continue,
                Ended::Idle => {}
            }
            self.shared.state.send_replace(State::Asleep);
            let Some(order) = self.orders.recv().await else {
                return;
            };
            self.load_for(Some(order)).await;
        }
    }

    async fn listen(&mut self) -> Ended {
        let channel = self.channel();
        let hang_up = self.stop.child_token();
        let _hang_up_at_end = hang_up.clone().drop_guard();
        let (_open, closed) = mpsc::channel(1);
        let mut heard = match &channel {
            Some(channel) => self.db.listen(channel, hang_up),
            None => closed,
        };
        if channel.is_none() || self.shared.snapshot.load().is_none() {
            self.load_for(None).await;
        }
        loop {
            if self.channel() != channel {
                return Ended::OtherChannel;
            }
            let is_failing = *self.shared.state.borrow() == State::Failing;
            let mut ordered = None;
            tokio::select! {
                () = self.stop.cancelled() => return Ended::Stopped,
                order = self.orders.recv() => match order {
                    Some(order) if self.is_answered(&order.why) => continue,
                    Some(order) => ordered = Some(order),
                    None => return Ended::Stopped,
                },
                heard = heard.recv() => match heard {
                    Some(heard) if self.asks_for_load(&heard) => {}
                    Some(_) => continue,
                    None => return Ended::Stopped,
                },
                () = tokio::time::sleep(self.retry_in), if is_failing => {
                    self.retry_in = (self.retry_in * 2).min(LONGEST_RETRY);
                }
                () = tokio::time::sleep(IDLE) => {
                    if self.is_idle() {
                        return Ended::Idle;
                    }
                    continue;
                }
            }
            self.load_for(ordered).await;
            self.coalesce(&mut heard).await;
        }
    }

    /// A burst of notifications, as a migration sends them, makes one more load.
    async fn coalesce(&mut self, heard: &mut mpsc::Receiver<Heard>) {
        let mut again = false;
        let until = tokio::time::Instant::now() + COOL_DOWN;
        let mut ordered = None;
        loop {
            tokio::select! {
                () = tokio::time::sleep_until(until) => break,
                Some(heard) = heard.recv() => again |= self.asks_for_load(&heard),
                Some(order) = self.orders.recv() => {
                    if !self.is_answered(&order.why) {
                        ordered = Some(order);
                        break;
                    }
                }
            }
        }
        if again || ordered.is_some() {
            self.load_for(ordered).await;
        }
    }

    fn asks_for_load(&self, heard: &Heard) -> bool {
        let Heard::Notification { payload, .. } = heard else {
            return true;
        };
        if payload == RELOAD_CONFIG {
            self.config_asked.notify_one();
        }
        is_reload(payload)
    }

    /// Whether what is known answers an order, so that loading again would be in vain.
    fn is_answered(&self, why: &Why) -> bool {
        let state = *self.shared.state.borrow();
        let Some(known) = self.shared.snapshot.load_full() else {
            return false;
        };
        match why {
            Why::Asked(_) => false,
            Why::OutOfDate(base) => state != State::Asleep && Arc::ptr_eq(&known.base, base),
            // The next attempt has its time.
            Why::Unknown { .. } | Why::Suspicion if state == State::Failing => true,
            Why::Unknown { schema, name } => known.cache.has(schema, name),
            Why::Suspicion => !known.is_older_than(PART_FACTOR),
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
        self.started.elapsed().saturating_sub(last_used) >= IDLE
    }

    /// For everybody who has ordered a load by now.
    async fn load_for(&mut self, first: Option<Order>) {
        let mut waiting = Vec::from_iter(first);
        while let Ok(order) = self.orders.try_recv() {
            waiting.push(order);
        }
        if let Some(base) = waiting.iter().rev().find_map(|order| order.why.base()) {
            self.base = base.clone();
        }
        self.load().await;
    }

    async fn load(&mut self) {
        let started = Instant::now();
        match self.fetch().await {
            Ok(snapshot) => {
                self.retry_in = FIRST_RETRY;
                let counts = snapshot.cache.counts();
                let elapsed = started.elapsed();
                self.numbers.loaded(elapsed);
                tracing::debug!(
                    duration_ms = elapsed.as_millis() as u64,
                    "the schema cache was loaded: {counts}"
                );
                self.shared.snapshot.store(Some(Arc::new(snapshot)));
                self.db.forget_statements();
                self.shared.state.send_replace(State::Awake);
            }
            Err(error) => {
                self.numbers.load_failed();
                match error {
                    LoadError::Settings(_) => tracing::error!("nothing is served: {error}"),
                    LoadError::Connect(_) | LoadError::Query(_) => {
                        tracing::warn!("the schema cache could not be loaded: {error}");
                    }
                }
                self.shared.state.send_replace(State::Failing);
            }
        }
    }

    /// The settings from before. Without any, serving without those of the database could show
    /// what they hide.
    fn instead_of_invalid(&self, problems: &[String]) -> Result<RestConfig, LoadError> {
        let Some(previous) = self.shared.snapshot.load_full() else {
            return Err(LoadError::Settings(problems.join("; ")));
        };
        for problem in problems {
            tracing::warn!("the settings of the database are left aside: {problem}");
        }
        Ok(previous.config.clone())
    }

    async fn fetch(&self) -> Result<Snapshot, LoadError> {
        let started = Instant::now();
        let mut client = self.db.as_login().await?;
        let mut config = (*self.base).clone();
        if config.db_config {
            let role = match self.settings_of {
                SettingsRole::Authenticator => "authenticator".to_owned(),
                SettingsRole::Login => session_user(&client).await?,
            };
            let found = load_in_database(&client, &role, config.pre_config.as_ref()).await?;
            config = match config.with_overrides(&found) {
                Ok(config) => config,
                Err(problems) => self.instead_of_invalid(&problems)?,
            };
        }
        if let Some(previous) = self.shared.snapshot.load_full() {
            config = config.continuing(&previous.config);
        }
        let roles = RoleSettings::load(&client).await?;
        let scope = Scope {
            schemas: config.schemas.clone(),
            extra_search_path: config.extra_search_path.clone(),
            hoisted_settings: config.hoisted_tx_settings.clone(),
        };
        let cache = SchemaCache::load(&mut client, &scope).await?;
        for schema in cache.missing_schemas() {
            tracing::debug!("the exposed schema {schema:?} does not exist");
        }
        Ok(Snapshot {
            search_paths: search_paths(&config),
            config,
            roles,
            cache,
            base: self.base.clone(),
            loaded_at: Instant::now(),
            loading_took: started.elapsed(),
        })
    }
}

/// The schema itself, then those that every request may use.
fn search_paths(config: &RestConfig) -> HashMap<String, String> {
    let quoted = |schema: &String| plinth_db::QuotedIdent::new(schema).to_string();
    let of_schema = |schema: &String| {
        let all = std::iter::once(schema).chain(&config.extra_search_path);
        let path: Vec<String> = all.map(quoted).collect();
        (schema.clone(), path.join(", "))
    };
    config.schemas.iter().map(of_schema).collect()
}

const RELOAD_CONFIG: &str = "reload config";

fn is_reload(payload: &str) -> bool {
    matches!(payload, "" | "reload schema" | RELOAD_CONFIG)
}

#[cfg(test)]
mod tests;
