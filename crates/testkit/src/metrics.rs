//! Metrics that tests look at.

use std::sync::OnceLock;

use metrics::LocalRecorderGuard;
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle, PrometheusRecorder};

static PROCESS: OnceLock<PrometheusHandle> = OnceLock::new();

/// Metrics that were recorded since it started.
pub struct RecordedMetrics {
    handle: PrometheusHandle,
    _recorder: Option<LocalRecorderGuard<'static>>,
}

impl RecordedMetrics {
    /// Those of this thread, which is the only one of a plain `#[tokio::test]`.
    pub fn of_thread() -> Self {
        let recorder: &'static PrometheusRecorder =
            Box::leak(Box::new(PrometheusBuilder::new().build_recorder()));
        Self {
            handle: recorder.handle(),
            _recorder: Some(metrics::set_default_local_recorder(recorder)),
        }
    }

    /// Those of the process since the first call; labels must distinguish the tests.
    pub fn of_process() -> Self {
        let install = || {
            let installed = PrometheusBuilder::new().install_recorder();
            installed.expect("no other recorder")
        };
        Self {
            handle: PROCESS.get_or_init(install).clone(),
            _recorder: None,
        }
    }

    /// The value of a metric that has these labels (`name="value"`); 0 if it was never set.
    pub fn value(&self, name: &str, labels: &[&str]) -> f64 {
        let page = self.handle.render();
        let mut lines = page.lines().filter(|line| {
            let rest = line.strip_prefix(name);
            rest.is_some_and(|rest| rest.starts_with(['{', ' ']))
        });
        let line = lines.find(|line| labels.iter().all(|label| line.contains(label)));
        let value = line.and_then(|line| line.rsplit(' ').next());
        value.map_or(0.0, |value| value.parse().expect("a number"))
    }
}
