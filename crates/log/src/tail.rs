//! The live tail: records as they are accepted, before they reach the disk.

use std::sync::Arc;

use tokio::sync::{
    broadcast::{
        self,
        error::{RecvError, TryRecvError},
    },
    watch,
};

use crate::{Query, Record, fit, redact};

/// Item of a live tail.
#[derive(Debug, Clone, PartialEq)]
pub enum TailItem {
    /// A record that the query matches.
    Record(Record),
    /// The receiver lagged, and this many records were skipped, whether or not the query would have
    /// matched them.
    Dropped(u64),
}

/// The receiving end of a live tail. It never slows a writer down: a slow receiver loses records.
#[derive(Debug)]
pub struct TailReceiver {
    query: Query,
    records: broadcast::Receiver<Arc<Record>>,
    finished: watch::Receiver<()>,
}

impl TailReceiver {
    pub(crate) fn new(
        query: Query,
        records: broadcast::Receiver<Arc<Record>>,
        finished: watch::Receiver<()>,
    ) -> Self {
        Self {
            query,
            records,
            finished,
        }
    }

    /// Waits for the next item; `None` once the store is closed. Cancel safe.
    pub async fn recv(&mut self) -> Option<TailItem> {
        loop {
            let received = tokio::select! {
                biased;
                received = self.records.recv() => received,
                // Nothing is ever sent: the channel closes when the writer is done.
                _ = self.finished.changed() => self.left_over(),
            };
            match received {
                Ok(record) => {
                    if let Some(record) = self.admit(&record) {
                        return Some(TailItem::Record(record));
                    }
                }
                Err(RecvError::Lagged(records)) => return Some(TailItem::Dropped(records)),
                Err(RecvError::Closed) => return None,
            }
        }
    }

    fn left_over(&mut self) -> Result<Arc<Record>, RecvError> {
        self.records.try_recv().map_err(|error| match error {
            TryRecvError::Lagged(records) => RecvError::Lagged(records),
            TryRecvError::Empty | TryRecvError::Closed => RecvError::Closed,
        })
    }

    /// Filters after redaction, so that a query cannot be used to guess what is masked.
    fn admit(&self, record: &Record) -> Option<Record> {
        if !self.query.covers(&record.project, record.source) {
            return None;
        }
        let mut record = record.clone();
        redact::redact_record(&mut record);
        fit::cut_to_fit(&mut record);
        self.query.matches(&record).then_some(record)
    }
}
