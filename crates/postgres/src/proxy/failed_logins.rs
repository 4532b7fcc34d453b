//! Slows down who guesses passwords: each failed login as a user from an address is reported later than the
//! one before, and few passwords are checked at a time meanwhile. Valid passwords wait for nothing but guesses
//! for the same user from the same address.

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv6Addr},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, timeout},
};

/// The delay of the first failure; each further one doubles it.
const FIRST_DELAY: Duration = Duration::from_millis(500);
const MAX_DELAY: Duration = Duration::from_secs(10);
/// Passwords that are checked at a time after a failure.
const MAX_CHECKS: usize = 8;
/// Further ones of a network that may wait: together with those above as many as log in at a time, so that
/// none is rejected but those that come while failures are delayed.
const MAX_WAITING: usize = 8;
/// How long they wait.
const CHECK_TIMEOUT: Duration = Duration::from_secs(15);
/// After this time without a failure, none is remembered.
const FAILURE_RETENTION: Duration = Duration::from_secs(600);
const MAX_ENTRIES: usize = 10_000;

/// Failed logins by who tried.
#[derive(Debug, Default)]
pub(super) struct FailedLogins(Mutex<HashMap<Attempt, Failures>>);

/// Who tries to log in: projects whose functions share an address must not slow down each other.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Attempt {
    network: IpAddr,
    user: String,
}

impl Attempt {
    pub(super) fn new(address: IpAddr, user: &str) -> Self {
        Self {
            network: network(address),
            user: user.to_owned(),
        }
    }
}

#[derive(Debug)]
struct Failures {
    count: u32,
    last: Instant,
    checks: Arc<Checks>,
}

#[derive(Debug)]
struct Checks {
    running: Arc<Semaphore>,
    waiting: Semaphore,
}

impl Checks {
    fn new(attempt: &Attempt) -> Self {
        // Behind a proxy on this machine there may be many networks.
        let max_waiting = if attempt.network.is_loopback() {
            Semaphore::MAX_PERMITS
        } else {
            MAX_WAITING
        };
        Self {
            running: Arc::new(Semaphore::new(MAX_CHECKS)),
            waiting: Semaphore::new(max_waiting),
        }
    }
}

/// Too many passwords wait to be checked.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooMany;

impl FailedLogins {
    /// Waits until a password may be checked. Keep the permit until its result was sent.
    pub(super) async fn admit(
        &self,
        attempt: &Attempt,
    ) -> Result<Option<OwnedSemaphorePermit>, TooMany> {
        let Some(checks) = self.checks(attempt) else {
            return Ok(None);
        };
        let running = checks.running.clone();
        if let Ok(permit) = running.clone().try_acquire_owned() {
            return Ok(Some(permit));
        }
        let _waiting = checks.waiting.try_acquire().map_err(|_| TooMany)?;
        match timeout(CHECK_TIMEOUT, running.acquire_owned()).await {
            Ok(permit) => Ok(permit.ok()),
            Err(_) => Err(TooMany),
        }
    }

    /// Records a failure. Returns how many there are, and the delay before it is reported.
    pub(super) fn record(&self, attempt: &Attempt) -> (u32, Duration) {
        let now = Instant::now();
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !entries.contains_key(attempt) {
            evict(&mut entries, now);
        }
        let failures = entries.entry(attempt.clone()).or_insert_with(|| Failures {
            count: 0,
            last: now,
            checks: Arc::new(Checks::new(attempt)),
        });
        if now.duration_since(failures.last) >= FAILURE_RETENTION {
            failures.count = 0;
        }
        failures.count = failures.count.saturating_add(1);
        failures.last = now;
        (failures.count, delay(failures.count))
    }

    /// The permits where there were failures.
    fn checks(&self, attempt: &Attempt) -> Option<Arc<Checks>> {
        let entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let failures = entries.get(attempt)?;
        (failures.last.elapsed() < FAILURE_RETENTION).then(|| failures.checks.clone())
    }
}

/// Makes space for a new entry. If all are recent, the one with the fewest failures goes, so that failures as
/// users that were made up do not push out those of a real one.
fn evict(entries: &mut HashMap<Attempt, Failures>, now: Instant) {
    if entries.len() < MAX_ENTRIES {
        return;
    }
    entries.retain(|_, failures| now.duration_since(failures.last) < FAILURE_RETENTION);
    if entries.len() < MAX_ENTRIES {
        return;
    }
    let least = entries
        .iter()
        .min_by_key(|(_, failures)| (failures.count, failures.last));
    if let Some(attempt) = least.map(|(attempt, _)| attempt.clone()) {
        entries.remove(&attempt);
    }
}

fn delay(failures: u32) -> Duration {
    let doublings = failures.saturating_sub(1).min(16);
    FIRST_DELAY.saturating_mul(1 << doublings).min(MAX_DELAY)
}

/// The address itself, or the /64 of IPv6, which one party has as a whole.
pub(super) fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) if !address.is_loopback() => {
            let [a, b, c, d, ..] = address.segments();
            Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
        }
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));

    fn by(user: &str) -> Attempt {
        Attempt::new(ONE, user)
    }

    #[tokio::test(start_paused = true)]
    async fn each_failure_is_reported_later_than_the_one_before() {
        let failed = FailedLogins::default();

        let delays: Vec<u128> = (0..7)
            .map(|_| failed.record(&by("a")).1.as_millis())
            .collect();

        assert_eq!(delays, [500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000]);
        assert_eq!(failed.record(&by("b")), (1, FIRST_DELAY));
        assert_eq!(delay(u32::MAX), MAX_DELAY);
    }

    #[tokio::test(start_paused = true)]
    async fn few_passwords_are_checked_at_a_time_after_a_failure() {
        let failed = FailedLogins::default();
        assert!(failed.admit(&by("a")).await.expect("admitted").is_none());

        failed.record(&by("a"));
        let mut running = Vec::new();
        for _ in 0..MAX_CHECKS {
            running.push(failed.admit(&by("a")).await.expect("admitted"));
        }

        assert_eq!(failed.admit(&by("a")).await.unwrap_err(), TooMany);
        assert!(failed.admit(&by("b")).await.expect("admitted").is_none());
        running.pop();
        assert!(failed.admit(&by("a")).await.expect("admitted").is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn few_passwords_of_a_network_wait_for_their_check() {
        let failed = Arc::new(FailedLogins::default());
        let admit = |address: IpAddr| {
            let failed = failed.clone();
            async move { failed.admit(&Attempt::new(address, "a")).await.map(drop) }
        };
        for (address, is_bounded) in [(ONE, true), (IpAddr::V6(Ipv6Addr::LOCALHOST), false)] {
            failed.record(&Attempt::new(address, "a"));
            let mut running = Vec::new();
            for _ in 0..MAX_CHECKS {
                running.push(failed.admit(&Attempt::new(address, "a")).await);
            }
            for _ in 0..MAX_WAITING {
                tokio::spawn(admit(address));
            }
            tokio::task::yield_now().await;

            let began = Instant::now();
            assert_eq!(admit(address).await, Err(TooMany));
            assert_eq!(began.elapsed().is_zero(), is_bounded);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn failures_expire_after_a_while() {
        let failed = FailedLogins::default();
        failed.record(&by("a"));
        failed.record(&by("a"));

        tokio::time::advance(FAILURE_RETENTION).await;

        assert!(failed.admit(&by("a")).await.expect("admitted").is_none());
        assert_eq!(failed.record(&by("a")), (1, FIRST_DELAY));
    }

    #[tokio::test(start_paused = true)]
    async fn the_number_of_entries_is_bounded() {
        let failed = FailedLogins::default();
        for number in 0..MAX_ENTRIES + 10 {
            let number = u32::try_from(number).expect("few");
            failed.record(&Attempt::new(IpAddr::V4(number.into()), "a"));
        }
        let entries = failed.0.lock().expect("not poisoned");
        assert_eq!(entries.len(), MAX_ENTRIES);
    }

    #[tokio::test(start_paused = true)]
    async fn users_that_are_made_up_do_not_hide_a_guessed_one() {
        let failed = FailedLogins::default();
        failed.record(&by("postgres"));
        failed.record(&by("postgres"));
        for number in 0..MAX_ENTRIES + 10 {
            failed.record(&by(&number.to_string()));
        }
        assert_eq!(failed.record(&by("postgres")).0, 3);
    }

    #[test]
    fn an_ipv6_network_is_one_party() {
        let parse = |text: &str| text.parse::<IpAddr>().expect("an address");
        assert_eq!(network(parse("2001:db8:1:2:3::4")), parse("2001:db8:1:2::"));
        assert_eq!(network(parse("::ffff:192.0.2.1")), ONE);
    }
}
