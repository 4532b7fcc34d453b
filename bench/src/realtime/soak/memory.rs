//! The server's memory, sampled once a second.

use std::time::Duration;

use tokio::time::{Instant, interval};

use crate::{plot::Plot, processes, statistics::slope};

/// RSS in MiB by seconds.
pub(super) struct Memory(Vec<(f64, f64)>);

impl Memory {
    pub(super) async fn watch(pid: u32, end: Instant) -> anyhow::Result<Self> {
        let begun = Instant::now();
        let mut second = interval(Duration::from_secs(1));
        let mut points = Vec::new();
        while Instant::now() < end {
            second.tick().await;
            points.push((begun.elapsed().as_secs_f64(), processes::rss(pid)?));
        }
        Ok(Self(points))
    }

    pub(super) fn first(&self) -> f64 {
        self.0.first().map_or(f64::NAN, |point| point.1)
    }

    pub(super) fn last(&self) -> f64 {
        self.0.last().map_or(f64::NAN, |point| point.1)
    }

    pub(super) fn most(&self) -> f64 {
        self.0.iter().map(|point| point.1).fold(f64::NAN, f64::max)
    }

    /// The first half includes filling caches and pools.
    fn second_half(&self) -> &[(f64, f64)] {
        &self.0[self.0.len() / 2..]
    }

    /// In MiB over all of it.
    pub(super) fn growth_of_second_half(&self) -> f64 {
        let half = self.second_half();
        let (Some(first), Some(last)) = (half.first(), half.last()) else {
            return f64::NAN;
        };
        slope(half) * (last.0 - first.0)
    }

    pub(super) fn plot(&self) -> Plot {
        let half = self.second_half();
        let middle = |pick: fn(&(f64, f64)) -> f64| {
            half.iter().map(pick).sum::<f64>() / half.len().max(1) as f64
        };
        let (x, y) = (middle(|point| point.0), middle(|point| point.1));
        let trend = match (half.first(), half.last()) {
            (Some(first), Some(last)) if half.len() > 1 => {
                let at = |seconds: f64| (seconds, y + slope(half) * (seconds - x));
                Some([at(first.0), at(last.0)])
            }
            _ => None,
        };
        Plot {
            title: "Memory of Plinth (RSS), and the slope of its second half".to_owned(),
            x_title: "seconds",
            y_title: "MB",
            points: self.0.clone(),
            trend,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_second_half_counts() {
        let grows = |n: u32| (f64::from(n), 100.0 + f64::from(n.min(50)));
        let settled = Memory((0..=100).map(grows).collect());
        assert!(settled.growth_of_second_half().abs() < 0.1);
        assert!((settled.first(), settled.last(), settled.most()) == (100.0, 150.0, 150.0));

        let leaks = Memory((0..=100).map(|n| (f64::from(n), f64::from(n))).collect());
        assert!((leaks.growth_of_second_half() - 50.0).abs() < 0.1);
        let [from, to] = leaks.plot().trend.unwrap();
        assert!((from.1 - 50.0).abs() < 0.1 && (to.1 - 100.0).abs() < 0.1);
    }
}
