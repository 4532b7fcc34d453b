//! The handle that services hold: everything here but the searches returns at once.
//!
//! Writing costs a check of the ref, a count of bytes and a push; redacting and serialising are the
//! writer's. A record written while another thread closes the store may be lost uncounted.

use std::{
    path::PathBuf,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst},
        mpsc::{SyncSender, TrySendError, sync_channel},
    },
    time::Duration,
};

use tokio::sync::{broadcast, oneshot, watch};

use crate::{
    Config, Histogram, LogWriter, OpenError, Page, Query, Record, RetentionPolicy, SearchError,
    SourceUsage, Status, TailReceiver, Timestamp, WriteError, fit, histogram, is_valid_project,
    redact, search,
    segment::{BoundsCache, Layout, Segment, Stream},
    status::Health,
};

/// The channels take their memory at once; no setting may ask for more slots than this.
const MAX_SLOTS: usize = 1 << 20;
const FULL_QUEUE_PAUSE: Duration = Duration::from_millis(5);

/// What travels to the writer.
#[derive(Debug)]
pub(crate) enum Command {
    Record {
        record: Arc<Record>,
        weight: usize,
    },
    /// Answers when everything queued before it is in the files.
    Flush(oneshot::Sender<()>),
    Maintain,
    /// Ends the writer's waiting, so that it sees that the store is closing.
    Wake,
}

/// What handle and writer both need.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) config: Config,
    pub(crate) layout: Layout,
    pub(crate) bounds: BoundsCache,
    pub(crate) health: Health,
    pub(crate) is_closing: AtomicBool,
    pub(crate) queued_bytes: AtomicUsize,
    retention: RwLock<RetentionPolicy>,
}

impl Shared {
    pub(crate) fn now(&self) -> Timestamp {
        self.config.clock.now()
    }

    pub(crate) fn retention(&self) -> RetentionPolicy {
        self.retention
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

/// The log store. Clones are cheap and all the same store.
#[derive(Debug, Clone)]
pub struct LogStore {
    shared: Arc<Shared>,
    queue: SyncSender<Command>,
    tail: broadcast::Sender<Arc<Record>>,
    /// Closed by the writer when it has ended, however it ended.
    finished: watch::Receiver<()>,
}

impl LogStore {
    /// Opens the store below `dir`, which need not exist. Start the writer to have records
    /// written; a process that only reads drops it instead.
    pub fn open(dir: impl Into<PathBuf>, config: Config) -> Result<(Self, LogWriter), OpenError> {
        config.check()?;
        let (queue, receiver) = sync_channel(config.queue_records.min(MAX_SLOTS));
        let (tail, _) = broadcast::channel(config.tail_records.min(MAX_SLOTS));
        let (finish, finished) = watch::channel(());
        let shared = Arc::new(Shared {
            layout: Layout::new(dir.into()),
            bounds: BoundsCache::default(),
            health: Health::default(),
            is_closing: AtomicBool::new(false),
            queued_bytes: AtomicUsize::new(0),
            retention: RwLock::new(config.retention.clone()),
            config,
        });
        let writer = LogWriter::new(Arc::clone(&shared), receiver, tail.clone(), finish);
        Ok((
            Self {
                shared,
                queue,
                tail,
                finished,
            },
            writer,
        ))
    }

    /// Hands a record over and returns at once. What cannot be taken is counted as dropped.
    pub fn write(&self, record: Record) {
        let _ = self.try_write(record);
    }

    /// Like [`LogStore::write`], for those who want to know why a record was dropped.
    pub fn try_write(&self, record: Record) -> Result<(), WriteError> {
        let outcome = self.enqueue(record);
        if let Err(error) = &outcome {
            self.shared.health.count_dropped(1);
            if let WriteError::InvalidProject(_) = error {
                self.shared
                    .health
                    .note(self.shared.now(), error.to_string());
            }
        }
        outcome
    }

    fn enqueue(&self, mut record: Record) -> Result<(), WriteError> {
        if self.shared.is_closing.load(Relaxed) {
            return Err(WriteError::Closed);
        }
        if record.project.is_empty() {
            record.project.clone_from(&self.shared.config.own_project);
        } else if !is_valid_project(&record.project) {
            return Err(WriteError::InvalidProject(
                record.project.chars().take(80).collect(),
            ));
        }
        let weight = self.reserve(&mut record)?;
        let record = Arc::new(record);
        let for_tails = (self.tail.receiver_count() > 0).then(|| Arc::clone(&record));
        if let Err(error) = self.queue.try_send(Command::Record { record, weight }) {
            self.shared.queued_bytes.fetch_sub(weight, Relaxed);
            return Err(match error {
                TrySendError::Full(_) => WriteError::QueueFull,
                TrySendError::Disconnected(_) => WriteError::Closed,
            });
        }
        if let Some(record) = for_tails {
            // An error only says that the last tail has gone meanwhile.
            let _ = self.tail.send(record);
        }
        Ok(())
    }

    /// Takes room in the queue's byte budget.
    fn reserve(&self, record: &mut Record) -> Result<usize, WriteError> {
        let max_bytes = self.shared.config.queue_bytes;
        let mut weight = record.weight();
        if weight > max_bytes {
            // Too large for an empty queue even: the only record that is worked on here.
            redact::redact_record(record);
            fit::cut_to_fit(record);
            weight = record.weight();
        }
        let queued = self.shared.queued_bytes.fetch_add(weight, Relaxed);
        if queued.saturating_add(weight) > max_bytes {
            self.shared.queued_bytes.fetch_sub(weight, Relaxed);
            return Err(WriteError::QueueFull);
        }
        Ok(weight)
    }

    /// Follows the records that `query` matches from now on; its page and cursor play no part.
    pub fn tail(&self, query: Query) -> TailReceiver {
        TailReceiver::new(query, self.tail.subscribe(), self.finished.clone())
    }

    /// One page of what `query` finds, newest first. Reads files: call it where blocking is
    /// allowed. A record can be found once the writer has written it.
    pub fn search(&self, query: &Query) -> Result<Page, SearchError> {
        search::search(&self.shared.layout, &self.shared.bounds, query)
    }

    /// Counts what `query` finds by level over equal stretches of time. Reads files: call it where
    /// blocking is allowed.
    pub fn histogram(&self, query: &Query, buckets: usize) -> Result<Histogram, SearchError> {
        let Shared { layout, bounds, .. } = &*self.shared;
        histogram::histogram(layout, bounds, query, buckets, self.shared.now())
    }

    /// What every source in the query's scope takes on disk. Reads files: call it where blocking
    /// is allowed.
    pub fn usage(&self, query: &Query) -> Result<Vec<SourceUsage>, SearchError> {
        query.check()?;
        let layout = &self.shared.layout;
        let streams = layout.streams(&query.scope);
        let streams = streams.map_err(|error| SearchError::read(layout.root(), error))?;
        let covered = streams
            .into_iter()
            .filter(|s| query.covers(&s.project, s.source));
        covered.map(|stream| self.stream_usage(stream)).collect()
    }

    fn stream_usage(&self, stream: Stream) -> Result<SourceUsage, SearchError> {
        let segments =
            self.shared.layout.segments(&stream).map_err(|error| {
                SearchError::read(self.shared.layout.stream_dir(&stream), error)
            })?;
        let start = |segment: &Segment| match self.shared.bounds.bounds(segment) {
            Ok(bounds) => Ok(bounds.map(|bounds| bounds.min)),
            Err(error) => Err(SearchError::read(&segment.path, error)),
        };
        let starts: Vec<_> = segments.iter().map(start).collect::<Result<_, _>>()?;
        Ok(SourceUsage {
            segments: segments.len() as u64,
            bytes: segments.iter().map(|segment| segment.bytes).sum(),
            oldest: starts.into_iter().flatten().min(),
            project: stream.project,
            source: stream.source,
        })
    }

    /// How the store is doing. Cheap.
    pub fn status(&self) -> Status {
        self.shared.health.status()
    }

    /// How many records were lost since the start.
    pub fn dropped(&self) -> u64 {
        self.shared.health.dropped()
    }

    /// The retention that holds now.
    pub fn retention(&self) -> RetentionPolicy {
        self.shared.retention()
    }

    /// Changes the retention and has the writer apply it soon.
    pub fn set_retention(&self, retention: RetentionPolicy) {
        *self
            .shared
            .retention
            .write()
            .unwrap_or_else(PoisonError::into_inner) = retention;
        // A full queue is no loss: retention runs regularly anyway.
        let _ = self.queue.try_send(Command::Maintain);
    }

    /// Waits until everything written so far is in the files, or was counted as dropped.
    pub async fn flush(&self) {
        let (done, flushed) = oneshot::channel();
        let mut command = Command::Flush(done);
        while let Err(error) = self.queue.try_send(command) {
            command = match error {
                TrySendError::Full(command) => command,
                TrySendError::Disconnected(_) => return,
            };
            tokio::time::sleep(FULL_QUEUE_PAUSE).await;
        }
        // An error says that the writer has ended, which flushes too.
        let _ = flushed.await;
    }

    /// Takes no more records, has those queued written, and waits until the writer has ended.
    /// Searching still works afterwards. Does nothing the second time.
    pub async fn close(&self) {
        self.shared.is_closing.store(true, SeqCst);
        // A full queue keeps the writer awake by itself.
        let _ = self.queue.try_send(Command::Wake);
        let mut finished = self.finished.clone();
        while finished.changed().await.is_ok() {}
    }
}
