//! What the server has acknowledged, and since when it acknowledges again after a kill.

use std::{
    collections::BTreeMap,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use anyhow::bail;

/// A kind of request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Row,
    File,
    Session,
    Call,
}

pub(super) const KINDS: [Kind; 4] = [Kind::Row, Kind::File, Kind::Session, Kind::Call];

impl Kind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::Row => "rows",
            Kind::File => "files",
            Kind::Session => "sessions",
            Kind::Call => "function",
        }
    }
}

/// Shared by all clients.
pub(super) struct Acknowledged {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Ids, and when their inserts were sent.
    rows: Vec<(Instant, i64)>,
    files: Vec<String>,
    /// By session: its latest refresh token that a client has.
    sessions: BTreeMap<u64, String>,
    counts: [u64; KINDS.len()],
    failures: BTreeMap<String, u64>,
    /// When the processes that were killed last had ended.
    ended_at: Option<Instant>,
    recovered_at: [Option<Instant>; KINDS.len()],
}

impl State {
    fn is_after_kill(&self, sent_at: Instant) -> bool {
        self.ended_at.is_some_and(|ended_at| sent_at >= ended_at)
    }
}

/// A successful response's content.
pub(super) enum Success {
    Row(i64),
    File(String),
    Session { number: u64, refresh_token: String },
    Call,
}

impl Success {
    fn kind(&self) -> Kind {
        match self {
            Success::Row(_) => Kind::Row,
            Success::File(_) => Kind::File,
            Success::Session { .. } => Kind::Session,
            Success::Call => Kind::Call,
        }
    }
}

impl Acknowledged {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::default(),
            changed: Condvar::new(),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A request sent at this time was acknowledged.
    pub(super) fn record(&self, sent_at: Instant, success: Success) {
        let now = Instant::now();
        let mut state = self.state();
        let kind = success.kind() as usize;
        match success {
            Success::Row(id) => state.rows.push((sent_at, id)),
            Success::File(name) => state.files.push(name),
            Success::Session {
                number,
                refresh_token,
            } => _ = state.sessions.insert(number, refresh_token),
            Success::Call => {}
        }
        state.counts[kind] += 1;
        if state.is_after_kill(sent_at) {
            state.recovered_at[kind].get_or_insert(now);
        }
        drop(state);
        self.changed.notify_all();
    }

    /// A request sent at this time was not acknowledged.
    pub(super) fn record_failure(&self, sent_at: Instant, kind: Kind, how: &str) {
        let failure = format!("{} {how}", kind.name());
        let mut state = self.state();
        *state.failures.entry(failure).or_default() += 1;
        if state.is_after_kill(sent_at) {
            state.recovered_at[kind as usize] = None;
        }
    }

    /// The processes have ended: from now on, successes are recoveries.
    pub(super) fn expect_recovery(&self) {
        let mut state = self.state();
        state.ended_at = Some(Instant::now());
        state.recovered_at = [None; KINDS.len()];
    }

    /// Waits for a success of each kind that was sent after the end of the processes, and after which
    /// none has failed so far; when each came.
    pub(super) fn wait_for_recovery(
        &self,
        timeout: Duration,
    ) -> anyhow::Result<[Instant; KINDS.len()]> {
        let recovered = |state: &State| {
            let [rows, files, sessions, calls] = state.recovered_at;
            Some([rows?, files?, sessions?, calls?])
        };
        self.wait(timeout, recovered)
    }

    /// Waits until so many more requests of each kind were acknowledged.
    pub(super) fn wait_for_more(&self, more: u64, timeout: Duration) -> anyhow::Result<()> {
        let goal = self.state().counts.map(|count| count + more);
        self.wait(timeout, |state| {
            let is_reached = state
                .counts
                .iter()
                .zip(goal)
                .all(|(count, goal)| *count >= goal);
            is_reached.then_some(())
        })
    }

    fn wait<T>(&self, timeout: Duration, done: impl Fn(&State) -> Option<T>) -> anyhow::Result<T> {
        let end = Instant::now() + timeout;
        let mut state = self.state();
        loop {
            if let Some(result) = done(&state) {
                return Ok(result);
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                bail!(
                    "no success of every kind within {timeout:?}: {:?}, failures {:?}",
                    state.counts,
                    state.failures
                );
            }
            state = match self.changed.wait_timeout(state, left) {
                Ok((state, _)) => state,
                Err(poisoned) => poisoned.into_inner().0,
            };
        }
    }

    pub(super) fn rows(&self) -> Vec<i64> {
        self.state().rows.iter().map(|(_, id)| *id).collect()
    }

    pub(super) fn rows_sent_since(&self, begin: Instant) -> Vec<i64> {
        let state = self.state();
        let sent = state.rows.iter().filter(|(sent_at, _)| *sent_at >= begin);
        sent.map(|(_, id)| *id).collect()
    }

    pub(super) fn files(&self) -> Vec<String> {
        self.state().files.clone()
    }

    pub(super) fn refresh_tokens(&self) -> Vec<String> {
        self.state().sessions.values().cloned().collect()
    }

    pub(super) fn total(&self) -> u64 {
        self.state().counts.iter().sum()
    }

    /// Failures and how often they came.
    pub(super) fn failures(&self) -> String {
        let state = self.state();
        let failures = state
            .failures
            .iter()
            .map(|(how, count)| format!("{how}: {count}"));
        failures.collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Duration = Duration::from_millis(20);

    #[test]
    fn only_requests_after_the_kill_show_recovery() {
        let acknowledged = Acknowledged::new();
        let before = Instant::now();
        acknowledged.expect_recovery();
        let all = |sent_at| {
            acknowledged.record(sent_at, Success::Row(1));
            acknowledged.record(sent_at, Success::File("a".to_owned()));
            let refresh_token = "t".to_owned();
            acknowledged.record(
                sent_at,
                Success::Session {
                    number: 1,
                    refresh_token,
                },
            );
            acknowledged.record(sent_at, Success::Call);
        };

        all(before);
        assert!(acknowledged.wait_for_recovery(SOON).is_err());
        all(Instant::now());
        assert!(acknowledged.wait_for_recovery(SOON).is_ok());
        assert_eq!(acknowledged.total(), 8);
        assert_eq!(acknowledged.refresh_tokens(), ["t"]);
    }

    #[test]
    fn a_kind_is_back_with_the_first_success_after_the_last_failure() {
        let acknowledged = Acknowledged::new();
        let before = Instant::now();
        acknowledged.expect_recovery();
        let row = |sent_at| acknowledged.record(sent_at, Success::Row(1));
        let recovered_at = || acknowledged.state().recovered_at[Kind::Row as usize];

        row(Instant::now());
        let first = recovered_at();
        acknowledged.record_failure(before, Kind::Row, "late");
        assert_eq!(recovered_at(), first, "it was sent before the kill");
        acknowledged.record_failure(Instant::now(), Kind::Row, "503");
        assert_eq!(recovered_at(), None);
        row(Instant::now());
        assert!(recovered_at() > first);
    }

    #[test]
    fn rows_are_known_by_when_they_were_sent() {
        let acknowledged = Acknowledged::new();
        let earlier = Instant::now();
        let begin = earlier + Duration::from_millis(1);
        acknowledged.record(earlier, Success::Row(1));
        acknowledged.record(begin, Success::Row(2));

        assert_eq!(acknowledged.rows(), [1, 2]);
        assert_eq!(acknowledged.rows_sent_since(begin), [2]);
    }

    #[test]
    fn waiting_for_more_names_what_failed() {
        let acknowledged = Acknowledged::new();
        acknowledged.record_failure(Instant::now(), Kind::Row, "503");
        let error = acknowledged
            .wait_for_more(1, SOON)
            .expect_err("nothing came");
        assert!(error.to_string().contains("rows 503"), "{error}");
    }
}
