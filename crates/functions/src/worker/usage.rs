//! What a process uses, as the system counts it.

use std::time::Duration;

/// Memory and time of a processor.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    pub(crate) resident_bytes: u64,
    pub(crate) cpu: Duration,
}

/// Reads it; nothing where the process has gone, or the system does not tell.
#[cfg(target_os = "linux")]
pub(super) fn read(pid: u32) -> Option<Usage> {
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
pub(super) fn read(_pid: u32) -> Option<Usage> {
    None
}

/// Ticks of user and system together, and resident pages. The name of the program may hold anything,
/// so that counting begins behind it.
fn parse(stat: &str) -> Option<(u64, u64)> {
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace();
    let user: u64 = fields.nth(11)?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    let pages = fields.nth(8)?.parse().ok()?;
    Some((user + system, pages))
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
    #[cfg(target_os = "linux")]
    fn our_own_use_can_be_read() {
        let usage = read(std::process::id()).expect("we run");

        assert!(usage.resident_bytes > 1 << 20, "{usage:?}");
        assert_eq!(read(u32::MAX), None);
    }
}
