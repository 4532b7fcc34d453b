//! The task that reads a project's replication slot, or follows the node that does.

use std::{collections::HashMap, sync::Arc, time::Duration};

use plinth_db::{DbError, replication::Lsn};
use plinth_project::{Project, SlotStream};
use time::OffsetDateTime;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::{dispatch::KnownTable, lag::LagMonitor, progress::Progress, slot};
use crate::{
    cluster::{FollowerPosition, WalEvent, WalFollower, WalWriter, WriterEvent},
    config::RealtimeConfig,
    delivery::Delivery,
    hub::Hub,
    stream_status::StreamStatus,
};

/// The first is the users', for row changes; the second is for `realtime.messages`.
const PUBLICATIONS: [&str; 2] = [
    "supabase_realtime",
    "supabase_realtime_messages_publication",
];

const INITIAL_BACKOFF: Duration = Duration::from_millis(100);
const MAX_BACKOFF: Duration = Duration::from_secs(5);

/// How soon a node tries again to take the slot over from another one.
const TAKEOVER_RETRY: Duration = Duration::from_millis(250);

/// How soon, and for how long, this node tries to open its own slot again: for less than other nodes
/// wait for it before they do.
const REOPEN_RETRY: Duration = Duration::from_millis(50);
const REOPEN_TIMEOUT: Duration = Duration::from_secs(3);

/// How long dropping the slot may take at the end.
const DROP_SLOT_TIMEOUT: Duration = Duration::from_secs(5);

/// Reads the slot as long as there are channels, then drops it.
pub(super) async fn run(project: Project, hub: Arc<Hub>, stop: CancellationToken) {
    let shutdown = project.closed().child_token();
    let _forwards_stop = tokio_util::task::AbortOnDropHandle::new(tokio::spawn({
        let shutdown = shutdown.clone();
        async move {
            stop.cancelled().await;
            shutdown.cancel();
        }
    }));
    let delivery = Delivery::start(&project, &hub, shutdown.clone());
    let mut task = Task {
        slot: slot::name(project.reference()),
        project,
        hub,
        shutdown,
        delivery,
        confirmed: Lsn::ZERO,
        generation: 0,
        tables: HashMap::new(),
        committed_at: OffsetDateTime::UNIX_EPOCH,
        transaction: 0,
        progress: Progress::default(),
        received: Lsn::ZERO,
        lag: None,
        writer: None,
        reopening_since: None,
        follower: None,
    };
    task.run().await;
}

/// Why the task stops reading.
enum Stopped {
    /// There were no channels for a while.
    Idle,
    /// The project or the service shuts down.
    Shutdown,
    /// Another node misses something: the slot is read again from the confirmed position.
    ReadAgain,
}

pub(super) struct Task {
    pub(super) project: Project,
    pub(super) hub: Arc<Hub>,
    slot: String,
    shutdown: CancellationToken,
    pub(super) delivery: Delivery,
    /// Sent again when a stream is opened: the server may not have stored it.
    confirmed: Lsn,
    generation: u64,
    /// Relation messages since the stream was opened, by oid.
    pub(super) tables: HashMap<u32, KnownTable>,
    /// Of the transaction that is being read.
    pub(super) committed_at: OffsetDateTime,
    pub(super) transaction: u32,
    pub(super) progress: Progress,
    /// The end of the last transaction that was received whole, from the slot or from another node.
    pub(super) received: Lsn,
    /// While this node reads the slot.
    pub(super) lag: Option<LagMonitor>,
    /// Relays to other nodes, while this node reads the slot.
    pub(super) writer: Option<WalWriter>,
    /// When this node closed the stream to open it again at once. PostgreSQL takes a moment to see
    /// that the slot is free.
    reopening_since: Option<Instant>,
    /// Receives from the node that reads the slot. Kept while there seems to be none, so that the
    /// first messages of a node that takes over are not missed.
    follower: Option<WalFollower>,
}

/// Serves the other nodes; pending for ever without any.
async fn serve_followers(writer: &mut Option<WalWriter>) -> WriterEvent {
    match writer {
        Some(writer) => writer.serve_followers().await,
        None => std::future::pending().await,
    }
}

impl Task {
    async fn run(&mut self) {
        let mut backoff = INITIAL_BACKOFF;
        loop {
            let shutdown = self.shutdown.clone();
            let stopped = tokio::select! {
                stopped = self.read(&mut backoff) => stopped,
                () = shutdown.cancelled() => Ok(Stopped::Shutdown),
            };
            self.lag = None;
            match stopped {
                Ok(Stopped::Idle) => {
                    self.hub.stream.set_status(StreamStatus::Down(None));
                    self.release_slot().await;
                    let is_needed = || self.hub.topics.channel_count() > 0;
                    if self.hub.stream.stop_unless(is_needed) {
                        return;
                    }
                }
                Ok(Stopped::Shutdown) => {
                    self.hub.stream.set_status(StreamStatus::Down(None));
                    self.release_slot().await;
                    self.hub.stream.mark_stopped();
                    return;
                }
                Ok(Stopped::ReadAgain) => {}
                // Another node reads it, or has just stopped to.
                Err(error) if slot::is_in_use(&error) && self.hub.link().is_some() => {
                    sleep(TAKEOVER_RETRY).await;
                }
                Err(error) => {
                    self.report(&error);
                    tokio::select! {
                        () = sleep(backoff) => backoff = (backoff * 2).min(MAX_BACKOFF),
                        () = self.shutdown.cancelled() => {}
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
        tracing::warn!(code, %project, "replication stream is down, retrying with backoff: {error}");
        let reason = match error {
            DbError::Postgres(error) => error.message.as_str().into(),
            _ => "Realtime was unable to connect to the project database".into(),
        };
        self.hub.stream.set_status(StreamStatus::Down(Some(reason)));
    }

    /// Opens the stream and reads until it fails or is no longer needed.
    async fn read(&mut self, backoff: &mut Duration) -> Result<Stopped, DbError> {
        let opened = self.open().await;
        let mut stream = match opened {
            Err(error) if slot::is_in_use(&error) && self.hub.link().is_some() => {
                let is_own = |since: Instant| since.elapsed() < REOPEN_TIMEOUT;
                if self.reopening_since.is_some_and(is_own) {
                    sleep(REOPEN_RETRY).await;
                    return Ok(Stopped::ReadAgain);
                }
                return self.follow_writer(error).await;
            }
            opened => opened?,
        };
        *backoff = INITIAL_BACKOFF;
        self.reopening_since = None;
        self.tables.clear();
        self.follower = None;
        self.open_writer().await?;
        let generation = self.generation;
        self.hub.stream.set_status(StreamStatus::Up { generation });
        let mut delivered = self.delivery.watch_delivered();
        self.lag = Some(LagMonitor::start(
            &self.project,
            &self.slot,
            &self.hub.metrics,
            delivered.clone(),
            self.hub
                .link()
                .map(|link| link.cluster().max_retained_wal()),
        ));
        let mut outages = self.delivery.watch_outages();
        let idle = self.idle();
        tokio::pin!(idle);
        loop {
            tokio::select! {
                next = stream.next() => match next {
                    Some(Ok(data)) => self.handle_wal(data).await?,
                    Some(Err(error)) => return Err(error),
                    None => {
                        return Err(DbError::Lost("the replication stream has ended".to_owned()));
                    }
                },
                Ok(()) = delivered.changed() => {
                    let delivered = *delivered.borrow_and_update();
                    self.confirm(&stream, delivered);
                }
                // A server that shuts down executes no queries, but waits for its WAL senders until
                // everything is confirmed, which needs queries. So the stream is closed.
                Ok(()) = outages.changed() => {
                    return Err(DbError::Lost("the database does not respond to queries".to_owned()));
                }
                event = serve_followers(&mut self.writer) => match event {
                    WriterEvent::Confirm => {
                        self.give_up_unreachable_followers();
                        self.confirm(&stream, *delivered.borrow());
                    }
                    WriterEvent::ReadAgain => {
                        stream.end().await;
                        self.reopening_since = Some(Instant::now());
                        return Ok(Stopped::ReadAgain);
                    }
                },
                () = &mut idle, if !self.has_followers() => {
                    stream.end().await;
                    return Ok(Stopped::Idle);
                }
            }
        }
    }

    /// Relays to other nodes from where the slot is read.
    async fn open_writer(&mut self) -> Result<(), DbError> {
        let Some(link) = self.hub.link().cloned() else {
            return Ok(());
        };
        let confirmed = slot::confirmed_position(&self.project.db, &self.slot).await?;
        let confirmed = confirmed.unwrap_or_default().max(self.confirmed);
        // When nothing is left to confirm, the position moves on with the server's: no transaction
        // is between the last one that was received and that.
        let start = match self.received {
            Lsn::ZERO => confirmed,
            received => confirmed.min(received),
        };
        match &mut self.writer {
            Some(writer) => writer.restart(start),
            None => self.writer = Some(WalWriter::open(&link, &self.project, start).await),
        }
        Ok(())
    }

    /// Confirms what is delivered here, as far as it is delivered on the other nodes as well.
    fn confirm(&mut self, stream: &SlotStream, delivered: Lsn) {
        let limit = self.writer.as_ref().and_then(WalWriter::confirmable);
        let position = limit.map_or(delivered, |limit| delivered.min(limit));
        if position <= self.confirmed {
            return;
        }
        self.confirmed = position;
        stream.confirm(position);
        if let Some(writer) = &mut self.writer {
            writer.set_confirmed(position);
        }
    }

    /// Nodes that are cut off must not cost all others their changes, nor the database its disk.
    fn give_up_unreachable_followers(&mut self) {
        let is_too_much = self.lag.as_ref().is_some_and(LagMonitor::retains_too_much);
        if let Some(writer) = self.writer.as_mut().filter(|_| is_too_much)
            && writer.give_up_followers_behind()
        {
            let project = self.project.reference();
            tracing::warn!(code = "PoolingReplicationError", %project,
                "row changes lost on other nodes: more WAL is retained for them than plinth.nats.max_retained_wal or max_slot_wal_keep_size allows");
        }
    }

    /// Another node reads the slot: receives from it until it stops.
    async fn follow_writer(&mut self, in_use: DbError) -> Result<Stopped, DbError> {
        let link = self.hub.link().cloned();
        let Some(link) = link else {
            return Err(in_use);
        };
        self.writer = None;
        self.reopening_since = None;
        let follower = match self.follower.take() {
            Some(mut follower) => {
                follower.resume();
                Some(follower)
            }
            None => WalFollower::open(&link, &self.project).await,
        };
        let Some(mut follower) = follower else {
            return Err(in_use);
        };
        let delivered = self.delivery.watch_delivered();
        let idle = self.idle();
        tokio::pin!(idle);
        loop {
            let position = FollowerPosition {
                received: self.received,
                delivered: *delivered.borrow(),
            };
            tokio::select! {
                event = follower.next(position) => match event {
                    WalEvent::WriterGone => {
                        self.follower = Some(follower);
                        if !link.cluster().is_connected() {
                            self.hub.stream.set_status(StreamStatus::Down(Some(
                                "Realtime was unable to reach its other nodes".into(),
                            )));
                        }
                        return Err(in_use);
                    }
                    WalEvent::Pieces { pieces, begins_after } => {
                        self.begin_generation_after(begins_after);
                        for piece in pieces {
                            self.handle_relayed(piece).await?;
                        }
                    }
                },
                () = &mut idle => return Ok(Stopped::Idle),
            }
        }
    }

    /// Starts a new generation after a gap, which makes subscribers resubscribe.
    fn begin_generation_after(&mut self, gap: Option<Lsn>) {
        if let Some(position) = gap {
            self.received = self.received.max(position);
            self.progress.begin_after(position);
        }
        let is_gap = gap.is_some();
        if is_gap && self.generation > 0 {
            tracing::warn!(
                code = "PoolingReplicationError",
                "row changes lost: gap in the WAL relayed from another node"
            );
        }
        if is_gap || self.generation == 0 {
            self.generation += 1;
        }
        let generation = self.generation;
        self.hub.stream.set_status(StreamStatus::Up { generation });
    }

    fn has_followers(&self) -> bool {
        self.writer.as_ref().is_some_and(WalWriter::has_followers)
    }

    /// Leaves the slot to other nodes if they follow, and drops it otherwise.
    async fn release_slot(&mut self) {
        let Some(link) = self.hub.link().cloned() else {
            self.drop_slot().await;
            return;
        };
        if let Some(writer) = self.writer.take() {
            // Nodes that the broker does not reach are known by their records alone.
            let is_left_to_others = writer.may_have_successors()
                || (writer.may_have_unknown_followers()
                    && link.has_follower_records(&self.project).await);
            if is_left_to_others {
                writer.announce_leaving().await;
            } else {
                self.drop_slot().await;
            }
            return;
        }
        if let Some(follower) = self.follower.take() {
            follower.end().await;
        }
        link.stop_following(&self.project).await;
        // The node that has read the slot left it to this one, unless a node that the broker does not
        // reach follows as well.
        if link.is_last() && !link.has_follower_records(&self.project).await {
            self.drop_slot().await;
        }
    }

    /// Opens the slot, which is created if it does not exist or cannot be used.
    async fn open(&mut self) -> Result<SlotStream, DbError> {
        let replicator = self.project.db.as_replicator().await?;
        let opened = replicator.follow(&self.slot, &PUBLICATIONS, self.confirmed);
        let error = match opened.await {
            Ok(stream) => return Ok(stream),
            Err(error) if slot::is_missing(&error) || slot::is_unusable(&error) => error,
            Err(error) => return Err(error),
        };
        let mut replicator = self.project.db.as_replicator().await?;
        if slot::is_unusable(&error) {
            // If there is no slot either, creating one says what is wrong.
            _ = replicator.drop_slot(&self.slot).await;
        }
        replicator.create_slot(&self.slot).await?;
        if self.generation > 0 {
            let project = self.project.reference();
            tracing::warn!(code = "ReplicationSlotLagTooHigh", %project,
                "row changes lost: recreated the replication slot: {error}");
        }
        self.generation += 1;
        self.confirmed = Lsn::ZERO;
        replicator
            .follow(&self.slot, &PUBLICATIONS, Lsn::ZERO)
            .await
    }

    /// Ready when there were no channels for as long as the settings say.
    fn idle(&self) -> impl Future<Output = ()> + Send + 'static {
        let mut channels = self.hub.topics.watch_channel_count();
        let project = self.project.clone();
        async move {
            loop {
                if channels.wait_for(|count| *count == 0).await.is_err() {
                    return;
                }
                let idle_timeout = project.config::<RealtimeConfig>().replication_idle;
                let is_used = channels.wait_for(|count| *count > 0);
                if timeout(idle_timeout, is_used).await.is_err() {
                    return;
                }
            }
        }
    }

    /// So that PostgreSQL retains no WAL for it.
    async fn drop_slot(&mut self) {
        let dropping = async {
            let mut replicator = self.project.db.as_replicator().await?;
            replicator.drop_slot(&self.slot).await
        };
        match timeout(DROP_SLOT_TIMEOUT, dropping).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) if slot::is_missing(&error) => {}
            Ok(Err(error)) => tracing::debug!("could not drop the replication slot: {error}"),
            Err(_) => tracing::debug!("could not drop the replication slot: timeout"),
        }
        self.confirmed = Lsn::ZERO;
        self.generation = 0;
        self.progress = Progress::default();
        self.received = Lsn::ZERO;
    }
}
