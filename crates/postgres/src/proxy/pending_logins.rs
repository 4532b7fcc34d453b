//! Bounds the connections that are logging in. The limit of connections is for sessions: clients of one
//! network without a password must not be able to exhaust it for the others.
//!
//! Further ones are queued. Those of this machine are not: they may be of a proxy, which has clients of its own.
//! Code of users on this machine counts as a network of its own.

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

/// Connections of one network that log in to a server at a time.
const MAX_LOGINS: usize = 16;
/// Connections of one network without a session, those that are queued among them.
const MAX_OPEN_OF_NETWORK: usize = 128;
/// Connections of all networks without a session, and those of this machine.
const MAX_OPEN: usize = 512;
/// How long a connection may be queued.
const LOGIN_QUEUE_TIMEOUT: Duration = Duration::from_secs(30);

/// Connections without a session, by network.
#[derive(Debug)]
pub(super) struct PendingLogins {
    local: Arc<Semaphore>,
    remote: Arc<Semaphore>,
    networks: Mutex<HashMap<IpAddr, Weak<Network>>>,
}

#[derive(Debug)]
struct Network {
    open: Arc<Semaphore>,
    logins: Arc<Semaphore>,
}

/// A connection that has no session yet.
#[derive(Debug)]
pub(super) struct PendingLogin {
    /// `None` for a connection of this machine.
    network: Option<Arc<Network>>,
    _permits: Vec<OwnedSemaphorePermit>,
}

/// Held by a connection that is logging in. Dropped when that is decided.
#[derive(Debug)]
pub(super) struct LoginPermit(#[expect(dead_code, reason = "held")] Option<OwnedSemaphorePermit>);

impl Default for PendingLogins {
    fn default() -> Self {
        Self {
            local: Arc::new(Semaphore::new(MAX_OPEN)),
            remote: Arc::new(Semaphore::new(MAX_OPEN)),
            networks: Mutex::default(),
        }
    }
}

impl PendingLogins {
    /// `None` if there are too many already.
    pub(super) fn enter(&self, peer: IpAddr) -> Option<PendingLogin> {
        let acquire = |open: &Arc<Semaphore>| Arc::clone(open).try_acquire_owned().ok();
        if peer.to_canonical().is_loopback() {
            return Some(PendingLogin {
                network: None,
                _permits: vec![acquire(&self.local)?],
            });
        }
        self.enter_untrusted(peer)
    }

    /// The same for a client that is queued wherever it is.
    pub(super) fn enter_untrusted(&self, peer: IpAddr) -> Option<PendingLogin> {
        let acquire = |open: &Arc<Semaphore>| Arc::clone(open).try_acquire_owned().ok();
        let network = self.network(network(peer));
        let permits = vec![acquire(&network.open)?, acquire(&self.remote)?];
        Some(PendingLogin {
            network: Some(network),
            _permits: permits,
        })
    }

    fn network(&self, address: IpAddr) -> Arc<Network> {
        let mut networks = self.networks.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(network) = networks.get(&address).and_then(Weak::upgrade) {
            return network;
        }
        networks.retain(|_, network| network.strong_count() > 0);
        let network = Arc::new(Network {
            open: Arc::new(Semaphore::new(MAX_OPEN_OF_NETWORK)),
            logins: Arc::new(Semaphore::new(MAX_LOGINS)),
        });
        networks.insert(address, Arc::downgrade(&network));
        network
    }
}

impl PendingLogin {
    /// Waits until the connection may log in; `None` if that takes too long.
    pub(super) async fn acquire_login_permit(&self) -> Option<LoginPermit> {
        let Some(network) = &self.network else {
            return Some(LoginPermit(None));
        };
        let permit = timeout(
            LOGIN_QUEUE_TIMEOUT,
            Arc::clone(&network.logins).acquire_owned(),
        )
        .await;
        Some(LoginPermit(Some(permit.ok()?.ok()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn enter(pending: &PendingLogins, peer: &str) -> Option<PendingLogin> {
        pending.enter(peer.parse().expect("an address"))
    }

    #[tokio::test(start_paused = true)]
    async fn one_network_leaves_places_for_others() {
        let pending = PendingLogins::default();
        let one = enter(&pending, "192.0.2.1").expect("a place");
        let other = enter(&pending, "192.0.2.2").expect("a place");
        let mut permits = Vec::new();
        for _ in 0..MAX_LOGINS {
            permits.push(one.acquire_login_permit().await.expect("a permit"));
        }

        assert!(one.acquire_login_permit().await.is_none());
        assert!(other.acquire_login_permit().await.is_some());
        permits.pop();
        assert!(one.acquire_login_permit().await.is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn connections_without_a_session_are_bounded() {
        let pending = PendingLogins::default();
        let enter_from = |network: usize, host: usize| {
            enter(&pending, &format!("2001:db8:0:{network:x}::{host:x}"))
        };
        let places =
            |network| -> Vec<_> { (0..).map_while(|host| enter_from(network, host)).collect() };

        let first = places(1);
        assert_eq!(first.len(), MAX_OPEN_OF_NETWORK);
        let others: Vec<_> = (2..=5).flat_map(places).collect();
        assert_eq!(first.len() + others.len(), MAX_OPEN);
        drop(first);
        assert!(enter_from(1, 0).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn logins_of_this_machine_do_not_wait() {
        let pending = PendingLogins::default();
        let mut open = Vec::new();
        for _ in 0..MAX_OPEN {
            let pending_login = enter(&pending, "::ffff:127.0.0.1").expect("a place");
            let permit = pending_login
                .acquire_login_permit()
                .await
                .expect("a permit");
            open.push((pending_login, permit));
        }
        assert!(enter(&pending, "127.0.0.1").is_none());
        assert!(enter(&pending, "192.0.2.1").is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn untrusted_clients_of_this_machine_are_queued() {
        let pending = PendingLogins::default();
        let address = "127.80.76.73".parse().expect("an address");
        let mut open = Vec::new();
        while let Some(untrusted) = pending.enter_untrusted(address) {
            open.push(untrusted);
        }
        assert_eq!(open.len(), MAX_OPEN_OF_NETWORK);
        let mut permits = Vec::new();
        for untrusted in &open[..MAX_LOGINS] {
            permits.push(untrusted.acquire_login_permit().await.expect("a permit"));
        }
        assert!(open[MAX_LOGINS].acquire_login_permit().await.is_none());

        let trusted = enter(&pending, "127.0.0.1").expect("a place");
        assert!(trusted.acquire_login_permit().await.is_some());
    }

    #[test]
    fn networks_without_connections_are_removed() {
        let pending = PendingLogins::default();
        for number in 1..100 {
            drop(enter(&pending, &format!("192.0.2.{number}")));
        }
        assert_eq!(pending.networks.lock().expect("not poisoned").len(), 1);
    }
}
