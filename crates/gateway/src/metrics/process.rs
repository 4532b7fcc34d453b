//! CPU, memory and file descriptors of this process.

use rustix::time::{ClockId, clock_gettime};

pub(super) struct Process {
    pub(super) cpu_seconds: f64,
    /// Linux only.
    pub(super) resident_bytes: Option<u64>,
    /// Linux only.
    pub(super) open_fds: Option<usize>,
}

impl Process {
    pub(super) fn read() -> Self {
        let cpu = clock_gettime(ClockId::ProcessCPUTime);
        Self {
            cpu_seconds: cpu.tv_sec as f64 + cpu.tv_nsec as f64 / 1e9,
            resident_bytes: std::fs::read_to_string("/proc/self/status")
                .ok()
                .and_then(|status| resident_bytes(&status)),
            // One of them is the directory being read.
            open_fds: std::fs::read_dir("/proc/self/fd")
                .ok()
                .map(|entries| entries.count().saturating_sub(1)),
        }
    }
}

/// The line `VmRSS:     5120 kB`.
fn resident_bytes(status: &str) -> Option<u64> {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_resident_size_is_found_among_the_lines() {
        assert_eq!(
            resident_bytes("Name:\tx\nVmRSS:\t    5120 kB\nThreads:\t2\n"),
            Some(5_242_880)
        );
        assert_eq!(resident_bytes("Name:\tx\n"), None);
    }

    #[test]
    fn a_running_process_has_used_some_time() {
        assert!(Process::read().cpu_seconds > 0.0);
    }
}
