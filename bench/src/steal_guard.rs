//! Repeats runs in which the hypervisor took too much processor time (steal time).
//!
//! On a virtual machine the host may give the processors to other machines for seconds at a time. Both sides
//! suffer from that, but not equally, so such a run is repeated, up to a limit.

use std::fs;

/// A run with a larger share of steal time is repeated.
const MAX_STEAL_SHARE: f64 = 0.03;

/// Counts the repetitions.
pub(crate) struct StealGuard {
    repeated: u32,
    max_repeats: u32,
}

impl StealGuard {
    /// At most `max_repeats` repetitions in all.
    pub(crate) fn new(max_repeats: u32) -> Self {
        Self {
            repeated: 0,
            max_repeats,
        }
    }

    /// The result of an undisturbed run, or of any run once `max_repeats` is used up.
    pub(crate) fn take<T>(
        &mut self,
        mut run: impl FnMut() -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        loop {
            let before = StealTime::so_far();
            let result = run()?;
            if StealTime::so_far().share_since(&before) <= MAX_STEAL_SHARE
                || self.repeated >= self.max_repeats
            {
                return Ok(result);
            }
            self.repeated += 1;
        }
    }

    /// A sentence for the report.
    pub(crate) fn sentence(&self) -> String {
        let Self {
            repeated,
            max_repeats,
        } = self;
        let percent = MAX_STEAL_SHARE * 100.0;
        let outcome = match repeated {
            0 => "none was".to_owned(),
            _ if repeated >= max_repeats => {
                format!("{repeated} were, then the limit was reached and any run counted")
            }
            _ => format!("{repeated} were"),
        };
        format!(
            "runs that lost more than {percent:.0} % of the processors' time to the host are \
             repeated: {outcome}"
        )
    }
}

/// Steal time and total time, in ticks since boot.
#[derive(Debug, PartialEq)]
struct StealTime {
    stolen: f64,
    all: f64,
}

impl StealTime {
    fn so_far() -> Self {
        let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
        parse(&stat).unwrap_or(Self {
            stolen: 0.0,
            all: 0.0,
        })
    }

    fn share_since(&self, before: &Self) -> f64 {
        let all = self.all - before.all;
        if all > 0.0 {
            (self.stolen - before.stolen) / all
        } else {
            0.0
        }
    }
}

/// The first line covers all processors; its eighth number is steal time. The two after it are contained in
/// others.
fn parse(stat: &str) -> Option<StealTime> {
    let line = stat.lines().next()?.strip_prefix("cpu ")?;
    let ticks: Vec<f64> = line
        .split_whitespace()
        .map_while(|number| number.parse().ok())
        .collect();
    Some(StealTime {
        stolen: *ticks.get(7)?,
        all: ticks[..8].iter().sum(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_is_of_all_time() {
        let before = parse("cpu  10 0 10 70 0 0 0 10 0 0\ncpu0 1 2\n").expect("a line");
        let after = parse("cpu  60 0 20 100 0 0 0 20 50 0\n").expect("a line");

        assert_eq!(after.share_since(&before), 0.1);
        assert_eq!(before.share_since(&before), 0.0);
        assert_eq!(parse("cpu  1 2 3\n"), None);
    }

    #[test]
    fn repeats_are_limited() {
        let mut steal_guard = StealGuard::new(0);
        let mut runs = 0;

        let stolen = steal_guard.take(|| {
            runs += 1;
            Ok(runs)
        });

        assert_eq!(stolen.expect("a result"), 1);
        assert!(steal_guard.sentence().ends_with("none was"));
    }
}
