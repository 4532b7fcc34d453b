//! Memory and processors of this machine or container.

/// The numbers that the defaults are derived from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Machine {
    pub memory_bytes: u64,
    pub cores: usize,
}

impl Machine {
    /// Detects them; assumes a small machine where detection fails.
    pub fn detect() -> Self {
        const SMALL: u64 = 1024 * 1024 * 1024;
        let limits = [physical_memory(), container_limit()];
        let memory_bytes = limits.into_iter().flatten().min().unwrap_or(SMALL);
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            memory_bytes,
            cores,
        }
    }
}

#[cfg(target_os = "linux")]
fn physical_memory() -> Option<u64> {
    memory_total(&std::fs::read_to_string("/proc/meminfo").ok()?)
}

#[cfg(not(target_os = "linux"))]
fn physical_memory() -> Option<u64> {
    let output = std::process::Command::new("sysctl")
        .args(["-n", "hw.memsize"])
        .output()
        .ok()?;
    String::from_utf8(output.stdout).ok()?.trim().parse().ok()
}

/// Reads `MemTotal:  24682560 kB`.
#[cfg(any(target_os = "linux", test))]
fn memory_total(meminfo: &str) -> Option<u64> {
    let line = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

/// The limit of our control group, where one is set: version 2, then version 1.
fn container_limit() -> Option<u64> {
    [
        "/sys/fs/cgroup/memory.max",
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
    ]
    .iter()
    .find_map(|path| std::fs::read_to_string(path).ok()?.trim().parse().ok())
    .filter(|limit| *limit > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn total_memory_is_read_in_bytes() {
        let text = "MemFree:  12 kB\nMemTotal:       24682560 kB\n";
        assert_eq!(memory_total(text), Some(24_682_560 * 1024));
        assert_eq!(memory_total("MemTotal: many kB"), None);
        assert_eq!(memory_total(""), None);
    }

    #[test]
    fn this_machine_has_memory_and_a_core() {
        let machine = Machine::detect();
        assert!(machine.memory_bytes > 64 * 1024 * 1024);
        assert!(machine.cores >= 1);
    }
}
