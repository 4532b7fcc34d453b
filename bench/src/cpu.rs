//! Processor time, which is more reliable than elapsed time on a busy machine.

use std::fs;

use anyhow::Context as _;

use crate::processes;

/// Linux reports to programs in hundredths of a second, whatever its own clock does.
const TICKS_PER_SECOND: f64 = 100.0;

/// Processor time in seconds, user and system together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct CpuTime {
    /// Of the process itself, all threads.
    pub(crate) own: f64,
    /// Of children that have ended and were waited for.
    pub(crate) children: f64,
}

impl CpuTime {
    pub(crate) fn now() -> anyhow::Result<Self> {
        Self::of(std::process::id())
    }

    /// Of a process and everything that is or was below it, in seconds.
    pub(crate) fn of_tree(root: u32) -> f64 {
        let ended = Self::of(root).map_or(0.0, |time| time.children);
        let tree = processes::tree(root);
        let times = tree.into_iter().filter_map(|pid| Self::of(pid).ok());
        times.map(|time| time.own).sum::<f64>() + ended
    }

    /// Of another process.
    pub(crate) fn of(pid: u32) -> anyhow::Result<Self> {
        let path = format!("/proc/{pid}/stat");
        let stat = fs::read_to_string(&path).context("Linux's /proc is needed")?;
        parse(&stat).with_context(|| format!("{path} has an unknown form"))
    }
}

/// The program's name stands in parentheses and may hold anything; the 14th to 17th fields follow.
fn parse(stat: &str) -> Option<CpuTime> {
    let (_, after_name) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = after_name.split_whitespace().collect();
    let seconds = |index: usize| {
        fields
            .get(index)?
            .parse::<f64>()
            .ok()
            .map(|ticks| ticks / TICKS_PER_SECOND)
    };
    Some(CpuTime {
        own: seconds(11)? + seconds(12)?,
        children: seconds(13)? + seconds(14)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_and_system_time_are_added_whatever_the_program_is_called() {
        let stat = "77 (a ) b) S 1 77 77 0 -1 0 10 11 12 13 150 50 20 5 20 0 1 0 99 1 2";
        assert_eq!(
            parse(stat),
            Some(CpuTime {
                own: 2.0,
                children: 0.25
            })
        );
        assert_eq!(parse("77 (a"), None);
    }
}
