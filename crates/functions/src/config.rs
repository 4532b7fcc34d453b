//! What can be chosen about functions for one project (functions contract §6, §9).

use std::{collections::BTreeMap, time::Duration};

use plinth_project::FromSettings;
use plinth_settings::{Secret, Settings};

use crate::network::Network;

/// A project's settings of the functions service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionsConfig {
    /// Whether the service is switched on.
    pub(crate) is_enabled: bool,
    pub(crate) policy: Policy,
    /// Whether refusals for a token are marked as the relay's.
    pub(crate) marks_refusals: bool,
    /// Workers of one function that stay, once they have come.
    pub(crate) min_workers: usize,
    /// Most workers of one function.
    pub(crate) max_workers: usize,
    /// Processes that are started before anybody needs them.
    pub(crate) spares: usize,
    /// Who makes the project's tokens, where that is not its own address.
    pub(crate) issuer: Option<String>,
    /// What workers call the place where they run.
    pub(crate) region: String,
    /// Largest request body.
    pub(crate) max_body_bytes: u64,
    /// Private networks that functions may reach.
    pub(crate) reachable: Vec<Network>,
    /// Ports that functions may not connect to, wherever they are.
    pub(crate) refused_ports: Vec<u16>,
    /// Variables that all functions of the project receive.
    pub(crate) secrets: BTreeMap<String, Secret>,
    pub(crate) limits: Limits,
}

/// How requests share workers (functions contract §10).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Policy {
    /// A worker serves many at once.
    PerWorker,
    /// A worker serves one after the other.
    PerRequest,
    /// A worker serves a single one.
    Oneshot,
}

impl Policy {
    /// One of the settings' names.
    fn named(name: &str) -> Self {
        match name {
            "oneshot" => Self::Oneshot,
            "per_request" => Self::PerRequest,
            _ => Self::PerWorker,
        }
    }
}

/// How much and how long a worker may.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Until a worker answers after its start.
    pub(crate) boot: Duration,
    /// Until a request finds a worker.
    pub(crate) wait: Duration,
    /// Until an answer begins, and between its pieces.
    pub(crate) request_idle: Duration,
    /// Of one request, and of work that goes on after an answer.
    pub(crate) wall_clock: Duration,
    /// Of a whole worker, for those who want it as it is elsewhere.
    pub(crate) worker_lifetime: Option<Duration>,
    /// Time of a processor that one request may use; while several are open, without ever listening.
    pub(crate) cpu: Duration,
    pub(crate) memory_bytes: u64,
    /// Of temporary files.
    pub(crate) scratch_bytes: u64,
    /// Without a request.
    pub(crate) idle: Duration,
    /// From being told to go until being made to.
    pub(crate) grace: Duration,
}

impl FunctionsConfig {
    /// Whether somebody wants to reach something over IPv6.
    pub(crate) fn speaks_ipv6(&self) -> bool {
        self.reachable.iter().any(Network::is_ipv6)
    }
}

fn issuer(settings: &Settings) -> Option<String> {
    let said = settings.opt_text("auth.jwt_issuer").map(str::to_owned);
    let elsewhere = settings.opt_text("auth.external_url");
    said.or_else(|| Some(elsewhere?.trim_end_matches('/').to_owned()))
}

impl FromSettings for FunctionsConfig {
    fn from_settings(settings: &Settings) -> Self {
        let own = |name: &str| format!("plinth.functions.{name}");
        let duration = |name| settings.duration(&own(name));
        let count = |name| usize::try_from(settings.integer(&own(name))).unwrap_or_default();
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let max_workers = settings.opt_integer(&own("max_workers"));
        let max_workers = max_workers.and_then(|most| usize::try_from(most).ok());
        let networks = settings.list(&own("reachable_networks")).iter();
        let ports = settings.list(&own("refused_ports")).iter();
        Self {
            is_enabled: settings.bool("edge_runtime.enabled"),
            policy: Policy::named(settings.text("edge_runtime.policy")),
            marks_refusals: settings.bool(&own("relay_error_header")),
            min_workers: count("min_workers"),
            max_workers: max_workers.unwrap_or(cores),
            spares: count("spare_processes"),
            issuer: issuer(settings),
            region: settings.text(&own("region")).to_owned(),
            max_body_bytes: settings.bytes(&own("max_body")),
            // The settings have checked their form.
            reachable: networks.filter_map(|text| text.parse().ok()).collect(),
            refused_ports: ports.filter_map(|text| text.parse().ok()).collect(),
            secrets: settings.secrets("edge_runtime.secrets").clone(),
            limits: Limits {
                boot: duration("boot_timeout"),
                wait: duration("wait_timeout"),
                request_idle: duration("request_idle"),
                wall_clock: duration("wall_clock"),
                worker_lifetime: settings.opt_duration(&own("worker_lifetime")),
                cpu: duration("cpu"),
                memory_bytes: settings.bytes(&own("memory")),
                scratch_bytes: settings.bytes(&own("temporary_files")),
                idle: duration("worker_idle"),
                grace: duration("graceful_exit"),
            },
        }
    }
}
