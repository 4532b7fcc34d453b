//! How many requests a project had, how long they took and how they ended, minute by minute.
//!
//! The writer counts the entries of the access log that pass through it and appends one line per
//! minute, service and route to `<dir>/<ref>/traffic/<day>.minutes.ndjson`. Lines of one minute add
//! up, so a restart needs no care. After two days the minutes of a day are merged to hours; hours are
//! kept for 90 days. Entries that the store dropped are not counted.

mod collect;
mod daily;
mod files;
mod line;
mod query;
mod route;
mod stats;

pub use daily::DailyTraffic;
pub use query::{TrafficBy, TrafficQuery, TrafficSeries};
pub use stats::Stats;

pub(crate) use collect::Collector;
pub(crate) use daily::Daily;
pub(crate) use files::maintain;
pub(crate) use query::query;

const MINUTE: i64 = 60;
const HOUR: i64 = 3600;
const DAY: i64 = 86_400;
