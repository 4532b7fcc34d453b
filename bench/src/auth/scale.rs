//! Whether a million users make anything slower: one client at a time, alternating between few and many
//! users.

use std::{path::Path, time::Instant};

use anyhow::Context as _;
use hdrhistogram::Histogram;

use super::{
    Options,
    scripted_client::{Operation, ScriptedClient, spread},
    sides::{Keys, Program, Side},
    users,
};
use crate::{
    databases::Databases,
    load,
    report::{Detail, Goal, Measure, Unit},
    run::Sample,
    statistics::Summary,
    table::Table,
};

/// What the others are measured against.
pub(crate) const FEW: u64 = 1_000;
/// The same with more users may take this much longer.
const MAX_SLOWDOWN: f64 = 1.2;

/// Operations and how often each runs in a round. Hashing a password takes long by itself.
const MEASURED_OPERATIONS: [(Operation, u64); 9] = [
    (Operation::Refresh, 150),
    (Operation::GetUser, 150),
    (Operation::SignIn, 20),
    (Operation::SignUp, 20),
    (Operation::Recover, 100),
    (Operation::Verify, 100),
    (Operation::ListUsers, 50),
    (Operation::Leaf, 50),
    (Operation::Search, 100),
];

/// How often few and many alternate within a round.
const ALTERNATIONS: u64 = 5;
/// How many sessions are refreshed and used.
const SESSIONS: u64 = 150;

/// A database and its server.
struct Population<'a> {
    databases: &'a Databases,
    name: &'static str,
    count: u64,
    program: Program,
    /// Clients with their tokens.
    sessions: Option<ScriptedClient>,
    /// Every new user has a number of their own.
    newcomers: u64,
    /// How often people were drawn.
    drawn: u64,
}

/// Latencies of one operation, by number of users.
pub(crate) struct Compared {
    operation: Operation,
    few: Vec<Sample>,
    many: Vec<Sample>,
}

/// All operations with few users and with many.
pub(crate) fn measure(
    options: &Options,
    keys: &Keys,
    plinth: &Path,
    databases: &Databases,
) -> anyhow::Result<Vec<Compared>> {
    let populate = |name, count| Population::new(databases, keys, plinth, name, count);
    let mut few = populate("few", FEW)?;
    let mut many = populate("many", options.users)?;
    let mut compared: Vec<Compared> = MEASURED_OPERATIONS
        .iter()
        .map(|(operation, _)| Compared::new(*operation))
        .collect();
    eprintln!("{FEW} and {} users:", options.users);
    // The first round warms up and is not counted.
    for round in 0..=options.rounds {
        let mut notes = format!("  round {round}:");
        for (compared, (operation, count)) in compared.iter_mut().zip(MEASURED_OPERATIONS) {
            let samples = interleaved(&mut few, &mut many, operation, count)?;
            notes.push_str(&format!(
                " {} {:.2} and {:.2} ms,",
                operation.what(),
                samples[0].p50_ms,
                samples[1].p50_ms
            ));
            if round > 0 {
                let [of_few, of_many] = samples;
                compared.few.push(of_few);
                compared.many.push(of_many);
            }
        }
        eprintln!("{}", notes.trim_end_matches(','));
    }
    Ok(compared)
}

/// A few requests each in turn, so that both meet the same noise.
fn interleaved<'a>(
    few: &mut Population<'a>,
    many: &mut Population<'a>,
    operation: Operation,
    requests: u64,
) -> anyhow::Result<[Sample; 2]> {
    let begun = Instant::now();
    let mut times = [Histogram::new(3)?, Histogram::new(3)?];
    for _ in 0..ALTERNATIONS {
        for (population, times) in [&mut *few, &mut *many].into_iter().zip(&mut times) {
            times.add(population.measure(operation, requests / ALTERNATIONS)?)?;
        }
    }
    Ok(times.map(|times| Sample::new(&times, begun.elapsed())))
}

impl<'a> Population<'a> {
    fn new(
        databases: &'a Databases,
        keys: &Keys,
        plinth: &Path,
        name: &'static str,
        count: u64,
    ) -> anyhow::Result<Self> {
        eprintln!("filling a database with {count} users ...");
        databases.create(name)?;
        let program = keys.alone(plinth, databases, name)?;
        users::fill(databases, name, count)?;
        Ok(Self {
            databases,
            name,
            count,
            program,
            sessions: None,
            newcomers: count,
            drawn: 0,
        })
    }

    fn measure(&mut self, operation: Operation, requests: u64) -> anyhow::Result<Histogram<u64>> {
        let times = match operation {
            Operation::Refresh | Operation::GetUser => self.in_session(operation, requests),
            _ => {
                let scripted_client = self.other_users(operation, requests)?;
                load::run_alone(self.side().port, scripted_client, requests).map(|(_, times)| times)
            }
        };
        times.with_context(|| format!("{} with {} users", operation.what(), self.count))
    }

    /// The same people again and again, because their tokens are known.
    fn in_session(
        &mut self,
        operation: Operation,
        requests: u64,
    ) -> anyhow::Result<Histogram<u64>> {
        let scripted_client = match self.sessions.take() {
            Some(scripted_client) => scripted_client,
            // Every user gets an access token first.
            None => {
                let scripted_client = ScriptedClient::new(
                    self.side(),
                    Operation::Refresh,
                    spread(0, SESSIONS, self.count),
                );
                load::run_alone(self.side().port, scripted_client, SESSIONS)?.0
            }
        };
        let (scripted_client, times) = load::run_alone(
            self.side().port,
            scripted_client.with_operation(operation),
            requests,
        )?;
        self.sessions = Some(scripted_client);
        Ok(times)
    }

    /// Other users each time.
    fn other_users(
        &mut self,
        operation: Operation,
        requests: u64,
    ) -> anyhow::Result<ScriptedClient> {
        self.drawn += 1;
        let drawn = match operation {
            Operation::SignUp => {
                let first = self.newcomers + 1;
                self.newcomers += requests;
                (first..first + requests).collect()
            }
            _ => spread(self.drawn, requests, self.count),
        };
        if operation == Operation::Verify {
            users::expect_code(self.databases, self.name, &drawn)?;
        }
        Ok(ScriptedClient::new(self.side(), operation, drawn))
    }

    fn side(&self) -> &Side {
        &self.program.side
    }
}

impl Compared {
    fn new(operation: Operation) -> Self {
        Self {
            operation,
            few: Vec::new(),
            many: Vec::new(),
        }
    }

    /// The medians of all rounds beside each other.
    pub(crate) fn to_measure(&self, users: u64) -> Measure {
        let medians = |samples: &[Sample]| samples.iter().map(|sample| sample.p50_ms).collect();
        Measure::new(
            format!("{users} users: {}, p50", self.operation.what()),
            Unit::Milliseconds,
            medians(&self.many),
            (&format!("{FEW} users"), medians(&self.few)),
            Goal::RatioAtMost(MAX_SLOWDOWN),
        )
    }
}

/// Both quantiles of all wishes.
pub(crate) fn to_detail(compared: &[Compared], users: u64) -> Detail {
    let median = |samples: &[Sample], pick: fn(&Sample) -> f64| {
        Summary::of(samples.iter().map(pick).collect()).median
    };
    let rows = compared.iter().map(|compared| {
        let both = |pick: fn(&Sample) -> f64| {
            [&compared.few, &compared.many].map(|samples| median(samples, pick))
        };
        let (p50, p99) = (both(|sample| sample.p50_ms), both(|sample| sample.p99_ms));
        let mut row = vec![compared.operation.what().to_owned()];
        row.extend(
            [p50, p99]
                .into_iter()
                .flatten()
                .map(|ms| format!("{ms:.2}")),
        );
        row.push(format!("{:.2}", p50[1] / p50[0]));
        row
    });
    let many = users.to_string();
    let header = [
        "milliseconds, one client",
        &format!("p50, {FEW} users"),
        &format!("p50, {many} users"),
        &format!("p99, {FEW} users"),
        &format!("p99, {many} users"),
        "p50, ratio",
    ];
    Detail {
        title: format!("{FEW} and {many} users"),
        table: Table::new(&header, rows.collect()),
    }
}
