//! How a channel subscribes, and stays subscribed.

use std::{collections::HashMap, sync::Arc, time::Duration};

use axum::extract::ws::Message;
use plinth_db::DbError;
use plinth_project::{ProjectDb, Service};
use tokio::{sync::watch, time::sleep};
use tokio_util::task::AbortOnDropHandle;

use super::{Published, Registered, Subscriber};
use crate::{
    changes::{ChangeRequest, Table, ask, request::BadRequest, table::Rights},
    channel::system_frame,
    hub::Hub,
    protocol::Ref,
    stream::Flow,
};

/// How soon it is tried again, if the database could not be asked.
const PAUSE: Duration = Duration::from_secs(5);

/// What a channel asked for.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    /// As the client is told.
    pub(crate) id: u64,
    pub(crate) request: Result<Arc<ChangeRequest>, BadRequest>,
}

/// A channel that subscribes, or is subscribed, until this is dropped.
#[derive(Debug)]
pub(crate) struct Subscribing {
    _task: AbortOnDropHandle<()>,
}

impl Subscribing {
    /// Goes on by itself. `join_ref` is what the channel's messages carry; `before` goes on until
    /// this one hears.
    pub(crate) fn start(
        hub: &Arc<Hub>,
        db: &ProjectDb,
        subscriber: Subscriber,
        join_ref: Option<Ref>,
        entries: Arc<[Entry]>,
        before: Option<Self>,
    ) -> Self {
        let task = Task {
            hub: hub.clone(),
            db: db.clone(),
            subscriber: Arc::new(subscriber),
            join_ref,
            entries,
        };
        Self {
            _task: AbortOnDropHandle::new(tokio::spawn(task.run(before))),
        }
    }
}

struct Task {
    hub: Arc<Hub>,
    db: ProjectDb,
    subscriber: Arc<Subscriber>,
    join_ref: Option<Ref>,
    entries: Arc<[Entry]>,
}

/// Why somebody is not subscribed.
enum NotSubscribed {
    /// There is nothing to be heard until they ask for something else, or something else is
    /// published.
    Bad(BadRequest),
    /// The database could not be asked.
    Unavailable(DbError),
}

impl From<DbError> for NotSubscribed {
    fn from(error: DbError) -> Self {
        Self::Unavailable(error)
    }
}

impl From<BadRequest> for NotSubscribed {
    fn from(error: BadRequest) -> Self {
        Self::Bad(error)
    }
}

impl Task {
    async fn run(self, mut before: Option<Subscribing>) {
        let mut flow = self.hub.stream.flow();
        let mut published = self.hub.subscriptions.published();
        // What is heard stays until it is replaced.
        let mut _registered = None;
        loop {
            let generation = self.live(&mut flow).await;
            let mut known = Arc::default();
            match self.subscribe(&mut known).await {
                Ok(registered) => {
                    _registered = Some(registered);
                    drop(before.take());
                    self.say(true, "Subscribed to PostgreSQL");
                }
                Err(NotSubscribed::Bad(error)) => {
                    _registered = None;
                    drop(before.take());
                    tracing::debug!(code = "UnableToSubscribeToPostgres", "{error}");
                    self.say(false, &error.to_string());
                }
                Err(NotSubscribed::Unavailable(error)) => {
                    tracing::warn!(code = "ReconnectSubscribeToPostgres", "{error}");
                    self.say(
                        false,
                        "Realtime was unable to connect to the project database",
                    );
                    sleep(PAUSE).await;
                    continue;
                }
            }
            let is_another =
                |flow: &Flow| matches!(flow, Flow::Up { generation: now } if *now != generation);
            tokio::select! {
                _ = flow.wait_for(is_another) => {}
                _ = published.wait_for(|published| *published != known) => {}
            }
        }
    }

    /// Waits until changes arrive. Whoever has to wait is told why, if there is something to say.
    async fn live(&self, flow: &mut watch::Receiver<Flow>) -> u64 {
        loop {
            let now = flow.borrow_and_update().clone();
            match now {
                Flow::Up { generation } => return generation,
                Flow::Down(Some(why)) => self.say(false, &why),
                Flow::Down(None) => {}
            }
            if flow.changed().await.is_err() {
                std::future::pending().await
            }
        }
    }

    /// Asks the database about every wish; all are entered, or none.
    /// `published` becomes what was published then.
    async fn subscribe(&self, published: &mut Arc<Published>) -> Result<Registered, NotSubscribed> {
        let mut connection = self.db.as_service(Service::Realtime).await?;
        *published = Arc::new(Published::load(&mut connection).await?);
        self.hub.subscriptions.learn(published);
        let mut requests = Vec::with_capacity(self.entries.len());
        for entry in &*self.entries {
            requests.push((entry.id, entry.request.clone()?));
        }
        let role = self.subscriber.caller.role();
        let mut tables: HashMap<u32, Option<(Arc<Table>, Rights)>> = HashMap::new();
        let mut wishes = Vec::with_capacity(requests.len());
        for (id, request) in requests {
            let before = wishes.len();
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
                ask::check(&mut connection, &request, table, rights).await??;
                wishes.push((id, request.clone(), table.clone()));
            }
            if wishes.len() == before {
                return Err(request.not_published().into());
            }
        }
        drop(connection);
        Ok(self.hub.subscriptions.add(&self.subscriber, &wishes))
    }

    fn say(&self, is_ok: bool, message: &str) {
        let member = &self.subscriber.member;
        let message: Message = system_frame(
            member.version,
            self.join_ref.as_ref(),
            &self.subscriber.topic,
            "postgres_changes",
            is_ok,
            message,
        );
        self.hub.events.add(1);
        member.outbox.push(message);
    }
}
