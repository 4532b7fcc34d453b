//! What the service counts, seen by one test.

use metrics::LocalRecorderGuard;
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle, PrometheusRecorder};

/// Everything that is counted on this thread, which is all that a test's runtime has.
pub(crate) struct Counted {
    handle: PrometheusHandle,
    _recorder: LocalRecorderGuard<'static>,
}

impl Counted {
    pub(crate) fn start() -> Self {
        let recorder: &'static PrometheusRecorder =
            Box::leak(Box::new(PrometheusBuilder::new().build_recorder()));
        Self {
            handle: recorder.handle(),
            _recorder: metrics::set_default_local_recorder(recorder),
        }
    }

    /// The value of one line, by all that stands before it; 0 where there is none.
    pub(crate) fn value(&self, line: &str) -> f64 {
        let page = self.handle.render();
        let value = page.lines().find_map(|found| found.strip_prefix(line));
        value.map_or(0.0, |value| value.trim().parse().expect("a number"))
    }
}
