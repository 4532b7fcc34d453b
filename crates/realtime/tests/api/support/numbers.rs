//! What the service counts, by project: tests of one process do not disturb each other.

use std::{sync::OnceLock, time::Duration};

use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};

use super::TestRealtime;

const PATIENCE: Duration = Duration::from_secs(20);

static RECORDER: OnceLock<PrometheusHandle> = OnceLock::new();

/// From now on everything in this process is counted.
pub(super) fn record() {
    recorder();
}

fn recorder() -> &'static PrometheusHandle {
    RECORDER.get_or_init(|| {
        let builder = PrometheusBuilder::new();
        builder.install_recorder().expect("no other recorder")
    })
}

impl TestRealtime {
    /// A number of this project; nothing is counted as zero.
    pub(crate) fn number(&self, name: &str) -> f64 {
        self.number_with(name, "")
    }

    /// The same, of the line that has this label as well.
    pub(crate) fn number_with(&self, name: &str, label: &str) -> f64 {
        let start = format!("{name}{{");
        let own = format!("project=\"{}\"", self.project.reference());
        let page = recorder().render();
        let line = page
            .lines()
            .find(|line| line.starts_with(&start) && line.contains(&own) && line.contains(label));
        let value = line.and_then(|line| line.rsplit(' ').next()?.parse().ok());
        value.unwrap_or_default()
    }

    /// Waits until a number is as expected.
    pub(crate) async fn until_number(&self, name: &str, is_expected: impl Fn(f64) -> bool) {
        let waiting = async {
            while !is_expected(self.number(name)) {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let waited = tokio::time::timeout(PATIENCE, waiting).await;
        assert!(waited.is_ok(), "{name} is {}", self.number(name));
    }
}
