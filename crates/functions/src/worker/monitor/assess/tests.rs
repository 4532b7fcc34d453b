use super::*;

const MIB: u64 = 1 << 20;

fn limits() -> Limits {
    Limits {
        boot: Duration::from_secs(10),
        wait: Duration::from_secs(10),
        request_idle: Duration::from_secs(150),
        wall_clock: Duration::from_secs(400),
        worker_lifetime: None,
        cpu: Duration::from_secs(2),
        memory_bytes: 100 * MIB,
        scratch_bytes: MIB,
        idle: Duration::from_secs(300),
        grace: Duration::from_secs(15),
    }
}

/// A worker whose clock the test moves.
struct Worker {
    history: History,
    sample: Sample,
    limits: Limits,
}

impl Worker {
    /// One request is in flight, and began just now.
    fn busy() -> Self {
        let now = Instant::now();
        let sample = Sample {
            now,
            usage: Usage::default(),
            in_flight: 1,
            admitted: 1,
            oldest_request: Some(now),
            idle_for: None,
            is_kept_warm: false,
        };
        Self {
            history: History::new(now),
            sample,
            limits: limits(),
        }
    }

    fn idle() -> Self {
        let mut worker = Self::busy();
        worker.finish_requests();
        worker
    }

    fn finish_requests(&mut self) {
        self.sample.in_flight = 0;
        self.sample.oldest_request = None;
        self.sample.idle_for = Some(Duration::ZERO);
    }

    /// Time goes by, of which the worker uses the processor for a part.
    fn advance(&mut self, time: Duration, cpu: Duration) -> &mut Self {
        self.sample.now += time;
        self.sample.usage.cpu += cpu;
        self.sample.idle_for = self.sample.idle_for.map(|idle| idle + time);
        self
    }

    /// As the monitor does it: what was decided is carried out.
    fn assess(&mut self) -> Assessment {
        self.history.note_sample(&self.sample);
        let assessment = assess(&self.history, &self.sample, &self.limits);
        if assessment.closes_for_silence {
            self.history.note_closed_for_silence();
        }
        if assessment.sends_ping {
            self.history.note_ping(&self.sample);
        }
        match assessment.action {
            Action::None => {}
            Action::Retire { reason, within } => {
                let within = within.unwrap_or(self.limits.wall_clock * 2);
                self.history.note_retiring(reason, self.sample.now + within);
            }
            Action::AskToExit => self.history.note_asked_to_exit(),
            Action::Kill(reason) => self.history.killed_for = Some(reason),
        }
        assessment
    }

    fn action(&mut self) -> Action {
        self.assess().action
    }

    fn pong(&mut self) {
        let report = Report {
            pong: Some(1),
            ..self.history.report
        };
        self.history.note_report(report, self.sample.now);
    }

    /// What it was given to `waitUntil`, so many milliseconds ago.
    fn report_work(&mut self, milliseconds: u64) {
        let report = Report {
            pong: Some(1),
            pending: 1,
            oldest: milliseconds,
            newest: milliseconds,
            ..Report::default()
        };
        self.history.note_report(report, self.sample.now);
    }
}

fn retire(reason: ShutdownReason) -> Action {
    Action::Retire {
        reason,
        within: None,
    }
}

const SECOND: Duration = Duration::from_secs(1);
const NOTHING: Duration = Duration::ZERO;

#[test]
fn memory_retires_before_it_kills() {
    let mut worker = Worker::busy();
    worker.sample.usage.resident_bytes = 89 * MIB;
    assert_eq!(worker.action(), Action::None);
    worker.sample.usage.resident_bytes = 90 * MIB;
    assert_eq!(worker.action(), retire(ShutdownReason::Memory));
    assert_eq!(worker.action(), Action::None, "once");
    worker.sample.usage.resident_bytes = 100 * MIB;
    assert_eq!(worker.action(), Action::Kill(ShutdownReason::Memory));
}

#[test]
fn a_single_request_retires_at_half_of_its_cpu_time() {
    let mut worker = Worker::busy();
    assert_eq!(worker.action(), Action::None);
    worker.advance(SECOND / 2, SECOND / 2);
    assert_eq!(worker.action(), Action::None);
    worker.advance(SECOND / 2, SECOND / 2);
    assert_eq!(worker.action(), retire(ShutdownReason::Cpu));
    worker.advance(SECOND, SECOND);
    assert_eq!(worker.action(), Action::Kill(ShutdownReason::Cpu));
}

#[test]
fn several_requests_at_once_do_not_share_their_cpu_time() {
    let mut worker = Worker::busy();
    (worker.sample.in_flight, worker.sample.admitted) = (3, 3);
    assert!(worker.assess().action == Action::None);

    for _ in 0..10 {
        worker.advance(SECOND, SECOND);
        assert_eq!(worker.action(), Action::None);
        worker.pong();
    }
}

#[test]
fn a_busy_worker_is_pinged_and_an_idle_one_is_not() {
    let mut worker = Worker::busy();
    assert!(!worker.assess().sends_ping, "not at once");
    worker.advance(PING_INTERVAL, NOTHING);
    assert!(worker.assess().sends_ping);
    worker.advance(PING_INTERVAL, NOTHING);
    assert!(!worker.assess().sends_ping, "one at a time");
    worker.pong();
    assert!(worker.assess().sends_ping);

    let mut worker = Worker::idle();
    assert!(!worker.advance(PING_INTERVAL, NOTHING).assess().sends_ping);
}

/// Busy with several requests, and pinged just now.
fn pinged() -> Worker {
    let mut worker = Worker::busy();
    (worker.sample.in_flight, worker.sample.admitted) = (3, 3);
    assert!(worker.advance(PING_INTERVAL, NOTHING).assess().sends_ping);
    worker
}

#[test]
fn a_worker_lags_where_it_is_busy_itself_or_silent_for_long() {
    let lags = |time, cpu| pinged().advance(time, cpu).assess().is_lagging;

    assert!(!lags(LAG_THRESHOLD, NOTHING), "the machine is busy");
    assert!(lags(LAG_THRESHOLD, LAG_THRESHOLD));
    assert!(lags(SILENCE_THRESHOLD, NOTHING));
}

#[test]
fn a_silent_worker_has_the_cpu_time_of_all_its_requests() {
    let mut worker = pinged();
    let assessment = worker.advance(SECOND, SECOND).assess();
    assert_eq!(assessment.action, Action::None);
    assert!(assessment.closes_for_silence);
    assert_eq!(
        worker.advance(SECOND * 4, SECOND * 4).action(),
        Action::None
    );
    assert_eq!(
        worker.advance(SECOND, SECOND).action(),
        Action::Kill(ShutdownReason::Cpu)
    );
}

#[test]
fn a_worker_that_recovers_from_silence_retires() {
    let mut worker = pinged();
    assert!(worker.advance(SECOND, SECOND).assess().closes_for_silence);
    assert_eq!(worker.action(), Action::None);
    worker.pong();
    assert_eq!(worker.action(), retire(ShutdownReason::Cpu));
}

#[test]
fn a_worker_that_never_replies_to_a_ping_retires_without_using_the_processor() {
    let mut worker = pinged();
    worker.advance(UNRESPONSIVE_TIMEOUT - SECOND, NOTHING);
    assert_eq!(worker.action(), Action::None);
    assert_eq!(
        worker.advance(SECOND, NOTHING).action(),
        retire(ShutdownReason::WallClock)
    );
}

#[test]
fn a_request_that_is_nearly_late_retires_its_worker() {
    let mut worker = Worker::busy();
    worker.limits.wall_clock = SECOND * 10;
    assert_eq!(worker.advance(SECOND * 8, NOTHING).action(), Action::None);
    worker.pong();
    assert_eq!(
        worker.advance(SECOND, NOTHING).action(),
        retire(ShutdownReason::WallClock)
    );
}

#[test]
fn late_work_after_a_response_is_killed_only_without_requests() {
    let mut worker = Worker::busy();
    worker.report_work(400_000);
    assert_eq!(worker.action(), retire(ShutdownReason::WallClock));
    assert_eq!(worker.action(), Action::None, "a request is in flight");
    worker.finish_requests();
    worker.sample.idle_for = None;
    assert_eq!(worker.action(), Action::Kill(ShutdownReason::WallClock));
}

#[test]
fn a_lifetime_retires_at_its_half() {
    let mut worker = Worker::idle();
    worker.limits.worker_lifetime = Some(SECOND * 60);
    assert_eq!(worker.advance(SECOND * 29, NOTHING).action(), Action::None);
    let half = Action::Retire {
        reason: ShutdownReason::WallClock,
        within: Some(SECOND * 30),
    };
    assert_eq!(worker.advance(SECOND, NOTHING).action(), half);
    worker.advance(SECOND * 30, NOTHING);
    assert_eq!(worker.action(), Action::Kill(ShutdownReason::WallClock));
}

#[test]
fn an_idle_worker_retires_unless_it_is_kept_warm() {
    let mut worker = Worker::idle();
    assert_eq!(worker.advance(SECOND * 299, NOTHING).action(), Action::None);
    worker.sample.is_kept_warm = true;
    let assessment = worker.advance(SECOND, NOTHING).assess();
    assert_eq!(assessment.action, Action::None);
    assert!(assessment.holds_project);
    worker.sample.is_kept_warm = false;
    let assessment = worker.assess();
    assert_eq!(assessment.action, retire(ShutdownReason::EarlyDrop));
    assert!(!assessment.holds_project);
}

#[test]
fn a_retiring_worker_is_asked_to_exit_when_its_requests_are_finished() {
    let mut worker = Worker::busy();
    let deadline = worker.sample.now + SECOND * 100;
    assert!(
        worker
            .history
            .note_retiring(ShutdownReason::Termination, deadline)
    );
    assert_eq!(worker.action(), Action::None);
    worker.finish_requests();
    assert_eq!(worker.action(), Action::AskToExit);
    assert_eq!(worker.action(), Action::None, "once");
    worker.advance(worker.limits.grace, NOTHING);
    assert_eq!(
        worker.action(),
        Action::Kill(ShutdownReason::Termination),
        "stuck"
    );
}

#[test]
fn a_retiring_worker_is_killed_at_the_earliest_of_its_deadlines() {
    let mut worker = Worker::busy();
    let in_seconds = |seconds| worker.sample.now + SECOND * seconds;
    let (late, early) = (in_seconds(100), in_seconds(5));
    assert!(
        worker
            .history
            .note_retiring(ShutdownReason::EarlyDrop, late)
    );
    assert!(
        !worker
            .history
            .note_retiring(ShutdownReason::Termination, early)
    );
    assert!(
        !worker
            .history
            .note_retiring(ShutdownReason::Termination, late)
    );
    assert_eq!(worker.advance(SECOND * 4, NOTHING).action(), Action::None);
    worker.pong();
    assert_eq!(
        worker.advance(SECOND, NOTHING).action(),
        Action::Kill(ShutdownReason::EarlyDrop)
    );
}
