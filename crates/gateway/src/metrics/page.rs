//! The text of `/metrics`: what was recorded, and what is read at this moment.

use std::fmt::Write;

use plinth_log::LogStore;
use plinth_project::Project;

use super::{Metrics, process::Process};

/// `projects` are the open ones; closed ones have no pool to speak of.
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

    /// Labels are ours: refs and fixed words, which need no escaping.
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
        page.single(name, "gauge", "Memory that is really held.", bytes);
    }
    if let Some(count) = process.open_fds {
        page.single(
            "process_open_fds",
            "gauge",
            "Open files and sockets.",
            count,
        );
    }
}

fn add_logs(page: &mut Page, logs: &LogStore) {
    let status = logs.status();
    let counters = [
        (
            "plinth_log_records_written_total",
            "Log records written.",
            status.written,
        ),
        (
            "plinth_log_records_dropped_total",
            "Log records lost.",
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
        "Space that the log takes on disk.",
        status.bytes_on_disk,
    );
}

fn add_pools(page: &mut Page, projects: &[Project]) {
    page.single(
        "plinth_open_projects",
        "gauge",
        "Projects that are open.",
        projects.len(),
    );
    let name = "plinth_pool_connections";
    page.family(name, "gauge", "Database connections for callers, by state.");
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
