//! How much processor time all programs took that this one has started and waited for.

use std::{fs, time::Duration};

/// Clock ticks per second in `/proc`, the same on every Linux.
const TICKS_PER_SECOND: f64 = 100.0;

/// `None` where there is no `/proc`.
pub(crate) fn of_children() -> Option<Duration> {
    parse(&fs::read_to_string("/proc/self/stat").ok()?)
}

/// Sums `cutime` and `cstime`, fields 16 and 17 of proc(5).
fn parse(stat: &str) -> Option<Duration> {
    // The second field is a name in parentheses that may have spaces in it.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace().skip(13);
    let mut next = || fields.next()?.parse::<f64>().ok();
    Duration::try_from_secs_f64((next()? + next()?) / TICKS_PER_SECOND).ok()
}

#[cfg(test)]
mod tests {
    #[cfg(target_os = "linux")]
    use std::process::Command;

    use super::*;

    #[test]
    fn the_name_of_the_program_does_not_shift_the_fields() {
        let stat = "7 (a b) c) S 1 7 7 0 -1 4 5 6 7 8 11 12 250 50 20 0 1 0";
        assert_eq!(parse(stat), Some(Duration::from_secs(3)));
        assert_eq!(parse(""), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_busy_child_counts_once_it_has_ended() {
        let before = of_children().expect("there is /proc");
        let script = "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done";
        let status = Command::new("/bin/sh").args(["-c", script]).status();
        assert!(status.expect("a shell").success());
        assert!(of_children().expect("there is /proc") > before);
    }
}
