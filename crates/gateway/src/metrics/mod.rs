//! Prometheus metrics (console contract N142).
//!
//! Events are recorded through the crate `metrics`, which other crates use too; current values
//! (memory, pools) are sampled when `/metrics` is scraped ([`page`]).

mod page;
mod process;
mod requests;
mod sums;

use std::time::Duration;

use metrics::{Gauge, Unit, describe_counter, describe_gauge, describe_histogram, gauge};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};

pub(crate) use page::render;
pub(crate) use requests::RequestMetrics;

const REQUESTS: &str = "plinth_http_requests_total";
const DURATION: &str = "plinth_http_request_duration_seconds";
const IN_FLIGHT: &str = "plinth_http_requests_in_flight";
const CONNECTIONS: &str = "plinth_http_connections";

/// From a cached response to the default request timeout, in seconds.
const BUCKETS: &[f64] = &[
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0,
];

/// Prefix of the function histograms: time in the queue, and boot time of a worker.
const FUNCTIONS: &str = "plinth_functions_";

/// Prefix of the realtime histograms, in milliseconds.
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
const REALTIME_POLL_DURATION: &str = "realtime_replication_poller_query_duration";
/// How many groups of subscribers policies are checked for, per row change.
const REALTIME_GROUPS: &str = "realtime_changes_groups";
const REALTIME_GROUPS_BUCKETS: &[f64] = &[0.0, 1.0, 2.0, 5.0, 10.0, 50.0, 100.0, 500.0, 1_000.0];

/// How often samples are folded into their buckets between scrapes.
const UPKEEP_INTERVAL: Duration = Duration::from_secs(5);

/// The metrics recorder of this process.
#[derive(Clone)]
pub struct Metrics(PrometheusHandle);

/// The recorder could not be installed.
#[derive(Debug, thiserror::Error)]
#[error("metrics cannot be recorded: {0}")]
pub struct MetricsError(String);

impl Metrics {
    /// Installs the recorder. Once per process, before the gateway is created.
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
                Matcher::Full(REALTIME_POLL_DURATION.to_owned()),
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
        describe_counter!(REQUESTS, "HTTP requests completed.");
        describe_histogram!(DURATION, Unit::Seconds, "Time until the response began.");
        describe_gauge!(
            IN_FLIGHT,
            "HTTP requests in flight, until the response is sent completely."
        );
        describe_gauge!(
            CONNECTIONS,
            "Open client connections, upgraded ones (WebSocket) included."
        );
        let upkeep = handle.clone();
        std::thread::Builder::new()
            .name("plinth-metrics".to_owned())
            .spawn(move || {
                loop {
                    std::thread::sleep(UPKEEP_INTERVAL);
                    upkeep.run_upkeep();
                }
            })
            .map_err(|error| failed(&error))?;
        Ok(Self(handle))
    }

    /// The recorded metrics in Prometheus' text format.
    pub fn render(&self) -> String {
        let mut page = self.0.render();
        sums::add_sums(&mut page);
        page
    }
}

/// Requests in flight.
pub(crate) fn in_flight() -> Gauge {
    gauge!(IN_FLIGHT)
}

/// Open connections.
pub(crate) fn connections() -> Gauge {
    gauge!(CONNECTIONS)
}
