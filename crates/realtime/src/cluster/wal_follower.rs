//! A node that receives the WAL from the one that reads the replication slot.
//!
//! It says how far it has delivered, and when it misses a part. Then it waits until the slot is read
//! again, from a position that it has passed: nothing is lost, and nothing comes out of order. Only
//! if that is not possible, because the WAL is gone, changes are missing.

use std::{sync::Arc, time::Duration};

use async_nats::Subject;
use plinth_db::replication::Lsn;
use plinth_project::Project;
use tokio::time::{Instant, timeout};
use tokio_util::task::AbortOnDropHandle;

use super::{
    Cluster, ClusterLink, FollowRequest, FollowerRecords, NodeMessage, NodeMessages, WalPart,
    WalPiece, wal_writer::FIRST,
};
use crate::topics::NodeId;

/// How often a follower repeats its request within the time after which it is removed.
const REQUESTS_PER_TIMEOUT: u32 = 3;
/// How often it reports what it has delivered meanwhile, or that it still waits.
const REPORT_INTERVAL: Duration = Duration::from_millis(500);
/// Writer considered dead after this long without a heartbeat.
const WRITER_TIMEOUT: Duration = Duration::from_secs(4);
/// After this long without a heartbeat the writer may not receive this node's either.
const HEARTBEAT_OVERDUE: Duration = Duration::from_secs(2);
/// How long a record that is being written may take once the follower ends.
const RECORD_TIMEOUT: Duration = Duration::from_secs(1);
/// How long to wait for what is missing.
const RESEND_TIMEOUT: Duration = Duration::from_secs(60);

/// How far this node is.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct FollowerPosition {
    /// The end of the last transaction that was received whole, from whichever node.
    pub(crate) received: Lsn,
    /// What of that is delivered.
    pub(crate) delivered: Lsn,
}

/// What a follower receives.
pub(crate) enum WalEvent {
    Pieces {
        pieces: Vec<WalPiece>,
        /// Changes before them are lost, or were never expected here: this node begins after the
        /// transaction that ends at this position.
        begins_after: Option<Lsn>,
    },
    /// No node reads the slot, or the broker is away.
    WriterGone,
}

/// A node that receives WAL from the writer.
pub(crate) struct WalFollower {
    cluster: Cluster,
    subject: Subject,
    messages: NodeMessages,
    state: FollowerState,
    last_seen_at: Instant,
    reports: tokio::time::Interval,
    /// The last request, and when it was sent.
    requested: Option<(FollowRequest, Instant)>,
    records: FollowerRecords,
    /// Writes the last record, and when that began.
    recording: Option<(AbortOnDropHandle<()>, Instant)>,
}

/// Which parts have been received.
#[derive(Debug, Default, Clone, Copy)]
struct FollowerState {
    /// The last part that was received.
    last: Option<PartId>,
    /// A part is missing, and everything since the position of this node is expected again.
    waiting_since: Option<Instant>,
    needs_tables: bool,
}

/// One part of one writer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct PartId {
    from: NodeId,
    run: u64,
    number: u64,
}

/// What to do with a part.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    /// Nothing is missing before it.
    Accept,
    /// Changes before it are lost.
    AcceptAfterGap,
    /// What is before it will be sent again, and itself as well.
    Wait,
}

impl FollowerState {
    /// Decides about the next part; `received` is what this node has.
    fn judge(&mut self, id: PartId, confirmed: Lsn, received: Lsn, now: Instant) -> Verdict {
        let next = |last: PartId| PartId {
            number: last.number + 1,
            ..last
        };
        let is_next = self.last.replace(id).map(next) == Some(id);
        // The slot still has everything that this node lacks.
        let is_recoverable = received > Lsn::ZERO && confirmed <= received;
        let verdict = match self.waiting_since {
            None if is_next => Verdict::Accept,
            _ if !is_recoverable => Verdict::AcceptAfterGap,
            // A run begins at the confirmed position.
            _ if id.number == FIRST => Verdict::Accept,
            Some(since) if now.duration_since(since) >= RESEND_TIMEOUT => Verdict::AcceptAfterGap,
            _ => Verdict::Wait,
        };
        self.waiting_since = match verdict {
            Verdict::Wait => self.waiting_since.or(Some(now)),
            Verdict::Accept | Verdict::AcceptAfterGap => None,
        };
        // A run names every table before its first row.
        self.needs_tables = match verdict {
            Verdict::AcceptAfterGap => id.number != FIRST,
            Verdict::Accept => self.needs_tables && id.number != FIRST,
            Verdict::Wait => self.needs_tables,
        };
        verdict
    }

    fn request(&self, position: FollowerPosition) -> FollowRequest {
        let run = self.last.map(|last| last.run);
        FollowRequest {
            delivered: position.delivered,
            missing_in: run.filter(|_| self.waiting_since.is_some()),
            needs_tables: self.needs_tables || self.last.is_none(),
        }
    }
}

impl WalFollower {
    pub(crate) async fn open(link: &Arc<ClusterLink>, project: &Project) -> Option<Self> {
        let subject = link.wal_subject();
        let mut reports = tokio::time::interval(REPORT_INTERVAL);
        reports.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        Some(Self {
            messages: link.cluster().subscribe(&subject).await?,
            cluster: link.cluster().clone(),
            subject,
            state: FollowerState::default(),
            last_seen_at: Instant::now(),
            reports,
            requested: None,
            records: link.cluster().follower_records(project),
            recording: None,
        })
    }

    /// After [`WalEvent::WriterGone`], when there is a writer again. What it has sent meanwhile is
    /// still queued.
    pub(crate) fn resume(&mut self) {
        self.last_seen_at = Instant::now();
        self.requested = None;
        self.reports.reset_immediately();
    }

    /// What comes next. Cancel-safe.
    pub(crate) async fn next(&mut self, position: FollowerPosition) -> WalEvent {
        loop {
            tokio::select! {
                envelope = self.messages.next() => {
                    let Some(envelope) = envelope else {
                        return WalEvent::WriterGone;
                    };
                    match envelope.message {
                        NodeMessage::Wal(part) => {
                            if let Some(event) = self.take_part(envelope.from, part, position) {
                                return event;
                            }
                        }
                        NodeMessage::Leaving if self.is_from_writer(envelope.from) => {
                            return WalEvent::WriterGone;
                        }
                        _ => {}
                    }
                }
                _ = self.reports.tick() => {
                    self.report(position);
                    self.record_if_unreachable(position);
                }
                () = tokio::time::sleep_until(self.last_seen_at + WRITER_TIMEOUT) => {
                    return WalEvent::WriterGone;
                }
            }
        }
    }

    fn take_part(
        &mut self,
        from: NodeId,
        part: WalPart,
        position: FollowerPosition,
    ) -> Option<WalEvent> {
        let now = Instant::now();
        self.last_seen_at = now;
        let id = PartId {
            from,
            run: part.run,
            number: part.number,
        };
        let verdict = self.state.judge(id, part.confirmed, position.received, now);
        if verdict != Verdict::Wait && part.pieces.iter().any(|piece| piece.is_repeated) {
            self.state.needs_tables = false;
        }
        let pieces = |begins_after| WalEvent::Pieces {
            pieces: part.pieces,
            begins_after,
        };
        match verdict {
            Verdict::Accept => Some(pieces(None)),
            Verdict::AcceptAfterGap => {
                self.report(position);
                Some(pieces(Some(part.relayed)))
            }
            Verdict::Wait => {
                self.report(position);
                None
            }
        }
    }

    /// Reports to the writer what it does not know yet.
    fn report(&mut self, position: FollowerPosition) {
        let request = self.state.request(position);
        let is_due = self.requested.is_none_or(|(last, at)| {
            let interval = match request.missing_in {
                Some(_) => REPORT_INTERVAL,
                None => self.records.timeout() / REQUESTS_PER_TIMEOUT,
            };
            last != request || at.elapsed() >= interval
        });
        if is_due {
            self.requested = Some((request, Instant::now()));
            self.cluster
                .publish(&self.subject, NodeMessage::FollowWal(request));
        }
    }

    /// Reports to the writer through the database that this node lives, if the broker seems not to.
    fn record_if_unreachable(&mut self, position: FollowerPosition) {
        let is_unreachable =
            !self.cluster.is_connected() || self.last_seen_at.elapsed() >= HEARTBEAT_OVERDUE;
        let is_due = self.recording.as_ref().is_none_or(|(task, began)| {
            task.is_finished() && began.elapsed() >= self.records.interval()
        });
        // Before it has received anything, nothing is expected here.
        if !is_unreachable || !is_due || position.received == Lsn::ZERO {
            return;
        }
        let records = self.records.clone();
        let task = tokio::spawn(async move {
            if let Err(error) = records.write(position).await {
                tracing::debug!("cannot notify the node that reads the slot of this one: {error}");
            }
        });
        self.recording = Some((AbortOnDropHandle::new(task), Instant::now()));
    }

    /// Ends it. Its record is written by then or not at all, so that it can be deleted.
    pub(crate) async fn end(mut self) {
        if let Some((task, _)) = self.recording.take() {
            // The database may not respond; then nothing can be deleted either.
            _ = timeout(RECORD_TIMEOUT, task).await;
        }
    }

    fn is_from_writer(&self, node: NodeId) -> bool {
        self.state.last.is_some_and(|last| last.from == node)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Parts {
        state: FollowerState,
        from: NodeId,
        received: u64,
        now: Instant,
    }

    impl Parts {
        fn new(received: u64) -> Self {
            Self {
                state: FollowerState::default(),
                from: NodeId::generate(),
                received,
                now: Instant::now(),
            }
        }

        fn judge(&mut self, run: u64, number: u64, confirmed: u64) -> Verdict {
            let id = PartId {
                from: self.from,
                run,
                number,
            };
            let (confirmed, received) = (Lsn(confirmed), Lsn(self.received));
            self.state.judge(id, confirmed, received, self.now)
        }

        fn request(&self) -> FollowRequest {
            self.state.request(FollowerPosition {
                received: Lsn(self.received),
                delivered: Lsn(self.received),
            })
        }
    }

    #[test]
    fn a_new_node_begins_amid_a_run_and_asks_for_the_tables() {
        let mut parts = Parts::new(0);
        assert!(parts.request().needs_tables);
        assert_eq!(parts.judge(1, 7, 50), Verdict::AcceptAfterGap);
        assert!(parts.request().needs_tables);
        assert_eq!(parts.judge(1, 8, 50), Verdict::Accept);
    }

    #[test]
    fn what_is_missing_is_sent_again_in_another_run() {
        let mut parts = Parts::new(60);
        assert_eq!(parts.judge(1, FIRST, 50), Verdict::Accept);
        assert_eq!(parts.judge(1, 2, 50), Verdict::Accept);
        assert_eq!(parts.request().missing_in, None);

        assert_eq!(parts.judge(1, 4, 60), Verdict::Wait);
        assert_eq!(parts.request().missing_in, Some(1));
        // What follows waits as well: it would come out of order.
        assert_eq!(parts.judge(1, 5, 60), Verdict::Wait);
        assert_eq!(parts.judge(2, FIRST, 60), Verdict::Accept);
        assert_eq!(parts.request().missing_in, None);
        assert_eq!(parts.judge(2, 2, 60), Verdict::Accept);
    }

    #[test]
    fn what_the_slot_has_no_more_is_lost() {
        let mut parts = Parts::new(60);
        assert_eq!(parts.judge(1, FIRST, 50), Verdict::Accept);
        assert_eq!(parts.judge(1, 3, 61), Verdict::AcceptAfterGap);
        assert!(parts.request().needs_tables);

        // Another node had to begin elsewhere.
        let mut parts = Parts::new(60);
        assert_eq!(parts.judge(1, FIRST, 50), Verdict::Accept);
        parts.from = NodeId::generate();
        assert_eq!(parts.judge(1, FIRST, 70), Verdict::AcceptAfterGap);
        assert!(!parts.request().needs_tables);
    }

    #[test]
    fn another_node_goes_on_where_the_last_one_confirmed() {
        let mut parts = Parts::new(60);
        assert_eq!(parts.judge(3, FIRST, 50), Verdict::Accept);
        parts.from = NodeId::generate();
        assert_eq!(parts.judge(1, FIRST, 55), Verdict::Accept);
        // Its first part was lost.
        parts.from = NodeId::generate();
        assert_eq!(parts.judge(1, FIRST + 1, 55), Verdict::Wait);
    }

    #[test]
    fn waiting_ends_at_a_timeout() {
        let mut parts = Parts::new(60);
        assert_eq!(parts.judge(1, FIRST, 50), Verdict::Accept);
        assert_eq!(parts.judge(1, 9, 50), Verdict::Wait);
        parts.now += RESEND_TIMEOUT;
        assert_eq!(parts.judge(1, 10, 50), Verdict::AcceptAfterGap);
        assert_eq!(parts.judge(1, 11, 50), Verdict::Accept);
    }
}
