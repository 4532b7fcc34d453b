//! The task that follows a project's slot.

use std::{collections::HashMap, sync::Arc, time::Duration};

use plinth_db::{
    DbError,
    replication::{
        Lsn, WalData,
        pgoutput::{Message, Relation, Tuple},
    },
};
use plinth_project::{Following, Project};
use time::OffsetDateTime;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::{
    Flow,
    lag::Lag,
    messages::MessageColumns,
    progress::{Progress, RowOf},
    slot,
};
use crate::{
    channel::TOPIC_PREFIX,
    cluster::{LogNews, LogPiece, LogReader, LogWriter},
    config::RealtimeConfig,
    delivery::{Change, Delivery, What},
    hub::Hub,
    protocol::Broadcast,
};

/// Both belong to everybody's schema; the second is ours alone.
const PUBLICATIONS: [&str; 2] = [
    "supabase_realtime",
    "supabase_realtime_messages_publication",
];

const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// How soon it is tried again to take over from another node.
const TAKE_OVER_PAUSE: Duration = Duration::from_millis(250);

/// How long the end may take, when there is somebody who waits for it.
const GOODBYE: Duration = Duration::from_secs(5);

/// Follows the slot as long as anybody is there, and drops it.
pub(super) async fn run(project: Project, hub: Arc<Hub>, stop: CancellationToken) {
    let over = project.closed().child_token();
    let _stops = tokio_util::task::AbortOnDropHandle::new(tokio::spawn({
        let over = over.clone();
        async move {
            stop.cancelled().await;
            over.cancel();
        }
    }));
    let delivery = Delivery::start(&project, &hub, over.clone());
    let mut task = Task {
        slot: slot::name(project.reference()),
        project,
        hub,
        over,
        delivery,
        confirmed: Lsn::ZERO,
        generation: 0,
        tables: HashMap::new(),
        committed_at: OffsetDateTime::UNIX_EPOCH,
        transaction: 0,
        progress: Progress::default(),
        lag: None,
        log: None,
        reader: None,
    };
    task.run().await;
}

/// Why the stream is ended by us.
enum Rest {
    /// Nobody has been there for a while.
    Idle,
    /// The project or the service ends.
    Over,
}

struct Task {
    project: Project,
    hub: Arc<Hub>,
    slot: String,
    over: CancellationToken,
    delivery: Delivery,
    /// Told to the server anew when it comes back, which may have forgotten.
    confirmed: Lsn,
    generation: u64,
    /// What the server has described since the stream was opened.
    tables: HashMap<u32, Described>,
    /// When the transaction was committed that is being read.
    committed_at: OffsetDateTime,
    /// The number of that transaction.
    transaction: u32,
    progress: Progress,
    /// While this node follows the slot.
    lag: Option<Lag>,
    /// The way to other nodes that want to hear of it, while this one follows the slot.
    log: Option<LogWriter>,
    /// The way from another node that follows it. Kept while nobody seems to, lest something is
    /// missed that whoever takes over says first.
    reader: Option<LogReader>,
}

fn decode(data: bytes::Bytes) -> Result<Message, DbError> {
    Message::decode(data).map_err(|error| DbError::Lost(error.to_string()))
}

/// The table of the row that a message is about.
fn row_of(message: &Message) -> Option<u32> {
    match message {
        Message::Insert(insert) => Some(insert.relation),
        Message::Update(update) => Some(update.relation),
        Message::Delete(delete) => Some(delete.relation),
        Message::Begin(_) | Message::Commit(_) | Message::Relation(_) | Message::Other(_) => None,
    }
}

/// Hears who listens elsewhere, if anybody can.
async fn attend(log: &mut Option<LogWriter>) {
    match log {
        Some(log) => log.attend().await,
        None => std::future::pending().await,
    }
}

/// A table whose rows arrive.
enum Described {
    Messages(MessageColumns),
    Users(Arc<Relation>),
}

impl Task {
    async fn run(&mut self) {
        let mut pause = FIRST_PAUSE;
        loop {
            let over = self.over.clone();
            let rest = tokio::select! {
                rest = self.follow(&mut pause) => rest,
                () = over.cancelled() => Ok(Rest::Over),
            };
            self.lag = None;
            match rest {
                Ok(Rest::Idle) => {
                    self.hub.stream.tell(Flow::Down(None));
                    self.let_go().await;
                    if self.hub.stream.may_end(&self.hub) {
                        return;
                    }
                }
                Ok(Rest::Over) => {
                    self.hub.stream.tell(Flow::Down(None));
                    self.let_go().await;
                    self.hub.stream.ends();
                    return;
                }
                // Another node follows it, or has just ceased to.
                Err(error) if slot::is_in_use(&error) && self.hub.link().is_some() => {
                    sleep(TAKE_OVER_PAUSE).await;
                }
                Err(error) => {
                    self.report(&error);
                    tokio::select! {
                        () = sleep(pause) => pause = (pause * 2).min(LONGEST_PAUSE),
                        () = self.over.cancelled() => {}
                    }
                }
            }
        }
    }

    fn report(&self, error: &DbError) {
        let code = match error {
            _ if slot::is_in_use(error) => "ReplicationSlotBeingUsed",
            DbError::Full(cause) if cause.contains("max_wal_senders") => {
                "ReplicationMaxWalSendersReached"
            }
            _ => "PoolingReplicationError",
        };
        let project = self.project.reference();
        tracing::warn!(code, %project, "row changes and messages of the database wait: {error}");
        let why = match error {
            DbError::Postgres(refusal) => refusal.message.as_str().into(),
            _ => "Realtime was unable to connect to the project database".into(),
        };
        self.hub.stream.tell(Flow::Down(Some(why)));
    }

    /// Opens the stream and reads until there is a reason not to.
    async fn follow(&mut self, pause: &mut Duration) -> Result<Rest, DbError> {
        let generation_before = self.generation;
        let opened = self.open().await;
        let mut following = match opened {
            Err(error) if slot::is_in_use(&error) && self.hub.link().is_some() => {
                return self.follow_another(error).await;
            }
            opened => opened?,
        };
        *pause = FIRST_PAUSE;
        self.tables.clear();
        self.reader = None;
        let generation = self.generation;
        if let Some(link) = self.hub.link() {
            let goes_on = generation == generation_before;
            self.log = Some(LogWriter::open(link, generation, goes_on).await);
        }
        self.hub.stream.tell(Flow::Up { generation });
        let mut done = self.delivery.done();
        let (numbers, delivered) = (&self.hub.numbers, done.clone());
        self.lag = Some(Lag::measure(&self.project, &self.slot, numbers, delivered));
        let mut away = self.delivery.away();
        let nobody = self.nobody();
        tokio::pin!(nobody);
        loop {
            tokio::select! {
                next = following.next() => match next {
                    Some(Ok(data)) => self.take(data).await?,
                    Some(Err(error)) => return Err(error),
                    None => return Err(DbError::Lost("the stream has ended".to_owned())),
                },
                Ok(()) = done.changed() => {
                    self.confirmed = *done.borrow_and_update();
                    following.confirm(self.confirmed);
                }
                // A server that is to stop waits for whoever follows its log to have taken all of it,
                // which cannot be while it answers nobody.
                Ok(()) = away.changed() => {
                    return Err(DbError::Lost("the database answers nobody".to_owned()));
                }
                () = attend(&mut self.log) => {}
                () = &mut nobody, if !self.has_followers() => {
                    following.end().await;
                    return Ok(Rest::Idle);
                }
            }
        }
    }

    /// Another node follows the slot: hears from it until that ends.
    async fn follow_another(&mut self, in_use: DbError) -> Result<Rest, DbError> {
        let link = self.hub.link().cloned();
        let Some(link) = link else {
            return Err(in_use);
        };
        let log = match self.reader.take() {
            Some(mut log) => {
                log.resume();
                Some(log)
            }
            None => LogReader::open(&link).await,
        };
        let Some(mut log) = log else {
            return Err(in_use);
        };
        let nobody = self.nobody();
        tokio::pin!(nobody);
        loop {
            tokio::select! {
                news = log.next() => match news {
                    LogNews::Nobody => {
                        self.reader = Some(log);
                        return Err(in_use);
                    }
                    LogNews::Pieces(pieces, is_gap) => {
                        if is_gap && self.generation > 0 {
                            tracing::warn!(code = "PoolingReplicationError",
                                "changes from another node were lost on the way");
                        }
                        if is_gap || self.generation == 0 {
                            self.generation += 1;
                        }
                        let generation = self.generation;
                        self.hub.stream.tell(Flow::Up { generation });
                        for piece in pieces {
                            self.take_piece(piece).await?;
                        }
                    }
                },
                () = &mut nobody => return Ok(Rest::Idle),
            }
        }
    }

    fn has_followers(&self) -> bool {
        self.log.as_ref().is_some_and(LogWriter::has_followers)
    }

    /// Whoever followed the slot for others leaves it to them.
    async fn let_go(&mut self) {
        match self.log.take() {
            Some(log) if log.has_followers() => log.leave(),
            None if self.hub.link().is_some() => {}
            _ => self.drop_slot().await,
        }
    }

    /// Follows the slot, which is made if there is none, or none that could be followed.
    async fn open(&mut self) -> Result<Following, DbError> {
        let replicator = self.project.db.as_replicator().await?;
        let followed = replicator.follow(&self.slot, &PUBLICATIONS, self.confirmed);
        let refused = match followed.await {
            Ok(following) => return Ok(following),
            Err(error) if slot::is_missing(&error) || slot::is_unusable(&error) => error,
            Err(error) => return Err(error),
        };
        let mut replicator = self.project.db.as_replicator().await?;
        if slot::is_unusable(&refused) {
            // If there is no slot either, making one says what is wrong.
            _ = replicator.drop_slot(&self.slot).await;
        }
        replicator.create_slot(&self.slot).await?;
        if self.generation > 0 {
            let project = self.project.reference();
            tracing::warn!(code = "ReplicationSlotLagTooHigh", %project,
                "changes were lost with the slot: {refused}");
        }
        self.generation += 1;
        self.confirmed = Lsn::ZERO;
        replicator
            .follow(&self.slot, &PUBLICATIONS, Lsn::ZERO)
            .await
    }

    /// Ends when nobody has been there for as long as the settings say.
    fn nobody(&self) -> impl Future<Output = ()> + Send + 'static {
        let mut population = self.hub.rooms.watch_population();
        let project = self.project.clone();
        async move {
            loop {
                if population.wait_for(|count| *count == 0).await.is_err() {
                    return;
                }
                let patience = project.config::<RealtimeConfig>().replication_idle;
                let somebody = population.wait_for(|count| *count > 0);
                if timeout(patience, somebody).await.is_err() {
                    return;
                }
            }
        }
    }

    /// So that the server keeps no log for us.
    async fn drop_slot(&mut self) {
        let dropping = async {
            let mut replicator = self.project.db.as_replicator().await?;
            replicator.drop_slot(&self.slot).await
        };
        match timeout(GOODBYE, dropping).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) if slot::is_missing(&error) => {}
            Ok(Err(error)) => tracing::debug!("the slot stays: {error}"),
            Err(_) => tracing::debug!("the slot stays: the database does not answer"),
        }
        self.confirmed = Lsn::ZERO;
        self.generation = 0;
        self.progress = Progress::default();
    }

    /// What another node has read.
    async fn take_piece(&mut self, piece: LogPiece) -> Result<(), DbError> {
        let message = decode(piece.data.clone())?;
        match message {
            // Nothing that was known about the table has become untrue.
            Message::Relation(relation) if piece.is_repeated && self.knows(&relation) => Ok(()),
            message => {
                self.take_message(piece.position, message, piece.data.len())
                    .await
            }
        }
    }

    /// Whether a table is known to look like this.
    fn knows(&self, relation: &Relation) -> bool {
        let known = self.of_users(relation.oid);
        known.is_some_and(|known| *known == *relation)
    }

    async fn take(&mut self, data: WalData) -> Result<(), DbError> {
        let message = decode(data.data.clone())?;
        self.pass_on(&data, &message);
        self.take_message(data.position, message, data.data.len())
            .await
    }

    /// Tells other nodes what they need to know. Messages of the database they get as such.
    fn pass_on(&mut self, data: &WalData, message: &Message) {
        let Some(log) = &mut self.log else {
            return;
        };
        let (is_theirs, ends) = match message {
            Message::Begin(_) => (true, false),
            Message::Commit(_) => (true, true),
            Message::Relation(relation) => {
                let is_theirs = MessageColumns::of(relation).is_none();
                if is_theirs {
                    log.describe(relation.oid, data);
                }
                (is_theirs, false)
            }
            Message::Insert(_) | Message::Update(_) | Message::Delete(_) => {
                let table = row_of(message).and_then(|table| self.tables.get(&table));
                (matches!(table, Some(Described::Users(_))), false)
            }
            Message::Other(_) => (false, false),
        };
        if is_theirs {
            log.pass_on(data.position, data.data.clone(), ends);
        }
    }

    async fn take_message(
        &mut self,
        position: Lsn,
        message: Message,
        size: usize,
    ) -> Result<(), DbError> {
        if let Some(table) = row_of(&message) {
            let kind = match self.tables.get(&table) {
                Some(Described::Messages(_)) => RowOf::Messages,
                Some(Described::Users(_)) | None => RowOf::Users,
            };
            if self.progress.has_seen_next(kind) {
                return Ok(());
            }
        }
        match message {
            Message::Begin(begin) => {
                self.committed_at = begin.committed_at;
                self.transaction = begin.xid;
                self.progress.begin(begin.commit_position);
            }
            Message::Commit(_) => {
                self.progress.commit();
                if let Some(lag) = &self.lag {
                    lag.read(position, self.committed_at);
                }
                self.delivery.commit(position).await;
            }
            Message::Relation(relation) => self.describe(relation).await,
            Message::Insert(insert) => match self.tables.get(&insert.relation) {
                Some(Described::Messages(columns)) => self.broadcast(*columns, &insert.new),
                Some(Described::Users(relation)) => {
                    let relation = relation.clone();
                    self.change(relation, What::Insert(insert.new), size).await;
                }
                None => {}
            },
            Message::Update(update) => {
                if let Some(relation) = self.of_users(update.relation) {
                    let (old, new) = (update.old, update.new);
                    self.change(relation, What::Update { old, new }, size).await;
                }
            }
            Message::Delete(delete) => {
                if let Some(relation) = self.of_users(delete.relation) {
                    self.change(relation, What::Delete(delete.old), size).await;
                }
            }
            Message::Other(_) => {}
        }
        Ok(())
    }

    fn of_users(&self, oid: u32) -> Option<Arc<Relation>> {
        match self.tables.get(&oid)? {
            Described::Users(relation) => Some(relation.clone()),
            Described::Messages(_) => None,
        }
    }

    async fn describe(&mut self, relation: Relation) {
        let oid = relation.oid;
        let described = match MessageColumns::of(&relation) {
            Some(columns) => Described::Messages(columns),
            None => {
                self.delivery.described(oid).await;
                Described::Users(Arc::new(relation))
            }
        };
        self.tables.insert(oid, described);
    }

    async fn change(&mut self, relation: Arc<Relation>, what: What, size: usize) {
        if !self.hub.subscriptions.has(relation.oid) {
            return;
        }
        let change = Change {
            relation,
            committed_at: self.committed_at,
            transaction: self.transaction,
            what,
        };
        self.delivery.change(change, size).await;
    }

    fn broadcast(&self, columns: MessageColumns, row: &Tuple) {
        let config = self.project.config::<RealtimeConfig>();
        let Some(message) = columns.read(row) else {
            tracing::warn!(
                code = "UnableToBroadcastChanges",
                "a message lacks something"
            );
            return;
        };
        if message.broadcast.body.len() > config.max_payload_bytes {
            tracing::warn!(code = "UnableToBroadcastChanges", id = %message.id, "too large");
            return;
        }
        if self.hub.events_per_second() >= config.max_events {
            tracing::warn!(code = "MessagePerSecondRateLimitReached", id = %message.id,
                "a message of the database is dropped");
            return;
        }
        self.hub
            .numbers
            .told_from_database(self.committed_at, message.inserted_at);
        let topic = format!("{TOPIC_PREFIX}{}", message.sub_topic);
        let broadcast = Broadcast::User(message.broadcast);
        self.hub.stream.tells_of(self.transaction);
        self.hub
            .broadcast_once(&topic, message.is_private, &broadcast, &message.id);
    }
}
