//! Numbers for Prometheus (console contract N142).
//!
//! What happens is counted as it happens, through the crate `metrics`, which other crates may use
//! too; what merely is (memory, pools) is read when somebody asks ([`page`]).

mod page;
mod process;
mod requests;
mod sums;

use std::time::Duration;

use metrics::{Gauge, Unit, describe_counter, describe_gauge, describe_histogram, gauge};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};

pub(crate) use page::render;
pub(crate) use requests::Requests;

const REQUESTS: &str = "plinth_http_requests_total";
const DURATION: &str = "plinth_http_request_duration_seconds";
const IN_FLIGHT: &str = "plinth_http_requests_in_flight";
const CONNECTIONS: &str = "plinth_http_connections";

/// From a cached answer to the longest time that a request may take, in seconds.
const BUCKETS: &[f64] = &[
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0,
];

/// Times of functions: how long calls wait for a process, and how long one takes to start.
const FUNCTIONS: &str = "plinth_functions_";

/// Spreads of the realtime service, whose names say `_bucket`: milliseconds, and bytes.
const REALTIME: &str = "realtime_tenants_";
const REALTIME_BUCKETS: &[f64] = &[
    1.0, 2.5, 5.0, 10.0, 25.0, 50.0, 100.0, 250.0, 500.0, 1_000.0, 5_000.0,
];
const REALTIME_PAYLOAD: &str = "realtime_tenants_payload_size";
const REALTIME_PAYLOAD_BUCKETS: &[f64] = &[
    100.0,
    1_000.0,
    10_000.0,
    100_000.0,
    1_000_000.0,
    3_000_000.0,
];

/// How long a batch of row changes takes, in milliseconds.
const REALTIME_DECIDING: &str = "realtime_replication_poller_query_duration";
/// How many groups of subscribers one change is asked about.
const REALTIME_GROUPS: &str = "realtime_changes_groups";
const REALTIME_GROUPS_BUCKETS: &[f64] = &[0.0, 1.0, 2.0, 5.0, 10.0, 50.0, 100.0, 500.0, 1_000.0];

/// How often samples are folded into their buckets when nobody asks.
const UPKEEP: Duration = Duration::from_secs(5);

/// The recorder of this process.
#[derive(Clone)]
pub struct Metrics(PrometheusHandle);

/// The recorder could not be installed.
#[derive(Debug, thiserror::Error)]
#[error("metrics cannot be recorded: {0}")]
pub struct MetricsError(String);

impl Metrics {
    /// Makes this process record. Once per process, before the gateway is made.
    pub fn install() -> Result<Self, MetricsError> {
        let failed = |error: &dyn std::fmt::Display| MetricsError(error.to_string());
        let mut builder = PrometheusBuilder::new();
        for (which, buckets) in [
            (Matcher::Full(DURATION.to_owned()), BUCKETS),
            (Matcher::Prefix(FUNCTIONS.to_owned()), BUCKETS),
            (Matcher::Prefix(REALTIME.to_owned()), REALTIME_BUCKETS),
            (
                Matcher::Full(REALTIME_PAYLOAD.to_owned()),
                REALTIME_PAYLOAD_BUCKETS,
            ),
            (
                Matcher::Full(REALTIME_DECIDING.to_owned()),
                REALTIME_BUCKETS,
            ),
            (
                Matcher::Full(REALTIME_GROUPS.to_owned()),
                REALTIME_GROUPS_BUCKETS,
            ),
        ] {
            let with_buckets = builder.set_buckets_for_metric(which, buckets);
            builder = with_buckets.map_err(|error| failed(&error))?;
        }
        let handle = builder.install_recorder().map_err(|error| failed(&error))?;
        describe_counter!(REQUESTS, "Requests answered.");
        describe_histogram!(DURATION, Unit::Seconds, "Time until an answer began.");
        describe_gauge!(IN_FLIGHT, "Requests whose answer is not sent completely.");
        describe_gauge!(CONNECTIONS, "Open connections, upgraded ones included.");
        let upkeep = handle.clone();
        std::thread::Builder::new()
            .name("plinth-metrics".to_owned())
            .spawn(move || {
                loop {
                    std::thread::sleep(UPKEEP);
                    upkeep.run_upkeep();
                }
            })
            .map_err(|error| failed(&error))?;
        Ok(Self(handle))
    }

    /// What was recorded so far, as Prometheus reads it.
    pub fn render(&self) -> String {
        let mut page = self.0.render();
        sums::add_sums(&mut page);
        page
    }
}

/// The requests whose answer is not sent completely.
pub(crate) fn in_flight() -> Gauge {
    gauge!(IN_FLIGHT)
}

/// The open connections.
pub(crate) fn connections() -> Gauge {
    gauge!(CONNECTIONS)
}
