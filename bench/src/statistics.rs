//! Medians and ranges: what is left of a noisy machine's numbers.

use serde::Serialize;

/// Repeated runs of one measurement.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Summary {
    pub(crate) median: f64,
    pub(crate) min: f64,
    pub(crate) max: f64,
    /// In the order in which they were taken.
    pub(crate) runs: Vec<f64>,
}

impl Summary {
    /// Of at least one run; of none, everything is NaN and so passes no goal.
    pub(crate) fn of(runs: Vec<f64>) -> Self {
        let mut sorted = runs.clone();
        sorted.sort_by(f64::total_cmp);
        Self {
            median: median(&sorted),
            min: sorted.first().copied().unwrap_or(f64::NAN),
            max: sorted.last().copied().unwrap_or(f64::NAN),
            runs,
        }
    }

    /// Run by run, because two runs side by side met the same noise. Whatever one side has more
    /// runs of is left out.
    pub(crate) fn ratios(&self, other: &Summary) -> Summary {
        Summary::of(
            self.runs
                .iter()
                .zip(&other.runs)
                .map(|(a, b)| a / b)
                .collect(),
        )
    }
}

/// How much the second number grows while the first grows by one, by the line that lies closest to
/// all points. NaN for fewer than two.
pub(crate) fn slope(points: &[(f64, f64)]) -> f64 {
    let count = points.len() as f64;
    let mean = |pick: fn(&(f64, f64)) -> f64| points.iter().map(pick).sum::<f64>() / count;
    let (mean_x, mean_y) = (mean(|point| point.0), mean(|point| point.1));
    let sum = |part: &dyn Fn(&(f64, f64)) -> f64| points.iter().map(part).sum::<f64>();
    let run_all = sum(&|(x, y)| (x - mean_x) * (y - mean_y));
    let alone = sum(&|(x, _)| (x - mean_x).powi(2));
    run_all / alone
}

fn median(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => f64::NAN,
        odd if odd % 2 == 1 => sorted[middle],
        _ => f64::midpoint(sorted[middle - 1], sorted[middle]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_outlier_does_not_move_the_median() {
        let summary = Summary::of(vec![3.0, 1.0, 900.0, 2.0, 2.5]);
        assert_eq!(
            (summary.median, summary.min, summary.max),
            (2.5, 1.0, 900.0)
        );
    }

    #[test]
    fn an_even_number_of_runs_has_its_median_in_between() {
        assert_eq!(Summary::of(vec![4.0, 1.0, 2.0, 3.0]).median, 2.5);
    }

    #[test]
    fn ratios_compare_neighbours_and_not_medians() {
        let ours = Summary::of(vec![10.0, 2.0, 30.0]);
        let peer = Summary::of(vec![5.0, 1.0, 10.0]);
        assert_eq!(ours.ratios(&peer).runs, [2.0, 2.0, 3.0]);
    }

    #[test]
    fn a_slope_is_found_through_noise() {
        let rising: Vec<(f64, f64)> = (0..100)
            .map(|n| (f64::from(n), 7.0 + 2.0 * f64::from(n) + f64::from(n % 2)))
            .collect();
        assert!((slope(&rising) - 2.0).abs() < 0.01);
        assert!(slope(&[(0.0, 5.0), (1.0, 5.0)]).abs() < 1e-9);
        assert!(slope(&[(0.0, 5.0)]).is_nan());
    }

    #[test]
    fn no_runs_give_no_number() {
        assert!(Summary::of(Vec::new()).median.is_nan());
    }
}
