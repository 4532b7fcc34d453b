//! Whether a million users make anything slower: one client at a time, few and many users by
//! turns.

use std::{path::Path, time::Instant};

use anyhow::Context as _;
use hdrhistogram::Histogram;

use super::{
    Options, people,
    sides::{Keys, Program, Side},
    talk::{Talk, Wish, spread},
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
const MOST_CHANGE: f64 = 1.2;

/// What is asked for, and how often in a round. Hashing a password takes long by itself.
const WISHES: [(Wish, u64); 9] = [
    (Wish::Refresh, 150),
    (Wish::GetUser, 150),
    (Wish::SignIn, 20),
    (Wish::SignUp, 20),
    (Wish::Recover, 100),
    (Wish::Verify, 100),
    (Wish::ListUsers, 50),
    (Wish::Leaf, 50),
    (Wish::Search, 100),
];

/// How often few and many take turns within a round.
const TURNS: u64 = 5;
/// How many sessions are refreshed and used.
const SESSIONS: u64 = 150;

/// A database and who serves it.
struct Population<'a> {
    databases: &'a Databases,
    name: &'static str,
    count: u64,
    program: Program,
    /// Whose sessions are used, with what they remember.
    sessions: Option<Talk>,
    /// Everybody new has a number of their own.
    newcomers: u64,
    /// How often people were drawn.
    drawn: u64,
}

/// Latencies of one wish, by number of users.
pub(crate) struct Compared {
    wish: Wish,
    few: Vec<Sample>,
    many: Vec<Sample>,
}

/// All wishes with few users and with many.
pub(crate) fn measure(
    options: &Options,
    keys: &Keys,
    plinth: &Path,
    databases: &Databases,
) -> anyhow::Result<Vec<Compared>> {
    let populate = |name, count| Population::new(databases, keys, plinth, name, count);
    let mut few = populate("few", FEW)?;
    let mut many = populate("many", options.users)?;
    let mut compared: Vec<Compared> = WISHES
        .iter()
        .map(|(wish, _)| Compared::new(*wish))
        .collect();
    eprintln!("{FEW} and {} users:", options.users);
    // The first round warms up and is not counted.
    for round in 0..=options.rounds {
        let mut told = format!("  round {round}:");
        for (compared, (wish, count)) in compared.iter_mut().zip(WISHES) {
            let samples = by_turns(&mut few, &mut many, wish, count)?;
            told.push_str(&format!(
                " {} {:.2} and {:.2} ms,",
                wish.what(),
                samples[0].p50_ms,
                samples[1].p50_ms
            ));
            if round > 0 {
                let [of_few, of_many] = samples;
                compared.few.push(of_few);
                compared.many.push(of_many);
            }
        }
        eprintln!("{}", told.trim_end_matches(','));
    }
    Ok(compared)
}

/// A few requests each in turn, so that both meet the same noise.
fn by_turns<'a>(
    few: &mut Population<'a>,
    many: &mut Population<'a>,
    wish: Wish,
    requests: u64,
) -> anyhow::Result<[Sample; 2]> {
    let begun = Instant::now();
    let mut times = [Histogram::new(3)?, Histogram::new(3)?];
    for _ in 0..TURNS {
        for (population, times) in [&mut *few, &mut *many].into_iter().zip(&mut times) {
            times.add(population.ask(wish, requests / TURNS)?)?;
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
        people::fill(databases, name, count)?;
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

    fn ask(&mut self, wish: Wish, requests: u64) -> anyhow::Result<Histogram<u64>> {
        let asked = match wish {
            Wish::Refresh | Wish::GetUser => self.in_session(wish, requests),
            _ => {
                let talk = self.strangers(wish, requests)?;
                load::run_alone(self.side().port, talk, requests).map(|(_, times)| times)
            }
        };
        asked.with_context(|| format!("{} with {} users", wish.what(), self.count))
    }

    /// The same people again and again, because their tokens are known.
    fn in_session(&mut self, wish: Wish, requests: u64) -> anyhow::Result<Histogram<u64>> {
        let talk = match self.sessions.take() {
            Some(talk) => talk,
            // Everybody gets an access token first.
            None => {
                let talk = Talk::new(self.side(), Wish::Refresh, spread(0, SESSIONS, self.count));
                load::run_alone(self.side().port, talk, SESSIONS)?.0
            }
        };
        let (talk, times) = load::run_alone(self.side().port, talk.wishing(wish), requests)?;
        self.sessions = Some(talk);
        Ok(times)
    }

    /// Others each time.
    fn strangers(&mut self, wish: Wish, requests: u64) -> anyhow::Result<Talk> {
        self.drawn += 1;
        let drawn = match wish {
            Wish::SignUp => {
                let first = self.newcomers + 1;
                self.newcomers += requests;
                (first..first + requests).collect()
            }
            _ => spread(self.drawn, requests, self.count),
        };
        if wish == Wish::Verify {
            people::expect_code(self.databases, self.name, &drawn)?;
        }
        Ok(Talk::new(self.side(), wish, drawn))
    }

    fn side(&self) -> &Side {
        &self.program.side
    }
}

impl Compared {
    fn new(wish: Wish) -> Self {
        Self {
            wish,
            few: Vec::new(),
            many: Vec::new(),
        }
    }

    /// The medians of all rounds beside each other.
    pub(crate) fn to_measure(&self, users: u64) -> Measure {
        let medians = |samples: &[Sample]| samples.iter().map(|sample| sample.p50_ms).collect();
        Measure::new(
            format!("{users} users: {}, p50", self.wish.what()),
            Unit::Milliseconds,
            medians(&self.many),
            (&format!("{FEW} users"), medians(&self.few)),
            Goal::RatioAtMost(MOST_CHANGE),
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
        let mut row = vec![compared.wish.what().to_owned()];
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
