//! WAL that this node reads from the replication slot, relayed to the others.
//!
//! Parts are numbered, so that a follower notices a lost one. Followers say how far they have
//! delivered, and nothing beyond that is confirmed to PostgreSQL: a follower that misses a part, or
//! was cut off while the broker was away, has the slot read again from the confirmed position. All
//! nodes recognise what they receive for the second time (`stream::progress`). A follower that the
//! broker alone does not reach says so in the database (`follower_records`).

use std::{collections::HashMap, sync::Arc, time::Duration};

use async_nats::Subject;
use bytes::Bytes;
use plinth_db::{
    DbError,
    replication::{Lsn, WalData},
};
use plinth_project::Project;
use tokio::{
    sync::{Semaphore, watch},
    time::{Instant, timeout},
};
use tokio_util::task::AbortOnDropHandle;

use super::{
    Cluster, ClusterLink, Envelope, FollowRequest, FollowerRecord, FollowerRecords, NodeMessage,
    NodeMessages, WalPart, WalPiece,
};
use crate::topics::NodeId;

/// Followers of the last writer have sent a request to this one after this long, or written a record.
const DISCOVERY_TIME: Duration = Duration::from_secs(5);
/// How often the writer sends an empty part if it has nothing else to send.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(1);
/// Pieces are sent together until they are larger than this, or a transaction ends.
const MAX_PART_BYTES: usize = 128 * 1024;
/// Parts that may wait for the broker. The slot is not read further meanwhile, since what does not fit
/// would have to be read again.
const MAX_QUEUED_PARTS: usize = 256;
/// How long the broker may hold up this node's own subscribers.
const CAPACITY_TIMEOUT: Duration = Duration::from_secs(1);
/// The number of the first part of a run.
pub(super) const FIRST: u64 = 1;

/// The node that reads the replication slot.
pub(crate) struct WalWriter {
    cluster: Cluster,
    link: Arc<ClusterLink>,
    subject: Subject,
    requests: Option<NodeMessages>,
    opened_at: Instant,
    /// Changes with every connection to the broker.
    connections: watch::Receiver<u64>,
    connected_at: Instant,
    followers: HashMap<NodeId, Follower>,
    records: FollowerRecords,
    /// Reads the records.
    reading: Option<RecordReading>,
    /// When the last reading that succeeded began.
    records_read_at: Option<Instant>,
    run: u64,
    number: u64,
    /// Where the run began, and what has been confirmed since.
    start: Lsn,
    confirmed: Lsn,
    /// The end of the last transaction that was relayed, and of the last one before the next part.
    relayed: Lsn,
    sent: Lsn,
    pieces: Vec<WalPiece>,
    bytes: usize,
    /// The last relation message of each table, by oid, for new followers.
    relations: HashMap<u32, WalPiece>,
    heartbeat: tokio::time::Interval,
    /// One permit for each part that may be queued.
    capacity: Arc<Semaphore>,
    /// The broker takes nothing: parts are dropped until it does again.
    is_stalled: bool,
    /// Whether followers have missed something in this run.
    has_given_up: bool,
}

/// A node that receives what this one reads.
#[derive(Debug, Clone, Copy)]
struct Follower {
    /// When it last sent a request, or wrote a record.
    seen_at: Instant,
    /// Everything up to here is delivered there.
    delivered: Lsn,
}

impl Follower {
    fn is_silent(&self, timeout: Duration) -> bool {
        self.seen_at.elapsed() >= timeout
    }
}

/// Reads the records of followers, in the background.
struct RecordReading {
    began: Instant,
    task: AbortOnDropHandle<Result<Vec<FollowerRecord>, DbError>>,
}

/// What has been read; pending for ever if nothing is. Cancel-safe.
async fn read_records(
    reading: &mut Option<RecordReading>,
) -> (Instant, Result<Vec<FollowerRecord>, DbError>) {
    let Some(RecordReading { began, task }) = reading else {
        return std::future::pending().await;
    };
    let began = *began;
    let records = task.await;
    *reading = None;
    let records = records.unwrap_or_else(|error| Err(DbError::Lost(error.to_string())));
    (began, records)
}

/// What the reader of the slot must do for the followers.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum WriterEvent {
    /// More may be confirmed.
    Confirm,
    /// A follower misses something: the slot must be read again from the confirmed position.
    ReadAgain,
}

impl WalWriter {
    /// For a slot that is read from `start` on.
    pub(crate) async fn open(link: &Arc<ClusterLink>, project: &Project, start: Lsn) -> Self {
        let subject = link.wal_subject();
        let mut writer = Self {
            cluster: link.cluster().clone(),
            link: link.clone(),
            requests: link.cluster().subscribe(&subject).await,
            subject,
            opened_at: Instant::now(),
            connections: link.cluster().connections(),
            connected_at: Instant::now(),
            followers: HashMap::new(),
            records: link.cluster().follower_records(project),
            reading: None,
            records_read_at: None,
            run: 0,
            number: 0,
            start,
            confirmed: start,
            relayed: start,
            sent: start,
            pieces: Vec::new(),
            bytes: 0,
            relations: HashMap::new(),
            heartbeat: tokio::time::interval(HEARTBEAT_INTERVAL),
            capacity: Arc::new(Semaphore::new(MAX_QUEUED_PARTS)),
            is_stalled: false,
            has_given_up: false,
        };
        writer.restart(start);
        writer
    }

    /// The slot is read again, from `start` on.
    pub(crate) fn restart(&mut self, start: Lsn) {
        self.run += 1;
        self.number = FIRST - 1;
        self.start = start;
        self.confirmed = start;
        self.relayed = start;
        self.sent = start;
        self.pieces.clear();
        self.bytes = 0;
        self.relations.clear();
        self.has_given_up = false;
        self.send_part();
    }

    pub(crate) fn has_followers(&self) -> bool {
        !self.followers.is_empty()
    }

    /// Whether to leave the slot to another node.
    pub(crate) fn may_have_successors(&self) -> bool {
        self.has_followers() || (self.may_have_unknown_followers() && self.link.has_staying_peers())
    }

    /// Followers of the last writer request again at once if the broker reaches them, and write
    /// records otherwise.
    pub(crate) fn may_have_unknown_followers(&self) -> bool {
        let is_new_connection = self.connections.has_changed().unwrap_or(false);
        let end = self.discovery_end();
        let has_read = self.records_read_at.is_some_and(|began| began >= end);
        !self.cluster.is_connected() || is_new_connection || !has_read
    }

    /// From then on the records name all followers that have sent no request.
    fn discovery_end(&self) -> Instant {
        self.opened_at.max(self.connected_at) + DISCOVERY_TIME
    }

    fn may_be_followed(&self) -> bool {
        self.has_followers() || self.may_have_unknown_followers()
    }

    /// How far may be confirmed, for all that the followers have delivered. `None`: as far as this
    /// node has delivered itself.
    pub(crate) fn confirmable(&self) -> Option<Lsn> {
        let unknown = self.may_have_unknown_followers().then_some(self.start);
        let known = self.followers.values().map(|follower| follower.delivered);
        known.chain(unknown).min()
    }

    /// Everything up to here has been confirmed.
    pub(crate) fn set_confirmed(&mut self, position: Lsn) {
        self.confirmed = self.confirmed.max(position);
    }

    /// Takes requests of followers and sends heartbeats. Cancel-safe; to be called in a loop.
    pub(crate) async fn serve_followers(&mut self) -> WriterEvent {
        loop {
            let request = async {
                match &mut self.requests {
                    Some(requests) => requests.next().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                envelope = request => match envelope {
                    Some(Envelope { from, message }) => match message {
                        NodeMessage::FollowWal(request) => {
                            return self.handle_request(from, request);
                        }
                        NodeMessage::Leaving => {
                            self.remove_follower(from);
                            return WriterEvent::Confirm;
                        }
                        _ => {}
                    },
                    None => self.requests = None,
                },
                (began, records) = read_records(&mut self.reading) => {
                    match records {
                        Ok(records) => self.remove_silent_followers(began, &records),
                        Err(error) => {
                            tracing::debug!("could not read the records of followers: {error}");
                        }
                    }
                    return WriterEvent::Confirm;
                }
                _ = self.heartbeat.tick() => {
                    self.read_records_if_needed();
                    if self.may_be_followed() {
                        self.send_part();
                    }
                    return WriterEvent::Confirm;
                }
            }
        }
    }

    fn handle_request(&mut self, from: NodeId, request: FollowRequest) -> WriterEvent {
        let known = self.followers.get(&from).map(|known| known.delivered);
        let delivered = match (known, request.delivered) {
            (Some(known), delivered) => known.max(delivered),
            // It has received nothing yet, and starts here.
            (None, Lsn::ZERO) => self.relayed,
            (None, delivered) => delivered,
        };
        let follower = Follower {
            seen_at: Instant::now(),
            delivered,
        };
        self.followers.insert(from, follower);
        if request.missing_in == Some(self.run) {
            return WriterEvent::ReadAgain;
        }
        if request.needs_tables {
            self.flush();
            self.pieces.extend(self.relations.values().cloned());
            self.send_part();
        }
        WriterEvent::Confirm
    }

    /// It has stopped: what it did not receive need not be retained.
    fn remove_follower(&mut self, node: NodeId) {
        self.followers.remove(&node);
        // They may have its record, which it has deleted. They are read again if they are needed.
        self.reading = None;
    }

    /// While the broker is away no heartbeats arrive, and all nodes may come back.
    fn read_records_if_needed(&mut self) {
        if self.connections.has_changed().unwrap_or(false) {
            self.connections.mark_unchanged();
            self.connected_at = Instant::now();
        }
        let is_discovery_due =
            self.may_have_unknown_followers() && Instant::now() >= self.discovery_end();
        // Once more later: a follower may have been busy opening while the others were discovered.
        let late = self.opened_at.max(self.connected_at) + self.records.timeout();
        let is_late_due =
            Instant::now() >= late && self.records_read_at.is_none_or(|began| began < late);
        let is_needed = is_discovery_due || is_late_due || self.has_silent_followers();
        if self.reading.is_some() || !self.cluster.is_connected() || !is_needed {
            return;
        }
        let records = self.records.clone();
        let task = tokio::spawn(async move { records.list().await });
        self.reading = Some(RecordReading {
            began: Instant::now(),
            task: AbortOnDropHandle::new(task),
        });
    }

    fn has_silent_followers(&self) -> bool {
        let is_silent = |follower: &Follower| follower.is_silent(self.records.timeout());
        self.receives_from_followers() && self.followers.values().any(is_silent)
    }

    /// Whether all followers that the broker reaches have had time for a request.
    fn receives_from_followers(&self) -> bool {
        self.cluster.is_connected() && self.connected_at.elapsed() >= self.records.timeout()
    }

    /// Removes followers that have neither sent a request lately nor have one of these records, the
    /// reading of which began at `began`.
    fn remove_silent_followers(&mut self, began: Instant, records: &[FollowerRecord]) {
        let confirmed = self.confirmed.max(self.start);
        for record in records {
            let seen_at = began.checked_sub(record.age).unwrap_or(began);
            let position = record.position;
            if let Some(known) = self.followers.get_mut(&record.node) {
                known.seen_at = known.seen_at.max(seen_at);
                known.delivered = known.delivered.max(position.delivered);
            } else if position.received >= confirmed {
                let follower = Follower {
                    seen_at,
                    delivered: position.delivered,
                };
                self.followers.insert(record.node, follower);
            }
        }
        self.records_read_at = Some(began);
        if self.receives_from_followers() {
            let timeout = self.records.timeout();
            let has_record = |node| records.iter().any(|record| record.node == node);
            // Compared with when the reading began: a slow database makes no node look silent.
            self.followers.retain(|node, follower| {
                let silence = began.saturating_duration_since(follower.seen_at);
                silence < timeout || has_record(*node)
            });
        }
    }

    /// Too much WAL is retained: followers that are behind will miss changes, also those that this
    /// node does not know. Returns true if there may be any, once per run.
    pub(crate) fn give_up_followers_behind(&mut self) -> bool {
        let relayed = self.relayed;
        let is_behind = self.confirmable().is_some_and(|limit| limit < relayed);
        self.followers
            .retain(|_, follower| follower.delivered >= relayed);
        self.start = relayed;
        is_behind && !std::mem::replace(&mut self.has_given_up, true)
    }

    /// Keeps a table's relation message for followers that come later.
    pub(crate) fn keep_relation(&mut self, table: u32, data: &WalData) {
        let piece = WalPiece {
            position: data.position,
            is_repeated: true,
            data: data.data.clone(),
        };
        self.relations.insert(table, piece);
    }

    /// Waits until the broker has taken enough of what was relayed. To be called before more is.
    pub(crate) async fn wait_for_capacity(&mut self) {
        let can_wait = self.cluster.is_connected() && self.may_be_followed() && !self.is_stalled;
        if can_wait
            && timeout(CAPACITY_TIMEOUT, self.capacity.acquire())
                .await
                .is_err()
        {
            self.is_stalled = true;
        }
    }

    /// Relays a message of the stream. `ends_transaction` sends what is buffered at once.
    pub(crate) fn relay(&mut self, position: Lsn, data: Bytes, ends_transaction: bool) {
        if ends_transaction {
            self.relayed = self.relayed.max(position);
        }
        if !self.may_be_followed() {
            // Counted as if it had been sent: a follower that comes back must notice the gap.
            self.number += 1;
            return;
        }
        self.bytes += data.len();
        self.pieces.push(WalPiece {
            position,
            is_repeated: false,
            data,
        });
        if ends_transaction || self.bytes > MAX_PART_BYTES {
            self.flush();
        }
    }

    fn flush(&mut self) {
        if !self.pieces.is_empty() {
            self.send_part();
        }
    }

    /// Sends what is buffered; an empty part is a heartbeat.
    fn send_part(&mut self) {
        self.number += 1;
        self.bytes = 0;
        let part = WalPart {
            run: self.run,
            number: self.number,
            confirmed: self.confirmed,
            relayed: std::mem::replace(&mut self.sent, self.relayed),
            pieces: std::mem::take(&mut self.pieces),
        };
        let permit = self.capacity.clone().try_acquire_owned().ok();
        self.is_stalled &= permit.is_none();
        self.cluster
            .publish_part(&self.subject, NodeMessage::Wal(part), permit);
    }

    /// This node gives the slot up; another may take it at once.
    pub(crate) async fn announce_leaving(&self) {
        self.cluster
            .publish_and_flush(&self.subject, NodeMessage::Leaving)
            .await;
    }
}
