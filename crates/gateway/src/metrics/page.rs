//! The text of `/metrics`: recorded metrics, and values sampled now.

use std::fmt::Write;

use plinth_log::LogStore;
use plinth_project::Project;

use super::{Metrics, process::Process};

/// `projects` are the open ones; only those have pools.
pub(crate) fn render(metrics: Option<&Metrics>, logs: &LogStore, projects: &[Project]) -> String {
    let mut page = Page(metrics.map(Metrics::render).unwrap_or_default());
    add_process(&mut page, &Process::read());
    add_logs(&mut page, logs);
    add_pools(&mut page, projects);
    page.0
}

struct Page(String);

impl Page {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        // Writing to a string cannot fail.
        let _ = write!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    /// Label values are refs and fixed words, which need no escaping.
    fn sample(&mut self, name: &str, labels: &str, value: impl std::fmt::Display) {
        let _ = writeln!(self.0, "{name}{labels} {value}");
    }

    fn single(&mut self, name: &str, kind: &str, help: &str, value: impl std::fmt::Display) {
        self.family(name, kind, help);
        self.sample(name, "", value);
    }
}

fn add_process(page: &mut Page, process: &Process) {
    let name = "process_cpu_seconds_total";
    page.single(name, "counter", "Processor time used.", process.cpu_seconds);
    if let Some(bytes) = process.resident_bytes {
        let name = "process_resident_memory_bytes";
        page.single(name, "gauge", "Resident memory.", bytes);
    }
    if let Some(count) = process.open_fds {
        page.single("process_open_fds", "gauge", "Open file descriptors.", count);
    }
}

fn add_logs(page: &mut Page, logs: &LogStore) {
    let status = logs.status();
    let counters = [
        (
            "plinth_log_records_written_total",
            "Log records written to the log store.",
            status.written,
        ),
        (
            "plinth_log_records_dropped_total",
            "Log records dropped because the queue was full or the disk failed.",
            status.dropped,
        ),
    ];
    for (name, help, value) in counters {
        page.single(name, "counter", help, value);
    }
    let name = "plinth_log_bytes";
    page.single(
        name,
        "gauge",
        "Size of the log store on disk.",
        status.bytes_on_disk,
    );
}

fn add_pools(page: &mut Page, projects: &[Project]) {
    page.single(
        "plinth_open_projects",
        "gauge",
        "Projects that are open on this node.",
        projects.len(),
    );
    let name = "plinth_pool_connections";
    page.family(
        name,
        "gauge",
        "Pooled database connections for callers, by state.",
    );
    for project in projects {
        let Some(usage) = project.db.usage() else {
            continue;
        };
        let states = [
            ("open", usage.open),
            ("in_use", usage.in_use),
            ("waiting", usage.waiting),
            ("max", usage.max),
        ];
        for (state, count) in states {
            let reference = project.reference();
            let labels = format!("{{project=\"{reference}\",state=\"{state}\"}}");
            page.sample(name, &labels, count);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metric_is_documented() {
        let documented = include_str!("../../../../docs/metrics.md");
        let code = [include_str!("page.rs"), include_str!("mod.rs")];
        let names: Vec<&str> = code
            .iter()
            .flat_map(|code| code.split('"'))
            .filter(|text| text.starts_with("plinth_") || text.starts_with("process_"))
            .filter(|text| text.chars().all(|c| c.is_ascii_lowercase() || c == '_'))
            .filter(|text| !text.ends_with('_'))
            .collect();
        assert!(names.len() > 10, "{names:?}");
        for name in names {
            assert!(
                documented.contains(&format!("`{name}`")),
                "{name} is missing"
            );
        }
    }

    #[test]
    fn the_page_is_prometheus_text() {
        let folder = tempfile::tempdir().expect("a folder");
        let (logs, _writer) = LogStore::open(folder.path(), plinth_log::Config::default())
            .expect("a store opens in an empty folder");

        let page = render(None, &logs, &[]);

        assert!(page.contains("# TYPE process_cpu_seconds_total counter\n"));
        assert!(
            page.contains("\nplinth_log_records_dropped_total 0\n"),
            "{page}"
        );
        assert!(page.contains("\nplinth_open_projects 0\n"));
        for line in page.lines().filter(|line| !line.starts_with('#')) {
            let (_, value) = line.rsplit_once(' ').expect("a name and a value");
            assert!(value.parse::<f64>().is_ok(), "{line}");
        }
    }
}
