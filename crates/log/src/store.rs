//! The handle that services hold. Everything but the searches returns at once.
//!
//! Writing costs a check of the ref, a byte count and a push; redacting and serialising happen in the
//! writer. A record written while another thread closes the store may be lost uncounted.

use std::{
    collections::HashMap,
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
    AccessEntry, Config, Cursor, DailyTraffic, Histogram, LogWriter, OpenError, Page, Query,
    Record, RetentionPolicy, SearchError, SourceUsage, Status, TailReceiver, Timestamp,
    TrafficQuery, TrafficSeries, WriteError, fit, histogram, is_valid_project, newer, redact,
    search,
    segment::{BoundsCache, Layout, Segment, Stream},
    status::Health,
    traffic::{self, Daily},
};

/// Channels allocate their slots at once, so settings are capped at this many.
const MAX_SLOTS: usize = 1 << 20;
const FULL_QUEUE_RETRY_DELAY: Duration = Duration::from_millis(5);

/// A message to the writer.
#[derive(Debug)]
pub(crate) enum Command {
    Record {
        record: Arc<Record>,
        weight: usize,
    },
    Access {
        entry: Box<AccessEntry>,
        weight: usize,
    },
    /// Replies when everything queued before it is in the files.
    Flush(oneshot::Sender<()>),
    Maintain,
    /// Wakes the writer, so that it notices that the store is closing.
    Wake,
}

/// State shared by handle and writer.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) config: Config,
    pub(crate) layout: Layout,
    pub(crate) bounds: BoundsCache,
    pub(crate) health: Health,
    pub(crate) daily: Daily,
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

/// The log store. Clones are cheap and share one store.
#[derive(Debug, Clone)]
pub struct LogStore(Arc<Handle>);

/// One allocation: the store is part of every project, and so cloned several times per request.
#[derive(Debug)]
struct Handle {
    shared: Arc<Shared>,
    queue: SyncSender<Command>,
    tail: broadcast::Sender<Arc<Record>>,
    /// Closed when the writer has ended for any reason.
    finished: watch::Receiver<()>,
}

impl LogStore {
    /// Opens the store below `dir`, which need not exist. Start the writer to have records written; a
    /// process that only reads drops it instead.
    pub fn open(dir: impl Into<PathBuf>, config: Config) -> Result<(Self, LogWriter), OpenError> {
        config.check()?;
        let (queue, receiver) = sync_channel(config.queue_records.min(MAX_SLOTS));
        let (tail, _) = broadcast::channel(config.tail_records.min(MAX_SLOTS));
        let (finish, finished) = watch::channel(());
        let shared = Arc::new(Shared {
            layout: Layout::new(dir.into()),
            bounds: BoundsCache::default(),
            health: Health::default(),
            daily: Daily::default(),
            is_closing: AtomicBool::new(false),
            queued_bytes: AtomicUsize::new(0),
            retention: RwLock::new(config.retention.clone()),
            config,
        });
        let writer = LogWriter::new(Arc::clone(&shared), receiver, tail.clone(), finish);
        let handle = Handle {
            shared,
            queue,
            tail,
            finished,
        };
        Ok((Self(Arc::new(handle)), writer))
    }

    /// Queues a record and returns at once. If that fails, it is counted as dropped.
    pub fn write(&self, record: Record) {
        let _ = self.try_write(record);
    }

    /// Like [`LogStore::write`], but returns why a record was dropped.
    pub fn try_write(&self, record: Record) -> Result<(), WriteError> {
        let outcome = self.enqueue(record);
        if let Err(error) = &outcome {
            self.count_failure(error);
        }
        outcome
    }

    /// Queues an entry of the access log and returns at once. If that fails, it is counted as dropped.
    pub fn write_access(&self, entry: Box<AccessEntry>) {
        if let Err(error) = self.enqueue_access(entry) {
            self.count_failure(&error);
        }
    }

    fn count_failure(&self, error: &WriteError) {
        self.0.shared.health.count_dropped(1);
        if let WriteError::InvalidProject(_) = error {
            self.0
                .shared
                .health
                .record_error(self.0.shared.now(), error.to_string());
        }
    }

    fn enqueue(&self, mut record: Record) -> Result<(), WriteError> {
        if self.0.shared.is_closing.load(Relaxed) {
            return Err(WriteError::Closed);
        }
        if record.project.is_empty() {
            record.project.clone_from(&self.0.shared.config.own_project);
        } else if !is_valid_project(&record.project) {
            return Err(WriteError::InvalidProject(
                record.project.chars().take(80).collect(),
            ));
        }
        let weight = self.reserve(&mut record)?;
        let record = Arc::new(record);
        let for_tails = self.has_tails().then(|| Arc::clone(&record));
        self.send(Command::Record { record, weight }, weight)?;
        if let Some(record) = for_tails {
            // An error only means that the last tail is gone.
            let _ = self.0.tail.send(record);
        }
        Ok(())
    }

    fn enqueue_access(&self, entry: Box<AccessEntry>) -> Result<(), WriteError> {
        let weight = entry.weight();
        let is_oversized = weight > self.0.shared.config.queue_bytes;
        if is_oversized || !is_valid_project(&entry.project) {
            return self.enqueue(entry.to_record());
        }
        if self.0.shared.is_closing.load(Relaxed) {
            return Err(WriteError::Closed);
        }
        self.reserve_bytes(weight)?;
        let for_tails = self.has_tails().then(|| Arc::new(entry.to_record()));
        self.send(Command::Access { entry, weight }, weight)?;
        if let Some(record) = for_tails {
            // An error only means that the last tail is gone.
            let _ = self.0.tail.send(record);
        }
        Ok(())
    }

    fn has_tails(&self) -> bool {
        self.0.tail.receiver_count() > 0
    }

    /// Queues a command, for which space is reserved.
    fn send(&self, command: Command, weight: usize) -> Result<(), WriteError> {
        self.0.queue.try_send(command).map_err(|error| {
            self.0.shared.queued_bytes.fetch_sub(weight, Relaxed);
            match error {
                TrySendError::Full(_) => WriteError::QueueFull,
                TrySendError::Disconnected(_) => WriteError::Closed,
            }
        })
    }

    /// Reserves space in the queue's byte budget.
    fn reserve(&self, record: &mut Record) -> Result<usize, WriteError> {
        let max_bytes = self.0.shared.config.queue_bytes;
        let mut weight = record.weight();
        if weight > max_bytes {
            // Larger than the whole queue: the only record that is cut here.
            redact::redact_record(record);
            fit::cut_to_fit(record);
            weight = record.weight();
        }
        self.reserve_bytes(weight)?;
        Ok(weight)
    }

    fn reserve_bytes(&self, weight: usize) -> Result<(), WriteError> {
        let queued = self.0.shared.queued_bytes.fetch_add(weight, Relaxed);
        if queued.saturating_add(weight) > self.0.shared.config.queue_bytes {
            self.0.shared.queued_bytes.fetch_sub(weight, Relaxed);
            return Err(WriteError::QueueFull);
        }
        Ok(())
    }

    /// Subscribes to new records that match `query`, ignoring its page and cursor.
    pub fn tail(&self, query: Query) -> TailReceiver {
        TailReceiver::new(query, self.0.tail.subscribe(), self.0.finished.clone())
    }

    /// One page of matches, newest first. Blocking I/O. A record is found once the writer has written
    /// it.
    pub fn search(&self, query: &Query) -> Result<Page, SearchError> {
        search::search(&self.0.shared.layout, &self.0.shared.bounds, query)
    }

    /// The matches next behind a record, newest first. Blocking I/O.
    pub fn search_newer(&self, query: &Query, after: &Cursor) -> Result<Page, SearchError> {
        let Shared { layout, bounds, .. } = &*self.0.shared;
        newer::search_newer(layout, bounds, query, after)
    }

    /// What requests a project had. Blocking I/O. The last minute may be missing.
    pub fn traffic(&self, query: &TrafficQuery) -> Result<Vec<TrafficSeries>, SearchError> {
        traffic::query(&self.0.shared.layout, query)
    }

    /// Requests of the last 24 hours, by project. Cheap; complete a moment after the start.
    pub fn daily_traffic(&self) -> HashMap<String, DailyTraffic> {
        self.0.shared.daily.read(self.0.shared.now())
    }

    /// Counts matches by level in equal time buckets. Blocking I/O.
    pub fn histogram(&self, query: &Query, buckets: usize) -> Result<Histogram, SearchError> {
        let Shared { layout, bounds, .. } = &*self.0.shared;
        histogram::histogram(layout, bounds, query, buckets, self.0.shared.now())
    }

    /// Disk usage of every source in the query's scope. Blocking I/O.
    pub fn usage(&self, query: &Query) -> Result<Vec<SourceUsage>, SearchError> {
        query.check()?;
        let layout = &self.0.shared.layout;
        let streams = layout.streams(&query.scope);
        let streams = streams.map_err(|error| SearchError::read(layout.root(), error))?;
        let covered = streams
            .into_iter()
            .filter(|s| query.covers(&s.project, s.source));
        covered.map(|stream| self.stream_usage(stream)).collect()
    }

    fn stream_usage(&self, stream: Stream) -> Result<SourceUsage, SearchError> {
        let segments =
            self.0.shared.layout.segments(&stream).map_err(|error| {
                SearchError::read(self.0.shared.layout.stream_dir(&stream), error)
            })?;
        let start = |segment: &Segment| match self.0.shared.bounds.bounds(segment) {
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

    /// Status of the store. Cheap.
    pub fn status(&self) -> Status {
        self.0.shared.health.status()
    }

    /// Records dropped since the start.
    pub fn dropped(&self) -> u64 {
        self.0.shared.health.dropped()
    }

    /// The current retention.
    pub fn retention(&self) -> RetentionPolicy {
        self.0.shared.retention()
    }

    /// Changes the retention and has the writer apply it soon.
    pub fn set_retention(&self, retention: RetentionPolicy) {
        *self
            .0
            .shared
            .retention
            .write()
            .unwrap_or_else(PoisonError::into_inner) = retention;
        // If the queue is full, retention runs at its next interval.
        let _ = self.0.queue.try_send(Command::Maintain);
    }

    /// Waits until everything written so far is in the files, or was counted as dropped.
    pub async fn flush(&self) {
        let (done, flushed) = oneshot::channel();
        let mut command = Command::Flush(done);
        while let Err(error) = self.0.queue.try_send(command) {
            command = match error {
                TrySendError::Full(command) => command,
                TrySendError::Disconnected(_) => return,
            };
            tokio::time::sleep(FULL_QUEUE_RETRY_DELAY).await;
        }
        // An error means that the writer has ended, which flushes too.
        let _ = flushed.await;
    }

    /// Stops accepting records, writes those queued, and waits until the writer has ended. Searching
    /// still works afterwards. Idempotent.
    pub async fn close(&self) {
        self.0.shared.is_closing.store(true, SeqCst);
        // A full queue keeps the writer running anyway.
        let _ = self.0.queue.try_send(Command::Wake);
        let mut finished = self.0.finished.clone();
        while finished.changed().await.is_ok() {}
    }
}
