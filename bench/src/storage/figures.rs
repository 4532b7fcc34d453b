//! The runs as tables.

use super::{
    bare::BARE,
    large::Large,
    sides::{FULL, REFERENCE},
    small::Work,
    stage::Stage,
};
use crate::{
    report::{Detail, Goal, Measure, Unit},
    run::{self, rates},
};

const OF_BARE: f64 = 0.5;
const OF_LIMIT: f64 = 0.7;
const MAX_MEMORY_MIB: f64 = 80.0;

/// Small files beside the bare program and the reference server.
pub(crate) fn of_stage(stage: &Stage) -> Vec<Measure> {
    let compare = |(peer, theirs): (&str, Vec<f64>), goal| {
        Measure::new(
            format!("{FULL}: {}", stage.title()),
            Unit::RequestsPerSecond,
            rates(&stage.full),
            (peer, theirs),
            goal,
        )
    };
    let (least, of_reference) = match stage.work {
        Work::Download => (3500.0, 10.0),
        Work::Upload => (1200.0, 5.0),
    };
    let beside_bare = Goal::AtLeastOrRatio {
        least,
        ratio: OF_BARE,
    };
    let mut measures = vec![compare((BARE, rates(&stage.bare)), beside_bare)];
    if !stage.reference.is_empty() {
        let goal = Goal::RatioAtLeast(of_reference);
        measures.push(compare((REFERENCE, stage.reference.clone()), goal));
    }
    measures
}

/// A large file beside what the machine can do.
pub(crate) fn of_large(large: &Large, mebibytes: u32) -> Vec<Measure> {
    let compare = |what: &str, ours: &[f64], peer: (&str, Vec<f64>)| {
        Measure::new(
            format!("{FULL}: {what} of {mebibytes} MB"),
            Unit::MebibytesPerSecond,
            ours.to_vec(),
            peer,
            Goal::RatioAtLeast(OF_LIMIT),
        )
    };
    let slower = ("dd or MD5, the slower", large.slower());
    let mut measures = vec![compare("upload", &large.uploads, slower)];
    if !large.nginx.is_empty() {
        let nginx = ("nginx", large.nginx.clone());
        measures.push(compare("download", &large.downloads, nginx));
    }
    measures
}

/// The most that Plinth held during everything.
pub(crate) fn memory(before: f64, most: f64) -> Measure {
    Measure::new(
        format!("{FULL}: RSS, at most"),
        Unit::Mebibytes,
        vec![most],
        ("before the load", vec![before]),
        Goal::AtMost(MAX_MEMORY_MIB),
    )
}

/// Everything that was measured of small files.
pub(crate) fn detail(stage: &Stage) -> Detail {
    let sides = [(BARE, &*stage.bare), (FULL, &*stage.full)];
    Detail {
        title: stage.title(),
        table: run::table(&sides, &[]),
    }
}
