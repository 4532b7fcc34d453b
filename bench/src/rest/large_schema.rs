//! What a thousand tables cost: `plinth serve rest` is started with a handful of tables and with
//! many, and the difference is the schema cache.

use std::{path::Path, time::Instant};

use super::starting::Starting;
use crate::{
    processes,
    report::{Goal, Measure, Unit},
};

/// The same schema that the tests load.
const TABLES: &str = include_str!("../../../crates/rest/tests/schema_cases/scale.sql");
const GRANT: &str = "grant usage on schema big to anon; grant select on big.entity_0 to anon";

const MAX_LOAD_SECONDS: f64 = 1.0;
const MAX_MEMORY_MIB: f64 = 30.0;

/// Starts with one schema.
#[derive(Default)]
struct Starts {
    seconds: Vec<f64>,
    mebibytes: Vec<f64>,
}

/// Starts with few tables and with many, as often as asked. The tables stay.
pub(crate) fn measure(
    starting: &Starting<'_>,
    plinth: &Path,
    rounds: u16,
) -> anyhow::Result<[Measure; 2]> {
    eprintln!("a thousand tables:");
    let few = Starts::of(starting, plinth, ("public", "/items?limit=1"), rounds)?;
    starting.database.execute(TABLES)?;
    starting.database.execute(GRANT)?;
    let many = Starts::of(starting, plinth, ("big", "/entity_0?limit=1"), rounds)?;
    let beyond = |many: &[f64], few: &[f64]| -> Vec<f64> {
        many.iter().zip(few).map(|(many, few)| many - few).collect()
    };
    Ok([
        Measure::new(
            "plinth serve rest: 1,000 tables, ready later by".to_owned(),
            Unit::Seconds,
            beyond(&many.seconds, &few.seconds),
            ("ready with five tables", few.seconds),
            Goal::AtMost(MAX_LOAD_SECONDS),
        ),
        Measure::new(
            "plinth serve rest: 1,000 tables, RSS more by".to_owned(),
            Unit::Mebibytes,
            beyond(&many.mebibytes, &few.mebibytes),
            ("with five tables", few.mebibytes),
            Goal::AtMost(MAX_MEMORY_MIB),
        ),
    ])
}

impl Starts {
    fn of(
        starting: &Starting<'_>,
        plinth: &Path,
        (schema, path): (&str, &str),
        rounds: u16,
    ) -> anyhow::Result<Self> {
        let mut starts = Self::default();
        for _ in 0..rounds {
            let begun = Instant::now();
            let served = starting.with_schema(plinth, schema, path)?;
            starts.seconds.push(begun.elapsed().as_secs_f64());
            starts.mebibytes.push(processes::peak_rss(served.pid())?);
        }
        Ok(starts)
    }
}
