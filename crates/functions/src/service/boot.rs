//! Boots workers: prepares the code, takes a prewarmed process or starts one, and launches the function
//! in it.

use std::{
    io,
    net::IpAddr,
    sync::{Arc, atomic::Ordering},
    time::Instant,
};

use plinth_project::{FunctionEnvironment, Project};
use tokio::sync::{Notify, OwnedSemaphorePermit};
use tokio_util::task::TaskTracker;
use url::Url;

use super::{FunctionsService, prewarmed::ProcessProfile};
use crate::{
    accounts::AccountHold,
    catalog::{Function, variables},
    config::{FunctionsConfig, Policy},
    deno::NOT_INSTALLED,
    error::FunctionError,
    function_log::FunctionLog,
    network::{self, Network},
    pool::{Generation, WorkerFactory},
    worker::{self, BootFailure, Launch, Process, ProcessSpec, Worker},
};

/// Starts workers of one project's functions.
#[derive(Clone)]
pub(crate) struct ProjectWorkerFactory {
    service: FunctionsService,
    project: Project,
}

impl FunctionsService {
    pub(crate) fn worker_factory(&self, project: &Project) -> ProjectWorkerFactory {
        ProjectWorkerFactory {
            service: self.clone(),
            project: project.clone(),
        }
    }
}

impl WorkerFactory for ProjectWorkerFactory {
    /// A worker that serves, unless the service shuts down before it does.
    async fn boot(
        &self,
        generation: &Generation,
        released: &Arc<Notify>,
    ) -> Result<Arc<Worker>, FunctionError> {
        let shutdown = &self.service.0.shutdown;
        let booted = shutdown.run_until_cancelled(self.boot_worker(generation, released));
        let booted = booted.await.unwrap_or(Err(FunctionError::NoCapacity));
        if matches!(booted, Err(FunctionError::Boot { .. })) {
            generation.function.metrics.boot_failed();
        }
        booted
    }

    fn tasks(&self) -> &TaskTracker {
        &self.service.0.tasks
    }

    fn worker_exited(&self) {
        let project = self.project.reference();
        self.service.remove_unused_sources(project);
    }
}

impl ProjectWorkerFactory {
    async fn boot_worker(
        &self,
        generation: &Generation,
        released: &Arc<Notify>,
    ) -> Result<Arc<Worker>, FunctionError> {
        let Self { service, project } = self;
        let Generation {
            function, config, ..
        } = generation;
        let log = Arc::new(FunctionLog::new(project, function, &config.region));
        if let Err(error) = service.prepare_function(project, function).await {
            log.boot_failed(&error.message, None);
            return Err(self.boot_error(function, error.message, error.is_transient));
        }
        let Some(program) = service.0.parts.deno.program() else {
            return Err(self.boot_error(function, NOT_INSTALLED.to_owned(), false));
        };
        let dirs = service.runtime_dirs().map_err(|error| {
            let message = format!("the directories of workers cannot be created: {error}");
            self.boot_error(function, message, true)
        })?;
        let denied = denied_networks(config, &generation.environment.project).await;
        let boot = Boot {
            factory: self,
            generation,
            released,
            log,
            spec: ProcessSpec {
                program,
                bootstrap: &dirs.bootstrap,
                run_dir: &dirs.run_dir,
                code: &function.code,
                denied: &denied,
                memory_bytes: config.limits.memory_bytes,
                scratch_bytes: config.limits.scratch_bytes,
            },
        };
        let booted = boot.run().await;
        if matches!(booted, Err(FunctionError::Boot { .. })) {
            // The cache of packages may have been deleted.
            *function.is_prepared.lock().await = false;
            function.code.clear_prepared();
        }
        booted
    }

    /// To be held while a process of the function is started.
    fn hold_account(&self, function: &Function) -> io::Result<AccountHold> {
        let accounts = &self.service.0.accounts;
        accounts.hold(self.project.reference(), function.code.account)
    }

    /// Only developers get the detail.
    fn boot_error(&self, function: &Function, detail: String, is_transient: bool) -> FunctionError {
        let is_developing = self.service.0.parts.is_developing && function.is_in_folder();
        FunctionError::Boot {
            detail: is_developing.then_some(detail),
            is_transient,
        }
    }
}

/// One boot, with everything that it needs.
struct Boot<'a> {
    factory: &'a ProjectWorkerFactory,
    generation: &'a Generation,
    released: &'a Arc<Notify>,
    log: Arc<FunctionLog>,
    spec: ProcessSpec<'a>,
}

impl Boot<'_> {
    /// A worker in a prewarmed process, or else in one of its own.
    async fn run(&self) -> Result<Arc<Worker>, FunctionError> {
        let ProjectWorkerFactory { service, project } = self.factory;
        let Generation {
            function, config, ..
        } = self.generation;
        let Some(profile) = ProcessProfile::for_function(function, &self.spec) else {
            return self.in_own_process().await;
        };
        let booted = match self.in_prewarmed_process(&profile).await {
            Some(booted) => booted,
            None => self.in_own_process().await,
        };
        if booted.is_ok() {
            service.replenish_prewarmed(project, function, &profile, config.prewarmed_processes);
        }
        booted
    }

    async fn in_prewarmed_process(
        &self,
        profile: &ProcessProfile,
    ) -> Option<Result<Arc<Worker>, FunctionError>> {
        let ProjectWorkerFactory { service, project } = self.factory;
        let function = &self.generation.function;
        let prewarmed = &service.0.prewarmed;
        let prewarmed = prewarmed.take(project.reference(), profile, &function.code)?;
        let launch = self.launch(prewarmed.process, prewarmed.permit, Instant::now());
        match worker::start(launch).await {
            Err(failure) if failure.needs_own_process => {
                function.needs_own_process.store(true, Ordering::Relaxed);
                None
            }
            started => Some(started.map_err(|failure| self.failed(failure))),
        }
    }

    async fn in_own_process(&self) -> Result<Arc<Worker>, FunctionError> {
        let timeout = self.generation.config.limits.wait;
        let permit = self.factory.service.acquire_process_permit(timeout).await?;
        let began = Instant::now();
        let hold = self.factory.hold_account(&self.generation.function);
        let _hold = hold.map_err(|error| self.error(error.to_string(), true))?;
        let process = Process::start(&self.spec, None).await;
        let process = process.map_err(|message| self.error(message, true))?;
        let started = worker::start(self.launch(process, permit, began)).await;
        started.map_err(|failure| self.failed(failure))
    }

    fn error(&self, detail: String, is_transient: bool) -> FunctionError {
        let function = &self.generation.function;
        self.factory.boot_error(function, detail, is_transient)
    }

    fn failed(&self, failure: BootFailure) -> FunctionError {
        self.error(failure.message, failure.is_timeout)
    }

    fn launch(&self, process: Process, permit: OwnedSemaphorePermit, began: Instant) -> Launch {
        let ProjectWorkerFactory { service, project } = self.factory;
        let Generation {
            function,
            environment,
            config,
            ..
        } = self.generation;
        Launch {
            variables: variables(project, function, environment, config, &process.id),
            function: function.clone(),
            limits: config.limits.clone(),
            is_oneshot: config.policy == Policy::Oneshot,
            released: self.released.clone(),
            tasks: service.0.tasks.clone(),
            log: self.log.clone(),
            project: project.clone(),
            shutdown: service.0.shutdown.clone(),
            process,
            began,
            process_permit: permit,
        }
    }
}

/// Everything private except what the settings name, Plinth itself and its database.
async fn denied_networks(
    config: &FunctionsConfig,
    environment: &FunctionEnvironment,
) -> Vec<Network> {
    let own = own_addresses(environment).await;
    let needs_ipv6 = |addresses: &Vec<Network>| addresses.iter().all(Network::is_ipv6);
    let allows_ipv6 = config.allows_ipv6() || own.iter().any(needs_ipv6);
    if allows_ipv6 && !config.allows_ipv6() {
        tracing::warn!(
            "functions may use IPv6, because Plinth or its database has only IPv6 addresses: private \
             IPv6 ranges and denied ports are reachable for them"
        );
    }
    let mut reachable = config.reachable_networks.clone();
    reachable.extend(own.into_iter().flatten());
    let mut denied = network::denied_networks(&reachable, allows_ipv6);
    denied.extend(network::ports_on_all_hosts(&config.denied_ports));
    denied
}

/// The addresses of Plinth itself and of its database, one list for each.
async fn own_addresses(environment: &FunctionEnvironment) -> Vec<Vec<Network>> {
    let mut hosts = Vec::new();
    for text in [
        environment.api_url.as_str(),
        environment.database_url.expose(),
    ] {
        let Ok(url) = Url::parse(text) else {
            continue;
        };
        let addresses = match url.host() {
            Some(url::Host::Ipv4(address)) => vec![IpAddr::from(address).into()],
            Some(url::Host::Ipv6(address)) => vec![IpAddr::from(address).into()],
            Some(url::Host::Domain(name)) => {
                // For the scheme of databases, the library does not parse addresses.
                let found = tokio::net::lookup_host((name.trim_matches(['[', ']']), 0)).await;
                let found = found.into_iter().flatten();
                found.map(|address| Network::from(address.ip())).collect()
            }
            None => Vec::new(),
        };
        if !addresses.is_empty() {
            hosts.push(addresses);
        }
    }
    hosts
}
