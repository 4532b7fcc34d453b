//! Settings of functions for one project (functions contract §6, §9).

use std::{collections::BTreeMap, time::Duration};

use plinth_project::FromSettings;
use plinth_settings::{
    Secret, Settings,
    keys::{auth, edge_runtime, plinth_functions as keys},
};

use crate::network::Network;

/// A project's settings of the functions service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionsConfig {
    /// Whether the service is switched on.
    pub(crate) is_enabled: bool,
    pub(crate) policy: Policy,
    /// Whether 401 errors are marked with `x-relay-error`.
    pub(crate) marks_unauthorized: bool,
    /// Workers of one function that are kept although they are idle, once they have booted.
    pub(crate) min_workers: usize,
    /// Limit on the workers of one function.
    pub(crate) max_workers: usize,
    /// Prewarmed processes of the project.
    pub(crate) prewarmed_processes: usize,
    /// The issuer of the project's tokens, where that is not its own URL.
    pub(crate) issuer: Option<String>,
    /// The region that functions see.
    pub(crate) region: String,
    /// Limit on a request body.
    pub(crate) max_body_bytes: u64,
    /// Private networks that functions may reach.
    pub(crate) reachable_networks: Vec<Network>,
    /// Ports that functions may not connect to, on any host.
    pub(crate) denied_ports: Vec<u16>,
    /// Environment variables of all functions of the project.
    pub(crate) secrets: BTreeMap<String, Secret>,
    pub(crate) limits: Limits,
}

/// How requests share workers (functions contract §10).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Policy {
    /// A worker serves many requests at once.
    PerWorker,
    /// A worker serves one request at a time.
    PerRequest,
    /// A worker serves a single request and exits.
    Oneshot,
}

impl Policy {
    /// By its name in the settings.
    fn from_name(name: &str) -> Self {
        match name {
            "oneshot" => Self::Oneshot,
            "per_request" => Self::PerRequest,
            _ => Self::PerWorker,
        }
    }
}

/// Limits of a worker and its requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Timeout of a boot.
    pub(crate) boot: Duration,
    /// How long a request waits for a worker.
    pub(crate) wait: Duration,
    /// Timeout until a response begins, and between its chunks.
    pub(crate) request_idle: Duration,
    /// Longest duration of one request, and of work after its response.
    pub(crate) wall_clock: Duration,
    /// Longest life of a worker, as on other platforms.
    pub(crate) worker_lifetime: Option<Duration>,
    /// CPU time of one request; while several are in flight, CPU time without a reply to a ping.
    pub(crate) cpu: Duration,
    pub(crate) memory_bytes: u64,
    /// Size of temporary files.
    pub(crate) scratch_bytes: u64,
    /// How long a worker is kept without a request.
    pub(crate) idle: Duration,
    /// Grace period between being asked to exit and being killed.
    pub(crate) grace: Duration,
}

impl FunctionsConfig {
    /// Whether an IPv6 network is reachable.
    pub(crate) fn allows_ipv6(&self) -> bool {
        self.reachable_networks.iter().any(Network::is_ipv6)
    }
}

fn issuer(settings: &Settings) -> Option<String> {
    let said = settings.get(auth::JWT_ISSUER).map(str::to_owned);
    let elsewhere = settings.get(auth::EXTERNAL_URL);
    said.or_else(|| Some(elsewhere?.as_written().trim_end_matches('/').to_owned()))
}

impl FromSettings for FunctionsConfig {
    fn from_settings(settings: &Settings) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let networks = settings.get(keys::REACHABLE_NETWORKS).iter();
        Self {
            is_enabled: settings.get(edge_runtime::ENABLED),
            policy: Policy::from_name(settings.get(edge_runtime::POLICY)),
            marks_unauthorized: settings.get(keys::RELAY_ERROR_HEADER),
            min_workers: settings.get(keys::MIN_WORKERS),
            max_workers: settings.get(keys::MAX_WORKERS).unwrap_or(cores),
            prewarmed_processes: settings.get(keys::PREWARMED_PROCESSES),
            issuer: issuer(settings),
            region: settings.get(keys::REGION).to_owned(),
            max_body_bytes: settings.get(keys::MAX_BODY),
            // The settings have checked their form.
            reachable_networks: networks.filter_map(|text| text.parse().ok()).collect(),
            denied_ports: settings.get(keys::DENIED_PORTS),
            secrets: settings.get(edge_runtime::SECRETS).clone(),
            limits: Limits {
                boot: settings.get(keys::BOOT_TIMEOUT),
                wait: settings.get(keys::WAIT_TIMEOUT),
                request_idle: settings.get(keys::REQUEST_IDLE),
                wall_clock: settings.get(keys::WALL_CLOCK),
                worker_lifetime: settings.get(keys::WORKER_LIFETIME),
                cpu: settings.get(keys::CPU),
                memory_bytes: settings.get(keys::MEMORY),
                scratch_bytes: settings.get(keys::TEMPORARY_FILES),
                idle: settings.get(keys::WORKER_IDLE),
                grace: settings.get(keys::GRACEFUL_EXIT),
            },
        }
    }
}
