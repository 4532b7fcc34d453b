//! The writer: takes records from the queue and appends them to the segments of their streams.
//!
//! It runs on a thread of its own because file I/O blocks. It never gives up: after an I/O error the
//! records are counted as dropped, and the stream is retried a little later.

mod retention;
mod stream;
mod streams;

use std::{
    sync::{
        Arc,
        atomic::Ordering::{Relaxed, SeqCst},
        mpsc::{Receiver, RecvTimeoutError},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use tokio::sync::{broadcast, oneshot, watch};

use self::streams::Streams;
use crate::{
    AccessEntry, Echo, Level, OpenError, Record, Source,
    access::AccessTexts,
    fit, redact,
    segment::Stream,
    store::{Command, Shared},
    traffic::{self, Collector},
};

/// How many commands are processed before buffers are flushed.
const MAX_BATCH: usize = 1024;
/// Minimum interval between records about dropped records, so that a failing store does not fill up
/// with them.
const REPORT_INTERVAL: Duration = Duration::from_secs(5);

/// How long counted traffic may wait.
const TRAFFIC_INTERVAL: Duration = Duration::from_secs(5);

/// Lower bound for the maintenance interval, since it lists all folders.
const MIN_MAINTENANCE_INTERVAL: Duration = Duration::from_secs(1);

/// The writing half of a store, not running yet: until it is started, records wait in the queue.
/// Dropping it unstarted closes the store for writing.
#[derive(Debug)]
pub struct LogWriter {
    shared: Arc<Shared>,
    queue: Receiver<Command>,
    tail: broadcast::Sender<Arc<Record>>,
    streams: Streams,
    line: Vec<u8>,
    access_texts: AccessTexts,
    /// The stream of the last access entry.
    access_stream: Stream,
    traffic: Collector,
    echo: Option<Box<dyn Echo>>,
    reported_drops: u64,
    last_report: Option<Instant>,
    /// Dropped last, which signals that everything is written. Must stay the last field.
    _finish: watch::Sender<()>,
}

/// The running writer. It ends after [`crate::LogStore::close`], or when the last handle is gone.
#[derive(Debug)]
pub struct WriterThread(JoinHandle<()>);

impl WriterThread {
    /// Waits until the writer has ended. Blocks; [`crate::LogStore::close`] waits without blocking.
    pub fn join(self) {
        // The panic was reported by the thread itself.
        let _ = self.0.join();
    }
}

impl LogWriter {
    pub(crate) fn new(
        shared: Arc<Shared>,
        queue: Receiver<Command>,
        tail: broadcast::Sender<Arc<Record>>,
        finish: watch::Sender<()>,
    ) -> Self {
        Self {
            streams: Streams::new(Arc::clone(&shared)),
            shared,
            queue,
            tail,
            line: Vec::new(),
            access_texts: AccessTexts::default(),
            access_stream: Stream {
                project: String::new(),
                source: Source::Api,
            },
            traffic: Collector::default(),
            echo: None,
            reported_drops: 0,
            last_report: None,
            _finish: finish,
        }
    }

    /// Passes every redacted record to `echo`, too.
    #[must_use]
    pub fn echo(mut self, echo: impl Echo + 'static) -> Self {
        self.echo = Some(Box::new(echo));
        self
    }

    /// Starts the writer on a thread of its own.
    pub fn start(self) -> Result<WriterThread, OpenError> {
        let builder = thread::Builder::new().name("plinth-log".to_owned());
        builder
            .spawn(|| self.run())
            .map(WriterThread)
            .map_err(OpenError::Thread)
    }

    fn run(mut self) {
        let interval = self
            .shared
            .config
            .maintenance_interval
            .max(MIN_MAINTENANCE_INTERVAL);
        self.maintain();
        self.shared
            .daily
            .load(&self.shared.layout, self.shared.now());
        let mut maintained = Instant::now();
        loop {
            let mut wait = interval.saturating_sub(maintained.elapsed());
            if !self.traffic.is_empty() {
                wait = wait.min(TRAFFIC_INTERVAL);
            }
            match self.next_command(self.until_report().map_or(wait, |until| until.min(wait))) {
                Ok(command) => {
                    self.work_off(command);
                    self.let_gather();
                }
                Err(RecvTimeoutError::Timeout) => {
                    self.report_drops_if_due();
                    self.write_finished_traffic();
                }
                Err(RecvTimeoutError::Disconnected) => break,
            }
            // Checked here instead of on a timeout, which a busy queue never reaches.
            if maintained.elapsed() >= interval {
                self.maintain();
                maintained = Instant::now();
            }
        }
        self.write_traffic();
        self.report_drops();
        self.streams.sync();
    }

    /// Waits for a command; while the store is closing, an empty queue is the end.
    fn next_command(&self, wait: Duration) -> Result<Command, RecvTimeoutError> {
        if self.shared.is_closing.load(SeqCst) {
            return self
                .queue
                .try_recv()
                .map_err(|_| RecvTimeoutError::Disconnected);
        }
        self.queue.recv_timeout(wait)
    }

    /// Sleeps to collect a batch. A concurrent close or flush waits that much longer.
    fn let_gather(&self) {
        if !self.shared.is_closing.load(SeqCst) {
            thread::sleep(self.shared.config.batch_delay);
        }
    }

    fn work_off(&mut self, first: Command) {
        let mut flushes = Vec::new();
        let mut taken = 0;
        let mut next = Some(first);
        while let Some(command) = next {
            self.take(command, &mut flushes);
            taken += 1;
            next = if taken < MAX_BATCH {
                self.queue.try_recv().ok()
            } else {
                None
            };
        }
        self.streams.flush();
        if let Some(echo) = &mut self.echo {
            echo.flush();
        }
        self.report_drops_if_due();
        if flushes.is_empty() {
            self.write_finished_traffic();
        } else {
            self.write_traffic();
        }
        for flushed in flushes {
            // The receiver may be gone.
            let _ = flushed.send(());
        }
    }

    fn take(&mut self, command: Command, flushes: &mut Vec<oneshot::Sender<()>>) {
        match command {
            Command::Record { record, weight } => {
                self.shared.queued_bytes.fetch_sub(weight, Relaxed);
                let record = Arc::try_unwrap(record).unwrap_or_else(|shared| (*shared).clone());
                let stream = self.render(record);
                self.streams.push(&stream, &self.line);
            }
            Command::Access { entry, weight } => {
                self.shared.queued_bytes.fetch_sub(weight, Relaxed);
                self.write_access(&entry);
            }
            Command::Flush(flushed) => flushes.push(flushed),
            Command::Maintain => self.maintain(),
            Command::Wake => {}
        }
    }

    /// Applies retention.
    fn maintain(&mut self) {
        self.streams.maintain();
        if let Err(error) = traffic::maintain(&self.shared.layout, self.shared.now()) {
            let message = format!("the traffic files cannot be maintained: {error}");
            self.shared.health.record_error(self.shared.now(), message);
        }
    }

    /// Writes what was counted before this minute.
    fn write_finished_traffic(&mut self) {
        if self.traffic.is_due(self.shared.now()) {
            self.write_traffic();
        }
    }

    fn write_traffic(&mut self) {
        let written = self.traffic.write(&self.shared.layout, &self.shared.daily);
        if let Err(error) = written {
            let message = format!("traffic cannot be written: {error}");
            self.shared.health.record_error(self.shared.now(), message);
        }
    }

    fn write_access(&mut self, entry: &AccessEntry) {
        self.traffic.add(entry);
        self.line.clear();
        let Some(shown) = entry.write_line(&mut self.line, &mut self.access_texts) else {
            let stream = self.render(entry.to_record());
            return self.streams.push(&stream, &self.line);
        };
        if let Some(echo) = &mut self.echo {
            echo.show_access(&shown);
        }
        if self.access_stream.project != *entry.project {
            self.access_stream.project.clear();
            self.access_stream.project.push_str(&entry.project);
        }
        self.streams.push(&self.access_stream, &self.line);
    }

    /// Writes the record's line into the scratch buffer and returns its stream.
    fn render(&mut self, mut record: Record) -> Stream {
        redact::redact_record(&mut record);
        fit::cut_to_fit(&mut record);
        self.line.clear();
        record.write_line(&mut self.line);
        if let Some(echo) = &mut self.echo {
            echo.show(&record);
        }
        Stream {
            project: record.project,
            source: record.source,
        }
    }

    /// Time until the next record about dropped records, if one is due.
    fn until_report(&self) -> Option<Duration> {
        let is_needed = self.shared.health.dropped() > self.reported_drops;
        let elapsed = self
            .last_report
            .map_or(REPORT_INTERVAL, |last| last.elapsed());
        is_needed.then(|| REPORT_INTERVAL.saturating_sub(elapsed))
    }

    fn report_drops_if_due(&mut self) {
        if self.until_report() == Some(Duration::ZERO) {
            self.report_drops();
        }
    }

    /// Writes a record with the number of records dropped since the last such record.
    fn report_drops(&mut self) {
        let dropped = self.shared.health.dropped();
        let unreported = dropped - self.reported_drops;
        if unreported == 0 {
            return;
        }
        self.last_report = Some(Instant::now());
        let message =
            format!("log records were dropped ({unreported}): too many, or no disk space");
        let note = Record::new(Source::Jobs, Level::Warn, message)
            .project(self.shared.config.own_project.clone())
            .field("dropped", unreported);
        let stream = self.render(note.clone());
        if self.streams.write_now(&stream, &self.line) {
            self.reported_drops = dropped;
            // An error only means that there is no tail.
            let _ = self.tail.send(Arc::new(note));
        }
    }
}
