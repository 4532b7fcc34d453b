//! Metrics of one project, so that tests in one process do not disturb each other.

use plinth_testkit::{RecordedMetrics, until};

use super::TestRealtime;

impl TestRealtime {
    /// The value of a metric of this project; zero if it was never set.
    pub(crate) fn metric(&self, name: &str) -> f64 {
        self.metric_with(name, "")
    }

    /// The same with a further label, as it stands in the text format.
    pub(crate) fn metric_with(&self, name: &str, label: &str) -> f64 {
        let own = format!("project=\"{}\"", self.project.reference());
        RecordedMetrics::of_process().value(name, &[&own, label])
    }

    /// Waits until a metric is as expected.
    pub(crate) async fn wait_for_metric(&self, name: &str, is_expected: impl Fn(f64) -> bool) {
        until(async || is_expected(self.metric(name))).await;
    }
}
