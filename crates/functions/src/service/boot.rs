//! Starting a worker: room for it, what it is told, and what it may reach.

use std::{
    net::IpAddr,
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use plinth_project::FunctionSurroundings;
use tokio::sync::{Notify, OwnedSemaphorePermit};
use url::Url;

use super::{FunctionsService, spares::Mold};
use crate::{
    catalog::{Function, environment},
    config::Policy,
    deno::{NOT_INSTALLED, Unready},
    error::FunctionError,
    network::{self, Network},
    pool::{Generation, Starter},
    record::Journal,
    worker::{self, Birth, BootFailure, Launch, Process, Reason, Worker},
};

/// How often somebody who needs a place looks for a worker that does nothing.
const LOOK_AGAIN: Duration = Duration::from_millis(20);
const GOING_TAKES: Duration = Duration::from_secs(1);

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
        let deadline = tokio::time::Instant::now() + patience;
        let mut acquired = std::pin::pin!(permits.acquire_owned());
        let mut sent_away: Option<Instant> = None;
        loop {
            // Whoever was sent away may have got work at that very moment, and stay.
            if sent_away.is_none_or(|at| at.elapsed() >= GOING_TAKES) {
                self.0.spares.give_up_one();
                sent_away = self.send_idlest_away().then(Instant::now);
            }
            tokio::select! {
                permit = &mut acquired => return permit.map_err(|_| FunctionError::NoCapacity),
                () = tokio::time::sleep_until(deadline) => return Err(FunctionError::NoCapacity),
                () = tokio::time::sleep(LOOK_AGAIN) => {}
            }
        }
    }

    /// Ends the worker that has done nothing for longest, if there is one. Those who were to stay
    /// go last.
    fn send_idlest_away(&self) -> bool {
        let idle = self
            .pools()
            .values()
            .flat_map(|pool| pool.idle())
            .max_by_key(|(time, worker)| (!worker.is_resident(), *time));
        let Some((_, worker)) = idle else {
            return false;
        };
        worker.retire(Reason::EarlyDrop);
        true
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
            ..
        } = generation;
        let boot_error = |told| self.boot_error(function, told, false);
        let passing = |told| self.boot_error(function, told, true);
        let journal = Arc::new(Journal::new(project, function, &config.region));
        if let Err(Unready { told, is_passing }) = service.make_ready(project, function).await {
            journal.boot_failed(&told, None);
            return Err(match is_passing {
                true => passing(told),
                false => boot_error(told),
            });
        }
        let Some(program) = service.0.parts.deno.program() else {
            return Err(boot_error(NOT_INSTALLED.to_owned()));
        };
        let ground = service.ground();
        let ground = ground.map_err(|error| passing(format!("no room for workers: {error}")))?;
        let mut reachable = config.reachable.clone();
        let own = own_addresses(&surroundings.told).await;
        let needs_ipv6 = |addresses: &Vec<Network>| addresses.iter().all(Network::is_ipv6);
        let speaks_ipv6 = config.speaks_ipv6() || own.iter().any(needs_ipv6);
        if speaks_ipv6 && !config.speaks_ipv6() {
            tracing::warn!(
                "Plinth or its database has addresses of IPv6 alone, so functions speak IPv6: its \
                 private ranges and refused ports are within their reach"
            );
        }
        reachable.extend(own.into_iter().flatten());
        let mut denied = network::denied(&reachable, speaks_ipv6);
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
                scratch_bytes: config.limits.scratch_bytes,
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
    fn boot_error(&self, function: &Function, told: String, is_passing: bool) -> FunctionError {
        let is_developing = self.service.0.parts.is_developing && function.is_in_folder();
        FunctionError::Boot {
            told: is_developing.then_some(told),
            is_passing,
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
            started => Some(started.map_err(|failure| self.failed(failure))),
        }
    }

    async fn in_own(&self) -> Result<Arc<Worker>, FunctionError> {
        let patience = self.generation.config.limits.wait;
        let permit = self.starter.service.permit(patience).await?;
        let began = Instant::now();
        let process = Process::start(&self.birth, None).await;
        let process = process.map_err(|told| self.error(told, true))?;
        let started = worker::start(self.launch(process, permit, began)).await;
        started.map_err(|failure| self.failed(failure))
    }

    fn error(&self, told: String, is_passing: bool) -> FunctionError {
        let function = &self.generation.function;
        self.starter.boot_error(function, told, is_passing)
    }

    fn failed(&self, failure: BootFailure) -> FunctionError {
        self.error(failure.told, failure.is_late)
    }

    fn launch(&self, process: Process, permit: OwnedSemaphorePermit, began: Instant) -> Launch {
        let Starter { service, project } = self.starter;
        let Generation {
            function,
            surroundings,
            config,
            ..
        } = self.generation;
        Launch {
            variables: environment(project, function, surroundings, config, &process.id),
            function: function.clone(),
            limits: config.limits.clone(),
            is_single: config.policy == Policy::Oneshot,
            freed: self.freed.clone(),
            tasks: service.0.tasks.clone(),
            journal: self.journal.clone(),
            project: project.clone(),
            end: service.0.end.clone(),
            process,
            began,
            permit,
        }
    }
}

/// Plinth itself and its database, as far as they are addresses or names of some.
async fn own_addresses(told: &FunctionSurroundings) -> Vec<Vec<Network>> {
    let mut places = Vec::new();
    for text in [told.api_url.as_str(), told.database_url.expose()] {
        let Ok(url) = Url::parse(text) else {
            continue;
        };
        let addresses = match url.host() {
            Some(url::Host::Ipv4(address)) => vec![IpAddr::from(address).into()],
            Some(url::Host::Ipv6(address)) => vec![IpAddr::from(address).into()],
            Some(url::Host::Domain(name)) => {
                // The scheme of databases is none that the library knows hosts of.
                let found = tokio::net::lookup_host((name.trim_matches(['[', ']']), 0)).await;
                let found = found.into_iter().flatten();
                found.map(|address| Network::from(address.ip())).collect()
            }
            None => Vec::new(),
        };
        if !addresses.is_empty() {
            places.push(addresses);
        }
    }
    places
}
