//! Bounds how many connections from one network are logging in at once. The limit of connections is for
//! sessions: clients without a password must not be able to exhaust it for all clients.
//!
//! Further ones wait for their turn. Connections of this machine are not bounded: they may be those of a
//! proxy, which has clients of its own.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};

use super::failed_logins::network;

/// Logins of one network at a time: below the limit of connections of any server.
const MAX_LOGINS: usize = 16;
/// Connections of one network that log in or wait until they may.
const MAX_OPEN: usize = 128;
/// How long a connection waits.
const TURN_TIMEOUT: Duration = Duration::from_secs(30);

/// Those that are logging in, by network.
#[derive(Debug, Default)]
pub(super) struct PendingLogins(Mutex<HashMap<IpAddr, Weak<Network>>>);

#[derive(Debug)]
struct Network {
    open: Arc<Semaphore>,
    logins: Arc<Semaphore>,
}

/// A connection that was accepted and has not begun to log in.
#[derive(Debug)]
pub(super) struct Waiting {
    /// `None` for a connection of this machine.
    place: Option<(OwnedSemaphorePermit, Arc<Network>)>,
}

/// A connection that is logging in. Dropped when it is done.
#[derive(Debug)]
pub(super) struct PendingLogin {
    _permits: Option<(OwnedSemaphorePermit, OwnedSemaphorePermit, Arc<Network>)>,
}

impl PendingLogins {
    /// `None` if too many from this network wait already.
    pub(super) fn enter(&self, peer: IpAddr) -> Option<Waiting> {
        if peer.to_canonical().is_loopback() {
            return Some(Waiting { place: None });
        }
        let network = self.network(network(peer));
        let open = Arc::clone(&network.open).try_acquire_owned().ok()?;
        Some(Waiting {
            place: Some((open, network)),
        })
    }

    fn network(&self, address: IpAddr) -> Arc<Network> {
        let mut networks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(network) = networks.get(&address).and_then(Weak::upgrade) {
            return network;
        }
        networks.retain(|_, network| network.strong_count() > 0);
        let network = Arc::new(Network {
            open: Arc::new(Semaphore::new(MAX_OPEN)),
            logins: Arc::new(Semaphore::new(MAX_LOGINS)),
        });
        networks.insert(address, Arc::downgrade(&network));
        network
    }
}

impl Waiting {
    /// Waits for its turn; `None` if that takes too long.
    pub(super) async fn begin(self) -> Option<PendingLogin> {
        let Some((open, network)) = self.place else {
            return Some(PendingLogin { _permits: None });
        };
        let turn = timeout(TURN_TIMEOUT, Arc::clone(&network.logins).acquire_owned());
        let login = turn.await.ok()?.ok()?;
        Some(PendingLogin {
            _permits: Some((open, login, network)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn enter(pending: &PendingLogins, peer: &str) -> Option<Waiting> {
        pending.enter(peer.parse().expect("an address"))
    }

    async fn begin(pending: &PendingLogins, peer: &str) -> Option<PendingLogin> {
        enter(pending, peer).expect("it may wait").begin().await
    }

    #[tokio::test(start_paused = true)]
    async fn one_network_leaves_places_for_others() {
        let pending = PendingLogins::default();
        let mut open = Vec::new();
        for _ in 0..MAX_LOGINS {
            open.push(begin(&pending, "192.0.2.1").await.expect("a turn"));
        }

        assert!(begin(&pending, "192.0.2.1").await.is_none());
        assert!(begin(&pending, "192.0.2.2").await.is_some());
        open.pop();
        assert!(begin(&pending, "192.0.2.1").await.is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn connections_that_wait_are_bounded() {
        let pending = PendingLogins::default();
        let waiting: Vec<_> = (0..MAX_OPEN)
            .map(|number| enter(&pending, &format!("2001:db8::{number}")).expect("a place"))
            .collect();

        assert!(enter(&pending, "2001:db8::ffff").is_none());
        drop(waiting);
        assert!(enter(&pending, "2001:db8::ffff").is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn this_machine_is_not_bounded() {
        let pending = PendingLogins::default();
        let mut open = Vec::new();
        for _ in 0..2 * MAX_OPEN {
            open.push(begin(&pending, "::ffff:127.0.0.1").await.expect("a turn"));
        }
        assert!(pending.0.lock().expect("not poisoned").is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn networks_without_connections_are_removed() {
        let pending = PendingLogins::default();
        for number in 1..100 {
            drop(begin(&pending, &format!("192.0.2.{number}")).await);
        }
        assert_eq!(pending.0.lock().expect("not poisoned").len(), 1);
    }
}
