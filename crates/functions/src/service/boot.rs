//! Starting a worker: room for it, what it is told, and what it may reach.

use std::{
    net::IpAddr,
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use plinth_log::Level;
use plinth_project::{BadSource, FunctionSurroundings};
use tokio::sync::{Notify, OwnedSemaphorePermit};
use url::Url;

use super::{FunctionsService, spares::Mold};
use crate::{
    catalog::{Function, environment},
    config::Policy,
    deno::NOT_INSTALLED,
    error::FunctionError,
    network::{self, Network},
    pool::{Generation, Starter},
    record::Journal,
    worker::{self, Birth, Launch, Process, Reason, Worker},
};

impl FunctionsService {
    /// A share of what all workers together may be; somebody idle goes for it.
    async fn permit(&self, patience: Duration) -> Result<OwnedSemaphorePermit, FunctionError> {
        let permits = self.0.permits.clone();
        if let Ok(permit) = permits.clone().try_acquire_owned() {
            return Ok(permit);
        }
        self.0.spares.give_up_one();
        if let Ok(permit) = permits.clone().try_acquire_owned() {
            return Ok(permit);
        }
        let idle = self
            .pools()
            .values()
            .filter_map(|pool| pool.longest_idle())
            .max_by_key(|(time, _)| *time);
        if let Some((_, worker)) = idle {
            worker.retire(Reason::EarlyDrop, patience);
        }
        match tokio::time::timeout(patience, permits.acquire_owned()).await {
            Ok(Ok(permit)) => Ok(permit),
            _ => Err(FunctionError::NoCapacity),
        }
    }
}

impl Starter {
    /// A worker that serves, unless the service ends before it does.
    pub(crate) async fn boot(
        &self,
        generation: &Generation,
        freed: &Arc<Notify>,
    ) -> Result<Arc<Worker>, FunctionError> {
        let end = &self.service.0.end;
        let booted = end.run_until_cancelled(self.boot_to_the_end(generation, freed));
        let booted = booted.await.unwrap_or(Err(FunctionError::NoCapacity));
        if matches!(booted, Err(FunctionError::Boot { .. })) {
            generation.function.numbers.boot_failed();
        }
        booted
    }

    async fn boot_to_the_end(
        &self,
        generation: &Generation,
        freed: &Arc<Notify>,
    ) -> Result<Arc<Worker>, FunctionError> {
        let Self { service, project } = self;
        let Generation {
            function,
            surroundings,
            config,
        } = generation;
        let boot_error = |told| self.boot_error(function, told);
        let journal = Arc::new(Journal::new(project, function, &config.region));
        if let Err(BadSource(told)) = service.make_ready(project, function).await {
            let message = format!("The function did not start: {told}");
            journal.event(
                "BootFailure",
                Level::Error,
                &message,
                "",
                &[("msg", told.clone().into())],
            );
            return Err(boot_error(told));
        }
        let Some(program) = service.0.parts.deno.program() else {
            return Err(boot_error(NOT_INSTALLED.to_owned()));
        };
        let ground = service.ground();
        let ground = ground.map_err(|error| boot_error(format!("no room for workers: {error}")))?;
        let mut reachable = config.reachable.clone();
        reachable.extend(own_addresses(&surroundings.told).await);
        let mut denied = network::denied(&reachable);
        denied.extend(network::ports_everywhere(&config.refused_ports));
        let boot = Boot {
            starter: self,
            generation,
            freed,
            journal,
            birth: Birth {
                program,
                bootstrap: &ground.bootstrap,
                run_dir: &ground.run_dir,
                code: &function.code,
                denied: &denied,
                memory_bytes: config.limits.memory_bytes,
            },
        };
        let booted = boot.run().await;
        if matches!(booted, Err(FunctionError::Boot { .. })) {
            // What was fetched may have been cleared away.
            *function.is_prepared.lock().await = false;
            function.code.forget_prepared();
        }
        booted
    }

    /// Whoever develops the function is told why.
    fn boot_error(&self, function: &Function, told: String) -> FunctionError {
        let is_developing = self.service.0.parts.is_developing && function.is_in_folder();
        FunctionError::Boot {
            told: is_developing.then_some(told),
        }
    }
}

/// One start, with everything that it needs at hand.
struct Boot<'a> {
    starter: &'a Starter,
    generation: &'a Generation,
    freed: &'a Arc<Notify>,
    journal: Arc<Journal>,
    birth: Birth<'a>,
}

impl Boot<'_> {
    /// A worker in a process that waits already, or else in one of its own.
    async fn run(&self) -> Result<Arc<Worker>, FunctionError> {
        let Starter { service, project } = self.starter;
        let Generation {
            function, config, ..
        } = self.generation;
        let Some(mold) = Mold::of(function, &self.birth) else {
            return self.in_own().await;
        };
        let booted = match self.in_spare(&mold).await {
            Some(booted) => booted,
            None => self.in_own().await,
        };
        if booted.is_ok() {
            service.replenish(project, function, &mold, config.spares);
        }
        booted
    }

    async fn in_spare(&self, mold: &Mold) -> Option<Result<Arc<Worker>, FunctionError>> {
        let Starter { service, project } = self.starter;
        let function = &self.generation.function;
        let spares = &service.0.spares;
        let spare = spares.take(project.reference(), mold, &function.code)?;
        let launch = self.launch(spare.process, spare.permit, Instant::now());
        match worker::start(launch).await {
            Err(failure) if failure.is_unfit => {
                function.needs_own_process.store(true, Ordering::Relaxed);
                None
            }
            started => Some(started.map_err(|failure| self.error(failure.told))),
        }
    }

    async fn in_own(&self) -> Result<Arc<Worker>, FunctionError> {
        let patience = self.generation.config.limits.wait;
        let permit = self.starter.service.permit(patience).await?;
        let began = Instant::now();
        let process = Process::start(&self.birth, None).await;
        let process = process.map_err(|told| self.error(told))?;
        let started = worker::start(self.launch(process, permit, began)).await;
        started.map_err(|failure| self.error(failure.told))
    }

    fn error(&self, told: String) -> FunctionError {
        self.starter.boot_error(&self.generation.function, told)
    }

    fn launch(&self, process: Process, permit: OwnedSemaphorePermit, began: Instant) -> Launch {
        let Starter { service, project } = self.starter;
        let Generation {
            function,
            surroundings,
            config,
        } = self.generation;
        Launch {
            variables: environment(project, function, surroundings, config, &process.id),
            function: function.clone(),
            limits: config.limits.clone(),
            is_single: config.policy == Policy::Oneshot,
            freed: self.freed.clone(),
            tasks: service.0.tasks.clone(),
            journal: self.journal.clone(),
            process,
            began,
            permit,
        }
    }
}

/// Plinth itself and its database, as far as they are addresses or names of some.
async fn own_addresses(told: &FunctionSurroundings) -> Vec<Network> {
    let mut networks = Vec::new();
    for text in [told.api_url.as_str(), told.database_url.expose()] {
        let Ok(url) = Url::parse(text) else {
            continue;
        };
        match url.host() {
            Some(url::Host::Ipv4(address)) => networks.push(IpAddr::from(address).into()),
            Some(url::Host::Ipv6(address)) => networks.push(IpAddr::from(address).into()),
            Some(url::Host::Domain(name)) => {
                // The scheme of databases is none that the library knows hosts of.
                let found = tokio::net::lookup_host((name.trim_matches(['[', ']']), 0)).await;
                networks.extend(
                    found
                        .into_iter()
                        .flatten()
                        .map(|address| Network::from(address.ip())),
                );
            }
            None => {}
        }
    }
    networks
}
