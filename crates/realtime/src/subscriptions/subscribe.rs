//! The task that subscribes a channel, and keeps it subscribed.

use std::{collections::HashMap, sync::Arc, time::Duration};

use axum::extract::ws::Message;
use plinth_db::DbError;
use plinth_project::{ProjectDb, Service};
use tokio::{sync::watch, time::sleep};
use tokio_util::task::AbortOnDropHandle;

use super::{Published, Registered, Subscriber, Subscriptions};
use crate::{
    changes::{ChangeRequest, Table, queries, request::ChangeRequestError, table::Rights},
    protocol::{Ref, system_frame},
    stream_status::StreamStatus,
    usage::Usage,
};

/// How soon to retry after a failed query.
const RETRY_DELAY: Duration = Duration::from_secs(5);

/// An entry of `postgres_changes` in a join.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    /// The id in the reply to the join.
    pub(crate) id: u64,
    pub(crate) request: Result<Arc<ChangeRequest>, ChangeRequestError>,
}

/// Subscribes a channel until this is dropped.
#[derive(Debug)]
pub(crate) struct Subscribing {
    _task: AbortOnDropHandle<()>,
}

impl Subscribing {
    /// Starts a task. `before` stays subscribed until this one is.
    pub(crate) fn start(task: SubscribeTask, before: Option<Self>) -> Self {
        Self {
            _task: AbortOnDropHandle::new(tokio::spawn(task.run(before))),
        }
    }
}

/// What a channel needs to subscribe.
pub(crate) struct SubscribeTask {
    pub(crate) subscriptions: Arc<Subscriptions>,
    pub(crate) stream_status: watch::Receiver<StreamStatus>,
    pub(crate) usage: Arc<Usage>,
    pub(crate) db: ProjectDb,
    pub(crate) subscriber: Arc<Subscriber>,
    /// Carried by the channel's `system` messages.
    pub(crate) join_ref: Option<Ref>,
    pub(crate) entries: Arc<[Entry]>,
}

/// Why a channel is not subscribed.
enum SubscribeError {
    /// An entry is invalid. Retried only when other tables are published.
    Invalid(ChangeRequestError),
    /// A query failed. Retried.
    Unavailable(DbError),
}

impl From<DbError> for SubscribeError {
    fn from(error: DbError) -> Self {
        Self::Unavailable(error)
    }
}

impl From<ChangeRequestError> for SubscribeError {
    fn from(error: ChangeRequestError) -> Self {
        Self::Invalid(error)
    }
}

impl SubscribeTask {
    async fn run(self, mut before: Option<Subscribing>) {
        let mut status = self.stream_status.clone();
        let mut published = self.subscriptions.watch_published();
        // A registration stays until it is replaced.
        let mut _registered = None;
        loop {
            let generation = self.wait_until_up(&mut status).await;
            let mut known = Arc::default();
            match self.subscribe(&mut known).await {
                Ok(registered) => {
                    _registered = Some(registered);
                    drop(before.take());
                    self.send_status(true, "Subscribed to PostgreSQL");
                }
                Err(SubscribeError::Invalid(error)) => {
                    _registered = None;
                    drop(before.take());
                    tracing::debug!(
                        code = "UnableToSubscribeToPostgres",
                        "rejecting a subscription to row changes: {error}"
                    );
                    self.send_status(false, &error.to_string());
                }
                Err(SubscribeError::Unavailable(error)) => {
                    tracing::warn!(
                        code = "ReconnectSubscribeToPostgres",
                        "retrying a subscription to row changes: {error}"
                    );
                    self.send_status(
                        false,
                        "Realtime was unable to connect to the project database",
                    );
                    sleep(RETRY_DELAY).await;
                    continue;
                }
            }
            let is_new_generation = |status: &StreamStatus| matches!(status, StreamStatus::Up { generation: now } if *now != generation);
            tokio::select! {
                _ = status.wait_for(is_new_generation) => {}
                _ = published.wait_for(|published| *published != known) => {}
            }
        }
    }

    /// Waits until the stream is up; returns its generation. Errors of the stream go to the client.
    async fn wait_until_up(&self, status: &mut watch::Receiver<StreamStatus>) -> u64 {
        loop {
            let now = status.borrow_and_update().clone();
            match now {
                StreamStatus::Up { generation } => return generation,
                StreamStatus::Down(Some(error)) => self.send_status(false, &error),
                StreamStatus::Down(None) => {}
            }
            if status.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// Validates every entry; registers all of them, or none. Sets `published` to the tables that
    /// were published then.
    async fn subscribe(
        &self,
        published: &mut Arc<Published>,
    ) -> Result<Registered, SubscribeError> {
        let mut connection = self.db.as_service(Service::Realtime).await?;
        *published = Arc::new(Published::load(&mut connection).await?);
        self.subscriptions.set_published(published);
        let mut requests = Vec::with_capacity(self.entries.len());
        for entry in &*self.entries {
            requests.push((entry.id, entry.request.clone()?));
        }
        let role = self.subscriber.caller.role();
        let mut tables: HashMap<u32, Option<(Arc<Table>, Rights)>> = HashMap::new();
        let mut bound = Vec::with_capacity(requests.len());
        for (id, request) in requests {
            let before = bound.len();
            for oid in published.matching(&request) {
                let table = match tables.get(&oid) {
                    Some(table) => table,
                    None => {
                        let table = Table::find(&mut connection, oid).await?;
                        let rights = Rights::find(&mut connection, oid, role).await?;
                        let found = table.map(Arc::new).zip(rights);
                        tables.entry(oid).or_insert(found)
                    }
                };
                let Some((table, rights)) = table else {
                    continue;
                };
                queries::validate_request(&mut connection, &request, table, rights).await??;
                bound.push((id, request.clone(), table.clone()));
            }
            if bound.len() == before {
                return Err(request.not_published().into());
            }
        }
        drop(connection);
        Ok(self.subscriptions.add(&self.subscriber, &bound))
    }

    /// Sends a `system` message about the subscription.
    fn send_status(&self, is_ok: bool, message: &str) {
        let member = &self.subscriber.member;
        let message: Message = system_frame(
            member.version,
            self.join_ref.as_ref(),
            &self.subscriber.topic,
            "postgres_changes",
            is_ok,
            message,
        );
        self.usage.events.add(1);
        member.outbound.push(message);
    }
}
