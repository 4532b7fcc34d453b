//! Description of the machine.

use std::fs;

use serde::Serialize;

/// The machine, as far as numbers depend on it.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Machine {
    pub(crate) cpu: String,
    pub(crate) cores: usize,
    pub(crate) memory_gib: f64,
    pub(crate) kernel: String,
    /// Of the last minute, when the benchmark began: what else was running.
    pub(crate) load_before: String,
}

impl Machine {
    pub(crate) fn detect() -> Self {
        let detected = plinth_postgres::config::Machine::detect();
        let uname = rustix::system::uname();
        let kernel = format!(
            "{} {} {}",
            uname.sysname().to_string_lossy(),
            uname.release().to_string_lossy(),
            uname.machine().to_string_lossy()
        );
        Self {
            cpu: cpu_model(&read("/proc/cpuinfo")),
            cores: detected.cores,
            memory_gib: detected.memory_bytes as f64 / f64::from(1 << 30),
            kernel,
            load_before: first_word(&read("/proc/loadavg")),
        }
    }
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

fn cpu_model(cpuinfo: &str) -> String {
    let line = cpuinfo.lines().find(|line| line.starts_with("model name"));
    let model = line
        .and_then(|line| line.split_once(':'))
        .map(|(_, model)| model.trim());
    model.unwrap_or("unknown processor").to_owned()
}

fn first_word(text: &str) -> String {
    text.split_whitespace()
        .next()
        .unwrap_or("unknown")
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_processor_is_named_or_unknown() {
        let cpuinfo = "processor\t: 0\nmodel name\t: Fast 9000\n\nmodel name\t: Fast 9000\n";
        assert_eq!(cpu_model(cpuinfo), "Fast 9000");
        assert_eq!(cpu_model(""), "unknown processor");
    }
}
