//! The database's log, read by one node and passed on to the others.

use std::{collections::HashMap, sync::Arc, time::Duration};

use async_nats::Subject;
use bytes::Bytes;
use plinth_db::replication::{Lsn, WalData};
use tokio::time::Instant;

use super::{Cluster, Link, Listening, LogPart, LogPiece, NodeId, Said};

/// A node that has not asked for so long does not listen any more.
const FORGOTTEN: Duration = Duration::from_secs(30);
/// How often a node asks, so that it is not forgotten.
const ASKING: Duration = Duration::from_secs(10);
/// How often the one that reads says so, if it has nothing else to say.
const PULSE: Duration = Duration::from_secs(1);
/// Without a word for so long, it reads no more.
const SILENCE: Duration = Duration::from_secs(4);
/// What is told together.
const PART_BYTES: usize = 128 * 1024;

/// The side that reads the log itself.
pub(crate) struct LogWriter {
    cluster: Cluster,
    subject: Subject,
    listening: Option<Listening>,
    followers: HashMap<NodeId, Instant>,
    generation: u64,
    number: u64,
    pieces: Vec<LogPiece>,
    bytes: usize,
    /// Descriptions of tables, for whoever comes later.
    described: HashMap<u32, LogPiece>,
    pulse: tokio::time::Interval,
}

impl LogWriter {
    pub(crate) async fn open(link: &Arc<Link>, generation: u64) -> Self {
        let subject = link.log_subject();
        Self {
            cluster: link.cluster().clone(),
            listening: link.cluster().listen(&subject).await,
            subject,
            followers: HashMap::new(),
            generation,
            number: 0,
            pieces: Vec::new(),
            bytes: 0,
            described: HashMap::new(),
            pulse: tokio::time::interval(PULSE),
        }
    }

    pub(crate) fn has_followers(&self) -> bool {
        !self.followers.is_empty()
    }

    /// Hears who listens. Never ends; can be given up at any time.
    pub(crate) async fn attend(&mut self) {
        let Some(listening) = &mut self.listening else {
            return std::future::pending().await;
        };
        tokio::select! {
            envelope = listening.next() => match envelope {
                Some(envelope) if matches!(envelope.said, Said::FollowLog) => {
                    let is_new = self.followers.insert(envelope.from, Instant::now()).is_none();
                    if is_new {
                        // It has not heard what the tables look like.
                        self.flush();
                        self.pieces.extend(self.described.values().cloned());
                    }
                    self.flush_even_nothing();
                }
                Some(_) => {}
                None => self.listening = None,
            },
            _ = self.pulse.tick() => {
                self.followers.retain(|_, asked_at| asked_at.elapsed() < FORGOTTEN);
                if self.has_followers() {
                    self.flush_even_nothing();
                }
            }
        }
    }

    /// A table is described; with its number, it is told again to those who come later.
    pub(crate) fn describe(&mut self, table: u32, data: &WalData) {
        let piece = LogPiece {
            position: data.position,
            is_repeated: true,
            data: data.data.clone(),
        };
        self.described.insert(table, piece);
    }

    /// Something was read. `ends` says that a transaction is complete.
    pub(crate) fn pass_on(&mut self, position: Lsn, data: Bytes, ends: bool) {
        if !self.has_followers() {
            return;
        }
        self.bytes += data.len();
        self.pieces.push(LogPiece {
            position,
            is_repeated: false,
            data,
        });
        if ends || self.bytes > PART_BYTES {
            self.flush();
        }
    }

    fn flush(&mut self) {
        if !self.pieces.is_empty() {
            self.flush_even_nothing();
        }
    }

    fn flush_even_nothing(&mut self) {
        self.number += 1;
        self.bytes = 0;
        let part = LogPart {
            generation: self.generation,
            number: self.number,
            pieces: std::mem::take(&mut self.pieces),
        };
        self.cluster.say(&self.subject, Said::Log(part));
    }

    /// This node reads no more; another may at once.
    pub(crate) fn leave(&self) {
        self.cluster.say(&self.subject, Said::Bye);
    }
}

/// The side that hears of it.
pub(crate) struct LogReader {
    cluster: Cluster,
    subject: Subject,
    listening: Listening,
    /// Who reads, and the last part that we heard.
    leader: Option<(NodeId, u64, u64)>,
    heard_at: Instant,
    asking: tokio::time::Interval,
}

/// What a reader hears.
pub(crate) enum LogNews {
    /// Pieces, and whether some before them are missing.
    Pieces(Vec<LogPiece>, bool),
    /// Nobody reads the log.
    Nobody,
}

impl LogReader {
    pub(crate) async fn open(link: &Arc<Link>) -> Option<Self> {
        let subject = link.log_subject();
        Some(Self {
            listening: link.cluster().listen(&subject).await?,
            cluster: link.cluster().clone(),
            subject,
            leader: None,
            heard_at: Instant::now(),
            asking: tokio::time::interval(ASKING),
        })
    }

    pub(crate) async fn next(&mut self) -> LogNews {
        loop {
            tokio::select! {
                envelope = self.listening.next() => {
                    let Some(envelope) = envelope else {
                        return LogNews::Nobody;
                    };
                    match envelope.said {
                        Said::Log(part) => {
                            self.heard_at = Instant::now();
                            let now = (envelope.from, part.generation, part.number);
                            let before = self.leader.replace(now);
                            let follows = before.is_none_or(|(node, generation, number)| {
                                (node, generation, number + 1) == now
                            });
                            return LogNews::Pieces(part.pieces, !follows);
                        }
                        Said::Bye if self.leader.is_some_and(|(node, ..)| node == envelope.from) => {
                            return LogNews::Nobody;
                        }
                        _ => {}
                    }
                }
                _ = self.asking.tick() => self.cluster.say(&self.subject, Said::FollowLog),
                () = tokio::time::sleep_until(self.heard_at + SILENCE) => return LogNews::Nobody,
            }
        }
    }
}
