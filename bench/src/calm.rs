//! Runs during which the machine was ours.
//!
//! On a virtual machine the host may give the processors to others for seconds at a time. Both
//! sides suffer from that, but never equally, so such a run says nothing: it is repeated, as long
//! as there is patience for it.

use std::fs;

/// More than this share of the processors' time taken away makes a run worthless.
const MOST_TAKEN: f64 = 0.03;

/// Counts the repetitions and ends them.
pub(crate) struct Calm {
    repeated: u32,
    patience: u32,
}

impl Calm {
    /// At most `patience` repetitions in all.
    pub(crate) fn new(patience: u32) -> Self {
        Self {
            repeated: 0,
            patience,
        }
    }

    /// The result of a calm run, or of any run once patience is over.
    pub(crate) fn take<T>(
        &mut self,
        mut run: impl FnMut() -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        loop {
            let before = Taken::so_far();
            let result = run()?;
            if Taken::so_far().share_since(&before) <= MOST_TAKEN || self.repeated >= self.patience
            {
                return Ok(result);
            }
            self.repeated += 1;
        }
    }

    /// For the report.
    pub(crate) fn sentence(&self) -> String {
        let Self { repeated, patience } = self;
        let percent = MOST_TAKEN * 100.0;
        let outcome = match repeated {
            0 => "none was".to_owned(),
            _ if repeated >= patience => {
                format!("{repeated} were, then patience was over and any run counted")
            }
            _ => format!("{repeated} were"),
        };
        format!(
            "runs that lost more than {percent:.0} % of the processors' time to the host are \
             repeated: {outcome}"
        )
    }
}

/// What the host gave to others, and all time, in ticks since the machine started.
#[derive(Debug, PartialEq)]
struct Taken {
    taken: f64,
    all: f64,
}

impl Taken {
    fn so_far() -> Self {
        let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
        parse(&stat).unwrap_or(Self {
            taken: 0.0,
            all: 0.0,
        })
    }

    fn share_since(&self, before: &Self) -> f64 {
        let all = self.all - before.all;
        match all > 0.0 {
            true => (self.taken - before.taken) / all,
            false => 0.0,
        }
    }
}

/// The first line is of all processors; its eighth number is what was taken. The two behind it
/// are contained in others.
fn parse(stat: &str) -> Option<Taken> {
    let line = stat.lines().next()?.strip_prefix("cpu ")?;
    let ticks: Vec<f64> = line
        .split_whitespace()
        .map_while(|number| number.parse().ok())
        .collect();
    Some(Taken {
        taken: *ticks.get(7)?,
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
    fn patience_ends() {
        let mut calm = Calm::new(0);
        let mut runs = 0;

        let taken = calm.take(|| {
            runs += 1;
            Ok(runs)
        });

        assert_eq!(taken.expect("a result"), 1);
        assert!(calm.sentence().ends_with("none was"));
    }
}
