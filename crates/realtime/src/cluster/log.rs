//! The database's log, read by one node and passed on to the others.
//!
//! Parts are numbered, so that whoever misses one notices. A node that takes over begins to count
//! anew and passes everything on before it knows who listens: the others have listened all the
//! while, and what it reads for the second time they know already.

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
/// The number of a writer's first part, if it goes on where the last one ended.
const FIRST: u64 = 1;

/// The side that reads the log itself.
pub(crate) struct LogWriter {
    cluster: Cluster,
    subject: Subject,
    listening: Option<Listening>,
    opened_at: Instant,
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
    /// `goes_on` tells that nothing is missing between what was read last, by whichever node, and
    /// what this one will read.
    pub(crate) async fn open(link: &Arc<Link>, generation: u64, goes_on: bool) -> Self {
        let subject = link.log_subject();
        let mut writer = Self {
            cluster: link.cluster().clone(),
            listening: link.cluster().listen(&subject).await,
            subject,
            opened_at: Instant::now(),
            followers: HashMap::new(),
            generation,
            number: if goes_on { FIRST - 1 } else { FIRST },
            pieces: Vec::new(),
            bytes: 0,
            described: HashMap::new(),
            pulse: tokio::time::interval(PULSE),
        };
        writer.flush_even_nothing();
        writer
    }

    /// Whether somebody is known to listen.
    pub(crate) fn has_followers(&self) -> bool {
        !self.followers.is_empty()
    }

    /// Whoever followed the last one asks again before it would be forgotten.
    fn may_have_followers(&self) -> bool {
        self.has_followers() || self.opened_at.elapsed() < FORGOTTEN
    }

    /// Hears who listens. Never ends; can be given up at any time.
    pub(crate) async fn attend(&mut self) {
        let Some(listening) = &mut self.listening else {
            return std::future::pending().await;
        };
        tokio::select! {
            envelope = listening.next() => match envelope {
                Some(envelope) if matches!(envelope.said, Said::FollowLog) => {
                    self.followers.insert(envelope.from, Instant::now());
                    // It may not have heard what the tables look like, or not all of it.
                    self.flush();
                    self.pieces.extend(self.described.values().cloned());
                    self.flush_even_nothing();
                }
                Some(_) => {}
                None => self.listening = None,
            },
            _ = self.pulse.tick() => {
                self.followers.retain(|_, asked_at| asked_at.elapsed() < FORGOTTEN);
                if self.may_have_followers() {
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
        if !self.may_have_followers() {
            // As if it had been told: whoever comes back must notice.
            self.number += 1;
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
    /// The last part that we heard.
    last: Option<PartId>,
    heard_at: Instant,
    asking: tokio::time::Interval,
}

/// A part, among all that were ever told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct PartId {
    from: NodeId,
    generation: u64,
    number: u64,
}

impl PartId {
    /// Whether nothing can be missing between the two.
    fn goes_on_after(self, last: Option<Self>) -> bool {
        let next = |last: Self| Self {
            number: last.number + 1,
            ..last
        };
        self.number == FIRST || last.map(next) == Some(self)
    }
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
            last: None,
            heard_at: Instant::now(),
            asking: tokio::time::interval(ASKING),
        })
    }

    /// Nobody read, but somebody does now: goes on with what was said meanwhile.
    pub(crate) fn resume(&mut self) {
        self.heard_at = Instant::now();
        self.asking.reset_immediately();
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
                            let now = PartId {
                                from: envelope.from,
                                generation: part.generation,
                                number: part.number,
                            };
                            let is_gap = !now.goes_on_after(self.last.replace(now));
                            if is_gap {
                                self.asking.reset_immediately();
                            }
                            return LogNews::Pieces(part.pieces, is_gap);
                        }
                        Said::Bye if self.last.is_some_and(|last| last.from == envelope.from) => {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_misses_a_part_notices() {
        let (one, other) = (NodeId::generate(), NodeId::generate());
        let part = |from, generation, number| PartId {
            from,
            generation,
            number,
        };
        let last = Some(part(one, 1, 7));

        assert!(part(one, 1, 8).goes_on_after(last));
        assert!(!part(one, 1, 9).goes_on_after(last));
        assert!(!part(one, 2, 8).goes_on_after(last));
        // Another node goes on where the last one was confirmed.
        assert!(part(other, 4, FIRST).goes_on_after(last));
        // It had to begin elsewhere, or was not heard from its beginning.
        assert!(!part(other, 4, FIRST + 1).goes_on_after(last));
        assert!(!part(one, 1, 8).goes_on_after(None));
    }
}
