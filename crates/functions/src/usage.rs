//! Memory and CPU time of a process, as the kernel counts them.

use std::time::Duration;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    pub(crate) resident_bytes: u64,
    pub(crate) cpu: Duration,
}

/// Reads it. `None` if the process has ended.
#[cfg(target_os = "linux")]
pub(crate) fn read(pid: u32) -> Option<Usage> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (ticks, pages) = parse(&stat)?;
    let per_second = rustix::param::clock_ticks_per_second().max(1);
    Some(Usage {
        resident_bytes: pages * rustix::param::page_size() as u64,
        cpu: Duration::from_micros(ticks * 1_000_000 / per_second),
    })
}

/// Other systems have no such file.
#[cfg(not(target_os = "linux"))]
pub(crate) fn read(_pid: u32) -> Option<Usage> {
    None
}

/// Clock ticks of user and system together, and resident pages. The program's name may contain anything,
/// so fields are counted behind it.
fn parse(stat: &str) -> Option<(u64, u64)> {
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace();
    let user: u64 = fields.nth(11)?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    let pages = fields.nth(8)?.parse().ok()?;
    // A process that exits, or was not reaped yet, has no memory any more: its last sample counts.
    (pages > 0).then_some((user + system, pages))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_counted_behind_the_name() {
        let stat = "7 (de) no) S 1 7 7 0 -1 4194560 100 0 0 0 250 50 0 0 20 0 9 0 1234 999 4321 18446744073709551615 1";

        assert_eq!(parse(stat), Some((300, 4321)));
        assert_eq!(parse("nonsense"), None);
        assert_eq!(parse("7 (x) S 1"), None);
    }

    #[test]
    fn an_exited_process_has_no_usage() {
        let stat = "7 (deno) Z 1 7 7 0 -1 4194560 100 0 0 0 250 50 0 0 20 0 9 0 1234 0 0 0 1";

        assert_eq!(parse(stat), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn our_own_usage_can_be_read() {
        let usage = read(std::process::id()).expect("we run");

        assert!(usage.resident_bytes > 1 << 20, "{usage:?}");
        assert_eq!(read(u32::MAX), None);
    }
}
