//! Starting a worker: room for it, what it is told, and what it may reach.

use std::{net::IpAddr, sync::Arc, time::Duration};

use plinth_log::Level;
use plinth_project::{BadSource, FunctionSurroundings};
use tokio::sync::{Notify, OwnedSemaphorePermit};
use url::Url;
use uuid::Uuid;

use super::FunctionsService;
use crate::{
    catalog::environment,
    config::Policy,
    deno::NOT_INSTALLED,
    error::FunctionError,
    network::{self, Network},
    pool::{Generation, Starter},
    record::Journal,
    worker::{self, Launch, Reason, Worker},
};

impl FunctionsService {
    /// A share of what all workers together may be; somebody idle goes for it.
    async fn permit(&self, patience: Duration) -> Result<OwnedSemaphorePermit, FunctionError> {
        let permits = self.0.permits.clone();
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
        booted.await.unwrap_or(Err(FunctionError::NoCapacity))
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
        let inner = &service.0;
        let boot_error = |told: String| FunctionError::Boot {
            told: (inner.parts.is_developing && function.is_in_folder()).then_some(told),
        };
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
        let Some(program) = inner.parts.deno.program() else {
            return Err(boot_error(NOT_INSTALLED.to_owned()));
        };
        let ground = service.ground();
        let ground = ground.map_err(|error| boot_error(format!("no room for workers: {error}")))?;
        let permit = service.permit(config.limits.wait).await?;
        let id = Uuid::new_v4().to_string();
        let mut reachable = config.reachable.clone();
        reachable.extend(own_addresses(&surroundings.told).await);
        let launch = Launch {
            variables: environment(project, function, surroundings, config, &id),
            denied: network::denied(&reachable),
            program: program.to_owned(),
            bootstrap: ground.bootstrap.clone(),
            run_dir: ground.run_dir.clone(),
            function: function.clone(),
            limits: config.limits.clone(),
            is_single: config.policy == Policy::Oneshot,
            freed: freed.clone(),
            tasks: inner.tasks.clone(),
            journal,
            permit,
            id,
        };
        match worker::start(launch).await {
            Ok(worker) => Ok(worker),
            Err(failure) => {
                // What was fetched may have been cleared away.
                *function.is_prepared.lock().await = false;
                function.code.forget_prepared();
                Err(boot_error(failure.told))
            }
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
