//! The log store: bounded queue, segment files, retention, search (console contract §1.14).
//!
//! Services pass a [`Record`] to [`LogStore::write`], which never blocks: a dedicated thread redacts,
//! serialises and appends it to `<dir>/<ref>/<source>/<start>.ndjson`; when the queue is full, the
//! record is dropped and counted. [`LogStore::search`] and [`LogStore::histogram`] read only the files;
//! the live tail gets records before they are queued.
//!
//! There is no global state and no `tracing` here: the binary turns its own events into records, and
//! a store that logged about itself would feed on its own output.

mod access;
mod clock;
mod config;
mod echo;
mod error;
mod fields;
mod fit;
mod histogram;
mod level;
mod newer;
mod parallel;
mod query;
mod record;
pub mod redact;
mod search;
mod segment;
mod source;
mod status;
mod store;
mod tail;
mod timestamp;
mod traffic;
mod writer;

pub use access::{AccessEntry, AccessLine};
pub use clock::Clock;
pub use config::{Config, Retention, RetentionPolicy};
pub use echo::Echo;
pub use error::{OpenError, QueryError, SearchError, WriteError};
pub use fields::Fields;
pub use histogram::{Bucket, Histogram, MAX_BUCKETS};
pub use level::Level;
pub use query::{Cursor, MAX_LIMIT, Query, Scope, Term};
pub use record::{MAX_RECORD_BYTES, Record, is_valid_project};
pub use search::Page;
pub use source::Source;
pub use status::{LastError, SourceUsage, Status};
pub use store::LogStore;
pub use tail::{TailItem, TailReceiver};
pub use timestamp::Timestamp;
pub use traffic::{DailyTraffic, Stats, TrafficBy, TrafficQuery, TrafficSeries};
pub use writer::{LogWriter, WriterThread};
